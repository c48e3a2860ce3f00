"""A pass of machine code over Arrow batches: fused operators as one loop. Rows that it cannot process run in Python."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from morisot.types.element import INT, List, Type, leaves
from morisot.worker.codec.batches import Dumps, arrow_type, decode, schema_of
from morisot.worker.report.left_out import Account, Notes
from morisot.worker.rowwise.kernel_loop import FusedLoop, fuse
from morisot.worker.rowwise.kernels import Kernel, compiled
from morisot.worker.rowwise.stage import Pipeline, encode_batch, policies
from morisot.worker.rowwise.steps import Step

_ROWS_GENERATED = 1 << 16
PATIENCE = 0.5
"""Seconds in Python before a kernel is compiled, which takes about as long. So small inputs never wait for numba."""

_spent: defaultdict[str, float] = defaultdict(float)
"""The seconds that this process has spent in Python on each loop."""


@dataclass(frozen=True)
class Numbers:
    """A range of ints, generated in the task that uses it, in slices by partition."""

    range: range
    partitions: int

    def batches(self, partition: int) -> Iterator[pa.RecordBatch]:
        import numpy as np

        count = len(self.range)
        first, last = (count * each // self.partitions for each in (partition, partition + 1))
        for start in range(first, last, _ROWS_GENERATED):
            indexes = np.arange(start, min(start + _ROWS_GENERATED, last), dtype=np.int64)
            values = indexes * np.int64(self.range.step) + np.int64(self.range.start)
            yield pa.RecordBatch.from_arrays([pa.array(values)], schema=schema_of(INT))


@dataclass(frozen=True)
class KernelStage:
    """Given to mapInArrow: processes batches, or numbers that are generated here."""

    steps: tuple[Step, ...]
    kernels: tuple[Kernel, ...]
    input: Type
    output: Type
    dumps: Dumps
    numbers: Numbers | None = None
    patience: float = PATIENCE
    account: Account | None = None
    hidden: int = 0
    """The number of hidden columns after those of the elements, which are passed on with them."""

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        loop = fuse(self.steps, self.kernels, self.input, self.output)
        notes = Notes(self.dumps)
        pipeline = Pipeline(self.steps, notes, numbered=True)
        for batch in self._generated(batches):
            for part, by_python in self._parts(batch, loop):
                code = None if by_python else self._code(loop)
                if code is not None:
                    yield self._with_hidden(part, *self._in_machine_code(part, code, loop, pipeline, notes))
                    continue
                began = time.perf_counter()
                result, origins = self._in_python(decode(self._columns(part), self.input), range(len(part)), pipeline)
                _spent[loop.text] += time.perf_counter() - began
                yield self._with_hidden(part, result, origins)
        if self.account is not None:
            self.account.settle(policies(self.steps), notes)

    def _generated(self, batches: Iterator[Any]) -> Iterator[Any]:
        if self.numbers is None:
            yield from batches
            return
        for batch in batches:
            for partition in batch.column(0).to_pylist():
                yield from self.numbers.batches(partition)

    def _parts(self, batch: Any, loop: FusedLoop) -> Iterator[tuple[Any, bool]]:
        """The batch in growing parts, each with whether it runs in Python, as long as `patience` is not spent."""
        start, rows = 0, 64
        while start < batch.num_rows and _spent[loop.text] < self.patience:
            yield batch.slice(start, rows), True
            start += rows
            rows *= 4
        if start < batch.num_rows:
            yield batch.slice(start), False

    def _code(self, loop: FusedLoop) -> Any:
        """The machine code; None if this process cannot run it exactly."""
        types = leaves(self.input)
        return compiled(
            tuple(kernel.source for kernel in self.kernels),
            loop.text,
            tuple(types[column].type for column in loop.columns),
            tuple(output for output in loop.outputs if isinstance(output, Type)),
        )

    def _with_hidden(self, batch: Any, results: Any, origins: Any) -> Any:
        """The results with the hidden columns of their input rows."""
        if not self.hidden:
            return results
        hidden = batch.select(batch.schema.names[-self.hidden :]).take(pa.array(origins, pa.int64()))
        names = [*results.schema.names, *hidden.schema.names]
        return pa.RecordBatch.from_arrays([*results.columns, *hidden.columns], names=names)

    def _in_python(
        self, elements: list[Any], numbers: Sequence[int], pipeline: Pipeline
    ) -> tuple[pa.RecordBatch, list[int]]:
        """The results of some elements, and the number of the input element of each result."""
        results = pipeline.run(list(zip(elements, numbers, strict=True)))
        last = self.steps[-1]
        values = [value for value, _ in results]
        encoded = encode_batch(values, self.output, self.dumps, last.operator, last.location)
        return encoded, [number for _, number in results]

    def _columns(self, batch: Any) -> list[Any]:
        return list(batch.columns[: len(leaves(self.input))])

    def _in_machine_code(
        self, batch: Any, code: Any, loop: FusedLoop, pipeline: Pipeline, notes: Notes
    ) -> tuple[pa.RecordBatch, Any]:
        """The results of a batch, and the number of the input row of each result."""
        import numpy as np

        columns = self._columns(batch)
        status = np.zeros(batch.num_rows, np.int16)
        types = leaves(self.input)
        inputs = [array for index in loop.columns for array in self._arrays(columns[index], types[index].type, status)]
        outputs = {
            index: np.empty(batch.num_rows, arrow_type(output).to_pandas_dtype())
            for index, output in enumerate(loop.outputs)
            if isinstance(output, Type)
        }
        code(batch.num_rows, status, *inputs, *outputs.values())
        self._count(status, notes)
        results = [
            pa.array(outputs[index]) if isinstance(output, Type) else columns[output]
            for index, output in enumerate(loop.outputs)
        ]
        done = pa.RecordBatch.from_arrays(results, schema=schema_of(self.output))
        if (status == 1).all():
            return done, range(batch.num_rows)
        (emitted,), (left,) = np.nonzero(status == 1), np.nonzero(status == 2)
        if not len(left):
            return done.take(emitted), emitted
        elements = decode([column.take(pa.array(left)) for column in columns], self.input)
        repaired, repaired_rows = self._in_python(elements, left.tolist(), pipeline)
        origins = np.concatenate([emitted, np.array(repaired_rows, np.int64)])
        order = np.argsort(origins, kind="stable")
        both = pa.Table.from_batches([done.take(emitted), repaired], schema=done.schema).take(order)
        return (both.combine_chunks().to_batches()[0] if both.num_rows else done.slice(0, 0)), origins[order]

    def _count(self, status: Any, notes: Notes) -> None:
        """Counts the elements that each step emitted, of the rows that ran in machine code."""
        if not notes.given:
            return
        given = int((status != 2).sum())
        for number, step in enumerate(self.steps):
            given -= int((status == -1 - number).sum())
            if step.counted is not None:
                notes.given[step.counted] += given

    def _arrays(self, column: Any, type_: Type, status: Any) -> list[Any]:
        """The numbers of a column; rows with None are left to Python. For lists: all items, and the offsets."""
        import numpy as np

        if isinstance(type_, List):
            items = column.values
            if items.null_count:
                status[:] = 2
                items = items.fill_null(False if pa.types.is_boolean(items.type) else 0)
            return [_array(items), np.ascontiguousarray(column.offsets.to_numpy(), dtype=np.int64)]
        if column.null_count:
            status[np.asarray(column.is_null())] = 2
            column = column.fill_null(False if pa.types.is_boolean(column.type) else 0)
        return [_array(column)]


def _array(column: Any) -> Any:
    import numpy as np

    return np.ascontiguousarray(column.to_numpy(zero_copy_only=False))

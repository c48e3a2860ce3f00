"""The tasks of a loop: each holds its part of the elements, and runs a round when the coordinator sends a state.

The coordinator is a thread of the driver. A task sends its number, receives a state, runs the body and the local fold
over its elements, and answers with its delta, until the coordinator ends the loop. Between rounds nothing passes
through Spark.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from morisot.errors import ElementError, Location, SinkError
from morisot.private import private_file
from morisot.types.array import flat, own_numbers
from morisot.types.element import ANY, Type, leaves
from morisot.worker.aggregate.accumulators import FoldAccumulator
from morisot.worker.codec.batches import Dumps, decode, encode
from morisot.worker.codec.file_rows import FileRows
from morisot.worker.codec.ipc import pack_batch, unpack_batch
from morisot.worker.codec.stored import Layout
from morisot.worker.loops.kernel import LoopKernel, MachineRound, is_compiled, machine_code
from morisot.worker.loops.link import Address, Link, connect
from morisot.worker.loops.messages import Delta, ElementsSaved, End, Failed, Hello, Round, Save, TaskId, Unsaved
from morisot.worker.loops.state import LoopState
from morisot.worker.report import failure
from morisot.worker.rowwise.kernel_stage import PATIENCE, Numbers
from morisot.worker.rowwise.stage import Pipeline, decode_columns, encode_batch
from morisot.worker.rowwise.steps import Step

_OUTPUT_ROWS = 10_000
_AS_COLUMNS, _AS_OBJECTS = Layout("elements of a loop", 1), Layout("objects of a loop", 1)
"""How the elements of a task are saved: as columns of their type, or pickled if some are of another type."""
_FEW = 1 << 14
_TELLING = 1 << 10
"""From this many elements the time for all of them is extrapolated."""


class Unreachable(Exception):  # noqa: N818 - the name describes the problem
    """A task cannot connect to the coordinator: the driver has ended, or the network blocks the connection."""


@dataclass(frozen=True)
class LocalFold:
    """The fold over the output of the body, in one task."""

    accumulator: FoldAccumulator
    operator: str
    location: Location | None

    def start(self) -> Any:
        """A copy of the initial value for each round, because the function may change it."""
        return self.accumulator.start()

    def over(self, delta: Any, elements: list[Any]) -> Any:
        add = self.accumulator.add
        element: Any = None
        try:
            for element in elements:
                delta = add(delta, element)
        except Exception as error:
            raise failure.element_error(self.operator, self.location, element, error, 1) from error
        return own_numbers(delta)


@dataclass(frozen=True)
class LoopTask:
    """Given to mapInArrow: reads its batches, then runs the rounds that the coordinator starts."""

    before: tuple[Step, ...]
    """The steps that run once, before the first round."""
    body: tuple[Step, ...]
    input: Type
    """The type of the elements in the batches."""
    entering: Type
    """The type of the elements in the first round."""
    output: Type
    handle: LoopState
    fold: LocalFold
    feedback: bool
    coordinator: Address
    task_id: Callable[[], TaskId]
    dumps: Dumps = field(repr=False)
    kernel: LoopKernel | None = None
    own: Numbers | FileRows | None = None
    """A source that the task reads itself. The batches then have the numbers of its partitions."""
    saved: tuple[str, ...] | None = None
    """All files of the snapshot to resume from, in order, instead of the batches."""
    patience: float = PATIENCE

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        task = self.task_id()
        held = self.load(batches) if self.saved is None else self.restored(self.saved, task)
        link = connect(self.coordinator)
        if link is None:
            raise Unreachable(
                f"the coordinator of the loop cannot be reached at {self.coordinator.host}:{self.coordinator.port}"
            )
        worker = LoopWorker(self, held)
        with link:
            is_result = self.follow(link, task, worker)
        if is_result and self.feedback:
            for start in range(0, worker.held.count, _OUTPUT_ROWS):
                part = list(map(own_numbers, worker.held.slice(start, start + _OUTPUT_ROWS)))
                yield encode_batch(part, self.output, self.dumps, self.fold.operator, self.fold.location)

    def load(self, batches: Iterator[Any]) -> TaskElements:
        """The task's part of the data: as columns if machine code may process it, else as Python elements."""
        pipeline = Pipeline(self.before)
        elements: list[Any] = []
        read: list[Any] = []
        for batch in self._read(batches):
            if self.kernel is not None and not self.before:
                read.append(batch)
                continue
            found = decode_columns(batch, self.input)
            elements += pipeline.run(found) if self.before else found
        if read:
            return TaskElements.of_batches(read, self.entering)
        return TaskElements(self.entering, len(elements), elements=elements)

    def restored(self, files: Sequence[str], task: TaskId) -> TaskElements:
        """The task's part of a snapshot, which may have been written by more or fewer tasks."""
        first, last = (len(files) * each // task.partitions for each in (task.partition, task.partition + 1))
        parts = [TaskElements.read(file, self.entering) for file in files[first:last]]
        if len(parts) == 1:
            return parts[0]
        elements = [element for part in parts for element in part.elements()]
        return TaskElements(self.entering, len(elements), elements=elements)

    def _read(self, batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            if self.own is None:
                yield batch
            else:
                for partition in batch.column(0).to_pylist():
                    yield from self.own.batches(partition)

    def follow(self, link: Link, task: TaskId, worker: LoopWorker) -> bool:
        """Runs rounds until the coordinator ends the loop or disconnects. Returns whether to emit the elements."""
        link.send(pickle.dumps(Hello(task, worker.held.count)))
        while True:
            order = link.receive()
            try:
                if isinstance(order, Round):
                    answer: Delta | ElementsSaved = Delta(order.number, *worker.round(order.state))
                elif isinstance(order, Save):
                    file = Path(order.directory) / f"part-{task.partition:06}"
                    answer = ElementsSaved(file.name, *worker.held.write(file, self.dumps))
                else:
                    return isinstance(order, End) and order.emit
            except ElementError as error:
                link.send(pickle.dumps(Failed(failure.report_of(error))))
                return False
            except SinkError as error:
                link.send(pickle.dumps(Unsaved(str(error))))
                return False
            link.send(self.dumps(answer))


class TaskElements:
    """The elements of a task between rounds: as columns of numbers, as Python objects, or as both."""

    def __init__(
        self, type_: Type, count: int, *, columns: list[Any] | None = None, elements: list[Any] | None = None
    ) -> None:
        self.type = type_
        self.count = count
        self._columns = columns
        self._elements = elements

    @classmethod
    def of_batches(cls, batches: list[Any], type_: Type) -> TaskElements:
        table = pa.Table.from_batches(batches).combine_chunks()
        columns = [column.chunk(0) if column.num_chunks else column.combine_chunks() for column in table.columns]
        return cls(type_, table.num_rows, columns=columns[: len(leaves(type_))])

    def write(self, file: Path, dumps: Dumps) -> tuple[int, str]:
        """Writes all elements to a file, and syncs it. Returns the number of bytes and their digest."""
        content = self._packed(dumps)
        try:
            with private_file(file) as out:
                out.write(content)
                out.flush()
                os.fsync(out.fileno())
        except OSError as error:
            raise SinkError(f"a snapshot cannot be written to {file}: {error.strerror}") from None
        return len(content), hashlib.sha256(content).hexdigest()

    def _packed(self, dumps: Dumps) -> bytes:
        """The elements as columns, because a class of the user's script is another class in the next run."""
        layout, columns = _AS_COLUMNS, self._columns
        if self._elements is not None:
            try:
                columns = encode(self._elements, self.type, dumps)
            except Exception:  # some elements are of other types
                layout, columns = _AS_OBJECTS, encode(self._elements, ANY, dumps)
        arrays = [pa.array(column) for column in columns or ()]
        schema = pa.schema([(str(index), array.type) for index, array in enumerate(arrays)], layout.metadata)
        return pack_batch(pa.RecordBatch.from_arrays(arrays, schema=schema))

    @classmethod
    def read(cls, file: str, type_: Type) -> TaskElements:
        """The elements of a file."""
        batch = unpack_batch(Path(file).read_bytes())
        if (batch.schema.metadata or {}).get(b"kind") == _AS_OBJECTS.metadata[b"kind"]:
            _AS_OBJECTS.check_metadata(batch.schema.metadata)
            return cls(type_, batch.num_rows, elements=decode(batch.columns, ANY))
        _AS_COLUMNS.check_metadata(batch.schema.metadata)
        return cls(type_, batch.num_rows, columns=batch.columns)

    def slice(self, start: int, stop: int) -> list[Any]:
        """Some of the elements. If there are few in all, they are decoded once for all rounds."""
        if self._elements is None and self.count <= _FEW:
            self.elements()
        if self._elements is None:
            assert self._columns is not None
            return decode([pa.array(column[start:stop]) for column in self._columns], self.type)
        return self._elements[start:stop]

    def elements(self) -> list[Any]:
        """All elements, decoded once."""
        if self._elements is None:
            assert self._columns is not None
            self._elements = decode([pa.array(column) for column in self._columns], self.type)
        return self._elements

    def numbers(self, indices: Sequence[int], dumps: Dumps) -> list[Any] | None:
        """The columns, the given ones as arrays; None if the elements do not fit their type."""
        import numpy as np

        if self._columns is None:
            try:
                self._columns = encode(self.elements(), self.type, dumps)
            except Exception:  # elements that do not fit their type are processed in Python
                return None
        columns = self._columns
        for index in indices:
            column = columns[index]
            if isinstance(column, pa.Array):
                columns[index] = np.ascontiguousarray(column.to_numpy(zero_copy_only=False))
        return columns


class LoopWorker:
    """Runs the rounds of one task: in Python until compiling machine code pays off, then in machine code."""

    def __init__(self, task: LoopTask, held: TaskElements) -> None:
        self.task = task
        self.held = held
        self._pipeline = Pipeline(task.body)
        self._spent = 0.0
        self._kernel = task.kernel
        self._code: Any = None

    def round(self, state: Any) -> tuple[int, Any]:
        """Runs a round. Returns the number of elements that the body emitted, and their delta."""
        self.task.handle.set(state)
        done = self._in_machine_code(state) if self._kernel_pays else None
        if done is None:
            done = self._in_python(state)
        return done

    @property
    def _kernel_pays(self) -> bool:
        return self._kernel is not None and (self._spent >= self.task.patience or is_compiled(self._kernel))

    def _in_python(self, state: Any) -> tuple[int, Any]:
        delta, count = self.task.fold.start(), 0
        leaving: list[Any] = []
        for start, stop in self._slices():
            began = time.perf_counter()
            part = self.held.slice(start, stop)
            part = self._pipeline.run(part) if self.task.body else part
            delta = self.task.fold.over(delta, part)
            count += len(part)
            if self.task.feedback:
                leaving += part
            paid_before, took = self._kernel_pays, time.perf_counter() - began
            self._spent += took
            if stop - start >= _TELLING and took / (stop - start) * self.held.count > 2 * self.task.patience:
                self._spent = max(self._spent, self.task.patience)  # Python would take longer than compiling
            if self._kernel_pays and not paid_before and stop < self.held.count:
                done = self._in_machine_code(state)
                if done is not None:
                    return done
        if self.task.feedback:
            self.held = TaskElements(self.task.entering, count, elements=leaving)
        return count, delta

    def _slices(self) -> Iterator[tuple[int, int]]:
        """Ranges of elements: all at once, or growing ranges while it is open whether machine code is faster."""
        if self._kernel is None:
            self.held.elements()
            yield 0, self.held.count
            return
        start, size = 0, 64
        while start < self.held.count:
            yield start, min(start + size, self.held.count)
            start, size = start + size, min(size * 4, 1 << 16)

    def _in_machine_code(self, state: Any) -> tuple[int, Any] | None:
        """Runs a round in machine code; None if it has to run in Python."""
        kernel = self._kernel
        assert kernel is not None
        needed = range(kernel.outputs) if kernel.outputs else kernel.columns
        columns = self.held.numbers(needed, self.task.dumps)
        if self._code is None:
            self._code = machine_code(kernel.functions, kernel.loop)
        if columns is None or self._code is None:
            self._kernel = None
            return None
        machine = MachineRound(kernel, self._code, columns, self.held.count)
        try:
            done = machine.run(state, self.task.fold.start(), self._repaired)
        except Exception as error:
            if isinstance(error, ElementError):
                raise
            self._kernel = None  # numba does not support the text
            return None
        if done is None:
            return None
        count, delta, outputs = done
        if self.task.feedback:
            self.held = TaskElements(self.task.entering, count, columns=outputs)
        return count, delta

    def _repaired(self, row: int, delta: Any) -> tuple[list[list[Any]], Any] | None:
        """Processes one element in Python. Returns the output of the body, as rows of numbers, and the delta."""
        found = self.held.slice(row, row + 1)
        leaving = self._pipeline.run(found) if self.task.body else found
        delta = self.task.fold.over(delta, leaving)
        rows = [flat(element, self.task.entering) for element in leaving] if self.task.feedback else [[]] * len(leaving)
        return None if None in rows else ([row for row in rows if row is not None], delta)


@dataclass(frozen=True)
class RoundFold:
    """Given to mapInArrow for one round of a loop whose body moves elements: computes a delta for each partition."""

    steps: tuple[Step, ...]
    input: Type
    fold: LocalFold
    partition: Callable[[], int]
    dumps: Dumps = field(repr=False)

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        pipeline = Pipeline(self.steps)
        delta, count = self.fold.start(), 0
        for batch in batches:
            elements = decode_columns(batch, self.input)
            leaving = pipeline.run(elements) if self.steps else elements
            delta = self.fold.over(delta, leaving)
            count += len(leaving)
        row: dict[str, list[Any]] = {
            "partition": [self.partition()],
            "elements": [count],
            "delta": [self.dumps(delta)],
        }
        yield pa.RecordBatch.from_pydict(row)

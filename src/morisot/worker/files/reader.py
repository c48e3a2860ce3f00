"""The elements of files, and the task that reads them in a worker."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from morisot.errors import ElementError
from morisot.worker.codec.batches import Dumps, encode, schema_of
from morisot.worker.files.csv_rows import csv_rows
from morisot.worker.files.format import FileFormat, FileProblem, RowMisfit, shortened
from morisot.worker.files.json_rows import json_rows
from morisot.worker.files.lines import lines_of, opened
from morisot.worker.files.parquet_rows import parquet_elements
from morisot.worker.report.left_out import Account, Notes, Policy

_ROWS = 10_000
"""The elements of a batch."""
Skip = Callable[[ElementError], None]


def elements_of(format_: FileFormat, file: str, skip: Skip, content: bytes | None = None) -> Iterator[Any]:
    """The elements of one file. A row that does not fit is passed to `skip`, or stops the job."""
    try:
        if format_.kind == "parquet":
            yield from parquet_elements(format_, file, content)
            return
        with opened(file, content) as stream:
            if format_.kind == "text":
                yield from _texts(format_, file, stream)
                return
            for row in (csv_rows if format_.kind == "csv" else json_rows)(format_, stream):
                try:
                    element = row.record()
                except RowMisfit as misfit:
                    if not format_.skips:
                        raise format_.row_error(file, row.line, row.text, misfit) from None
                    skip(_skipped(format_, file, row.line, row.text, misfit))
                    continue
                yield element
    except FileProblem as problem:
        raise format_.file_error(file, problem) from None
    except RowMisfit as misfit:  # in the header
        raise format_.row_error(file, 1, "", misfit) from None


def _texts(format_: FileFormat, file: str, stream: Any) -> Iterator[str]:
    for line in lines_of(stream):
        if line.problem is not None:
            raise format_.row_error(file, line.number, line.text, line.problem)
        yield line.text


def _skipped(format_: FileFormat, file: str, line: int, text: str, misfit: RowMisfit) -> ElementError:
    field = f", field {misfit.field}" if misfit.field else ""
    said = f"{file}, line {line}{field}: {misfit.reason}"
    return ElementError(format_.operator, format_.location, repr(shortened(text)), said)


@dataclass(frozen=True)
class ReadFiles:
    """Given to mapInArrow: the elements of the files in the rows, with the row order of each file if there is one.

    A row has the path of a file, its content if it is not on this machine, and perhaps the row order.
    """

    format: FileFormat
    has_row_order: bool
    dumps: Dumps
    policy: Policy | None = None
    account: Account | None = None

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        notes = Notes(self.dumps)

        def skip(error: ElementError) -> None:
            assert self.policy is not None
            notes.count(self.policy, 1)
            notes.keep(self.policy, error.element, error)

        for batch in batches:
            for path, content, *order in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                elements = elements_of(self.format, local_path(path), skip, content)
                while chunk := list(itertools.islice(elements, _ROWS)):
                    yield self._batch(chunk, order)
        if self.account is not None and self.policy is not None:
            self.account.settle([self.policy], notes)

    def _batch(self, elements: list[Any], order: list[bytes]) -> Any:
        schema = schema_of(self.format.type)
        arrays = encode(elements, self.format.type, self.dumps)
        if self.has_row_order:
            arrays.append(pa.array(order * len(elements), pa.binary()))
            schema = schema.append(pa.field("at", pa.binary()))
        return pa.RecordBatch.from_arrays(arrays, schema=schema)


def local_path(path: str) -> str:
    """The path of a file on this machine, from a path of Hadoop, which is not encoded; any other path as it is."""
    return f"/{path.removeprefix('file:').lstrip('/')}" if path.startswith("file:") else path

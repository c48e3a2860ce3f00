"""Rows of CSV files."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from typing import IO, Any

from morisot.types.element import Record
from morisot.types.records import maker
from morisot.worker.files.columns import ColumnsMisfit, match_columns
from morisot.worker.files.format import FileFormat, FileProblem, RowMisfit
from morisot.worker.files.lines import BLANK, lines_of, text_of
from morisot.worker.files.rows import RawRow
from morisot.worker.files.values import QUOTED_EMPTY, from_text

_LONGEST_FIELD = 2**31 - 1
"""Python's limit for a field is 131,072 characters, for the whole process; Spark has no limit."""
_OPEN = "if a quoted field has a line break, set multiline=True; otherwise correct the row"


def csv_rows(format_: FileFormat, stream: IO[bytes]) -> Iterator[RawRow]:
    """The rows of one file, whose header has the names of its columns."""
    record = format_.type
    assert isinstance(record, Record)
    rows = _several_lines(format_, stream) if format_.multiline else _single_lines(format_, stream)
    indexes, width = list(range(len(record.names))), len(record.names)
    if format_.header:
        header = next(rows, None)
        if header is None:
            return
        columns = header.parsed()
        indexes, width = columns_of(record, columns), len(columns)
    for row in rows:
        yield RawRow(row.line, row.text, _Record(row, record, indexes, width, format_))


def columns_of(record: Record, header: Sequence[str]) -> list[int]:
    try:
        return match_columns(record, header, by_position=True)
    except ColumnsMisfit as misfit:
        raise FileProblem(
            str(misfit), "correct the header or the fields, or set header=False for a file without one"
        ) from None


class _Row:
    """A row whose fields are not separated yet."""

    def __init__(self, line: int, text: str, found: Sequence[str] | RowMisfit | None, format_: FileFormat) -> None:
        self.line = line
        self.text = text
        self._found = found
        self._format = format_

    def parsed(self) -> Sequence[str]:
        if isinstance(self._found, RowMisfit):
            raise self._found
        return split_line(self.text, self._format) if self._found is None else self._found


class _Record:
    """Converts a row to a record."""

    def __init__(self, row: _Row, record: Record, indexes: Sequence[int], width: int, format_: FileFormat) -> None:
        self._row = row
        self._record = record
        self._indexes = indexes
        self._width = width
        self._quote = format_.quote

    def __call__(self) -> Any:
        values = self._row.parsed()
        if len(values) != self._width:
            is_open = self._row.text.count(self._quote) % 2 if self._quote else 0
            found = f"{len(values)} value{'s' if len(values) != 1 else ''} for {self._width} columns"
            raise RowMisfit(found, remedy=_OPEN if is_open else "")
        record = self._record
        fields = []
        for name, type_, index in zip(record.names, record.items, self._indexes, strict=True):
            try:
                fields.append(from_text(values[index], type_))
            except RowMisfit as misfit:
                raise misfit.of_field(name) from None
        return maker(record.cls)(*fields)


def _single_lines(format_: FileFormat, stream: IO[bytes]) -> Iterator[_Row]:
    """A row for each line that is not blank."""
    for line in lines_of(stream):
        if line.text.strip(BLANK):
            yield _Row(line.number, line.text, line.problem, format_)


def _several_lines(format_: FileFormat, stream: IO[bytes]) -> Iterator[_Row]:
    """The rows of a file with line breaks in quoted fields."""
    csv.field_size_limit(max(csv.field_size_limit(), _LONGEST_FIELD))
    taken: list[str] = []

    def lines() -> Iterator[str]:
        for line in io.StringIO(text_of(stream), newline=""):
            taken.append(line)
            yield line

    options: dict[str, Any] = {"quotechar": format_.quote} if format_.quote else {"quoting": csv.QUOTE_NONE}
    rows = csv.reader(lines(), delimiter=format_.delimiter, **options)
    for _ in rows:  # the reader only finds where a row ends
        text = "".join(taken)
        taken.clear()
        if text.strip(BLANK):  # a quoted field of blanks is no blank line
            yield _Row(rows.line_num, text.rstrip("\r\n"), None, format_)


def split_line(line: str, format_: FileFormat) -> list[str]:
    """The fields of one row. Without `multiline`, a quoted field that is not closed ends with the line."""
    delimiter, quote = format_.delimiter, format_.quote
    if not quote or quote not in line:
        return line.split(delimiter)
    fields, at = [], 0
    while True:
        if line.startswith(quote, at):
            value, at = _quoted(line, at + 1, format_)
            fields.append(value or QUOTED_EMPTY)
        else:
            end = line.find(delimiter, at)
            end = len(line) if end < 0 else end
            fields.append(line[at:end])
            at = end
        if at >= len(line):
            return fields
        at += len(delimiter)


def _quoted(line: str, at: int, format_: FileFormat) -> tuple[str, int]:
    """The value of a quoted field that begins at a position, and the position of the delimiter after it."""
    delimiter, quote = format_.delimiter, format_.quote
    parts: list[str] = []
    while True:
        end = line.find(quote, at)
        if end < 0 and format_.multiline:
            raise RowMisfit("a quoted field is not closed", remedy="close it, and write a quote in a field twice")
        if end < 0:
            return "".join([*parts, line[at:]]), len(line)
        parts.append(line[at:end])
        at = end + 1
        if not line.startswith(quote, at):
            break
        parts.append(quote)
        at += 1
    while at < len(line) and line[at] in BLANK and not line.startswith(delimiter, at):
        at += 1
    if at < len(line) and not line.startswith(delimiter, at):
        raise RowMisfit(
            f"there is text after a closing quote: {line[at : at + 20]!r}", remedy="write a quote in a field twice"
        )
    return "".join(parts), at

"""Objects of JSON files, one in a line."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from typing import IO, Any

from morisot.types.element import Record
from morisot.worker.files.format import FileFormat, RowMisfit
from morisot.worker.files.lines import BLANK, Line, lines_of
from morisot.worker.files.rows import RawRow
from morisot.worker.files.values import NeedsText, record_of, with_text

_NO_JSON = "write one JSON object in each line"


def json_rows(format_: FileFormat, stream: IO[bytes]) -> Iterator[RawRow]:
    """The objects of one file."""
    assert isinstance(format_.type, Record)
    for line in lines_of(stream):
        if line.text.strip(BLANK):
            yield RawRow(line.number, line.text.strip(), functools.partial(_record, line, format_.type))


def _record(line: Line, record: Record) -> Any:
    found = object_of(line)
    try:
        return record_of(found, record)
    except NeedsText:
        return record_of(with_text(line.text.strip())[0].value, record)


def object_of(line: Line) -> dict[str, Any]:
    """The JSON object of a line."""
    if line.problem is not None:
        raise line.problem
    try:
        found = json.loads(line.text)
    except (ValueError, RecursionError) as error:
        raise RowMisfit(f"it is not JSON: {error}", remedy=_NO_JSON) from None
    if not isinstance(found, dict):
        raise RowMisfit("it is not a JSON object", remedy=_NO_JSON)
    return found

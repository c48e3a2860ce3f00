"""The values of an element, for tables and lines."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from typing import Any


def fields_of(element: Any) -> dict[str, Any] | None:
    """The fields of a record, by name; None for other elements."""
    if dataclasses.is_dataclass(element) and not isinstance(element, type):
        return {field.name: getattr(element, field.name) for field in dataclasses.fields(element)}
    names: Sequence[str] | None = getattr(element, "_fields", None)
    return None if names is None else dict(zip(names, element, strict=True))


def row_of(element: Any) -> tuple[Any, ...]:
    """The values of an element: of the fields of a record, of the parts of a tuple, or the element alone.

    >>> row_of((1, "a")), row_of(2)
    ((1, 'a'), (2,))
    """
    fields = fields_of(element)
    if fields is not None:
        return tuple(fields.values())
    return element if isinstance(element, tuple) else (element,)


def line_of(element: Any) -> str:
    """An element as a line: a text as it is, a record as a JSON object, another element as a JSON value.

    >>> line_of("a"), line_of((1, None))
    ('a', '[1, null]')
    """
    if isinstance(element, str):
        return element
    fields = fields_of(element)
    return json.dumps(element if fields is None else fields, ensure_ascii=False, default=str)


def refuse_other_width(element: Any, row: Sequence[Any], columns: Sequence[str]) -> None:
    """Raises an error for an element that does not have a value for each column."""
    if len(row) != len(columns):
        raise ValueError(f"{element!r} has {len(row)} values for the columns {', '.join(columns)}")


def quoted(name: str) -> str:
    """A name of a table or a column in SQL. A dot separates a schema from a table.

    >>> quoted('public.a"b')
    '"public"."a""b"'
    """
    return ".".join('"' + part.replace('"', '""') + '"' for part in name.split("."))

"""The columns of a table for the fields of a record."""

from __future__ import annotations

import re
from collections.abc import Sequence

from morisot.types.element import Record
from morisot.types.records import column_names


class ColumnsMisfit(ValueError):  # noqa: N818 - it is caught, and raised with the name of the source
    """The columns of a table do not have the fields of a record."""


def normal(name: str) -> str:
    """The field name for the name of a column.

    >>> normal("UNIQUE KEY")
    'unique_key'
    """
    return re.sub(r"\W+", "_", name.strip().lower()).strip("_")


def match_columns(record: Record, columns: Sequence[str], *, by_position: bool = False) -> list[int]:
    """The index of the column for each field of the record.

    A column with exactly the name of the field is taken, else the one with its name in another spelling ("UNIQUE KEY"
    is unique_key). If names differ and `by_position` is set, columns are matched by position, unless a common name is
    at another position.
    """
    made_for = column_names(record.cls)
    if made_for != record.names and set(made_for) <= set(columns):
        return [columns.index(name) for name in made_for]
    names = [normal(column) for column in columns]
    wanted = [normal(name) for name in record.names]
    if all(name in names for name in wanted):
        return [_index(field, name, columns, names) for field, name in zip(record.names, wanted, strict=True)]
    moved = any(name in names and names.index(name) != index for index, name in enumerate(wanted))
    if by_position and len(names) == len(wanted) and not moved:
        return list(range(len(wanted)))
    missing = [name for name in record.names if normal(name) not in names]
    raise ColumnsMisfit(
        f"{record} has the field{'s' if len(missing) > 1 else ''} "
        f"{', '.join(missing)}, which the table has not; its columns are {', '.join(columns)}"
    )


def _index(field: str, name: str, columns: Sequence[str], names: Sequence[str]) -> int:
    if field in columns:
        return columns.index(field)
    found = [index for index, each in enumerate(names) if each == name]
    if len(found) > 1:
        twins = ", ".join(repr(columns[index]) for index in found)
        raise ColumnsMisfit(f"the field {field} could be each of the columns {twins}; rename all but one of them")
    return found[0]

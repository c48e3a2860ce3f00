"""Paths of files and the fields of their rows, for all engines. runtime/local_files.py opens files."""

from __future__ import annotations

import re
from collections.abc import Sequence

from morisot.errors import SourceError
from morisot.plan.nodes.node import Node
from morisot.types.element import Record


def is_local(path: str) -> bool:
    """Whether a path is on this machine's file system. Spark resolves other paths."""
    return "://" not in path


def normal(name: str) -> str:
    """The field name for the name of a column.

    >>> normal("UNIQUE KEY")
    'unique_key'
    """
    return re.sub(r"\W+", "_", name.strip().lower()).strip("_")


def columns_of_fields(node: Node, columns: Sequence[str], *, by_position: bool = False) -> list[int]:
    """The index of the column for each field of the node's record.

    Columns are matched by name, in any order and spelling ("UNIQUE KEY" is unique_key). If names differ and
    `by_position` is set, they are matched by position, unless a common name is at another position.
    """
    record = node.type
    assert isinstance(record, Record)
    names = [normal(column) for column in columns]
    wanted = [normal(name) for name in record.names]
    if all(name in names for name in wanted):
        return [names.index(name) for name in wanted]
    moved = any(name in names and names.index(name) != index for index, name in enumerate(wanted))
    if by_position and len(names) == len(wanted) and not moved:
        return list(range(len(wanted)))
    missing = [name for name in record.names if normal(name) not in names]
    raise SourceError(
        f"{node.operator} ({node.location}): {record} has the field{'s' if len(missing) > 1 else ''} "
        f"{', '.join(missing)}, which the table has not; its columns are {', '.join(columns)}"
    )

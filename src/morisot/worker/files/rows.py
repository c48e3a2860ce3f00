"""A row of a file that is not converted yet."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class RawRow(NamedTuple):
    """A row of a file, and how it is converted to a record."""

    line: int
    text: str
    record: Callable[[], Any]

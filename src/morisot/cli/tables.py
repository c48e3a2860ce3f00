"""Tables on the terminal."""

from __future__ import annotations

from collections.abc import Iterable

import click


def show(*titles: str, rows: Iterable[Iterable[object]]) -> None:
    """Prints a table. An entry that is None is a dash."""
    cells = [titles, *(tuple("-" if each is None else str(each) for each in row) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        click.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())

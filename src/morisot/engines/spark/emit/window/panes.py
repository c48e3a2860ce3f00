"""Windows that begin at regular intervals: of timestamps, or of positions in the stream.

Overlapping windows share panes: rows are aggregated by pane first, and panes are merged to windows. So the cost of a
row does not depend on the number of its windows.
"""

from __future__ import annotations

import math

from pyspark.sql import DataFrame

from morisot.engines.spark.emit.window.grouping import END, START, Rows

_PANE = "`pane`"


def windows_of(rows: Rows, at: str, size: int, slide: int, offset: int = 0) -> DataFrame:
    """One row for each window that has elements. `at` is the column with the timestamp or position of a row."""
    pane = math.gcd(size, slide)
    if slide >= size:
        inside = rows.df if slide == size else rows.df.where(f"{beyond(at, slide, offset)} < {size}L")
        starts = inside.selectExpr("*", f"{at} - {beyond(at, slide, offset)} AS {START}")
        windows = rows.aggregated(starts, START)
    else:
        paned = rows.df.selectExpr("*", f"{at} - {beyond(at, pane, offset % pane)} AS {_PANE}")
        windows = rows.merged(exploded(rows.aggregated(paned, _PANE), _PANE, size, slide, offset), START)
    return windows.selectExpr("*", f"{START} + {size}L AS {END}")


def exploded(df: DataFrame, at: str, size: int, slide: int, offset: int) -> DataFrame:
    """Each row once for every window that it is in."""
    last = f"({at} - {beyond(at, slide, offset)})"
    if slide >= size:
        inside = df if slide == size else df.where(f"{beyond(at, slide, offset)} < {size}L")
        return inside.selectExpr("*", f"{last} AS {START}")
    before = f"(({size - 1}L - ({at} - {last})) div {slide}L) * {slide}L"
    return df.selectExpr("*", f"explode(sequence({last} - {before}, {last}, {slide}L)) AS {START}")


def beyond(at: str, slide: int, offset: int) -> str:
    """The distance of a value from the nearest window start at or before it, also for negative values."""
    return f"pmod({at} - {offset}L, {slide}L)" if offset else f"pmod({at}, {slide}L)"

"""Groups rows to one row for each window: the grouping columns, the aggregates, and the order of results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark program uses

from morisot.engines.spark.emit.core.emission import Emission
from morisot.engines.spark.emit.frames.frame import TIME, Frame
from morisot.engines.spark.emit.frames.sql import EPOCH, quoted
from morisot.engines.spark.emit.python.in_order import CANONICAL, ORDER, numbered, restored, with_canonical
from morisot.engines.spark.emit.window.measures import (
    AggregateColumn,
    Columns,
    Compared,
    NativeMeasure,
    native_measures,
)
from morisot.plan.nodes.node import Node
from morisot.plan.nodes.window import Window, WindowJoin
from morisot.types.element import DATETIME, Keyed, contains_any, leaves

_BEST = quoted("of/best")
_MOST_GROUPS = 100_000
"""The most groups whose extremes are broadcast."""
START, END = quoted("start"), quoted("end")
POSITION = quoted("position")
FIRST, LAST, NEWEST, ROWS = quoted("first"), quoted("last"), quoted("newest"), quoted("rows")
KEY_FIRST = quoted("key_first")

EXTRAS = {
    FIRST: AggregateColumn(FIRST, f"min({ORDER})", "min({})"),
    LAST: AggregateColumn(LAST, f"max({ORDER})", "max({})"),
    NEWEST: AggregateColumn(NEWEST, f"max({TIME})", "max({})"),
    ROWS: AggregateColumn(ROWS, "count(1)", "sum({})"),
    KEY_FIRST: AggregateColumn(KEY_FIRST, f"min({KEY_FIRST})", "min({})"),
}
"""Further aggregates of a window: the numbers of its first and last element, its newest timestamp, the number of its
elements, and the number of the key's first element."""


@dataclass(frozen=True)
class Rows:
    """Rows before they are grouped to windows."""

    df: DataFrame
    group: Sequence[str]
    """The grouping columns, which are equal exactly if the keys are; none if there are no keys."""
    key: Sequence[str]
    """The columns of the key."""
    measures: Sequence[NativeMeasure]
    extras: Sequence[AggregateColumn] = field(default=())
    compared: Compared | None = None
    """The values by which an element is selected, if the other elements are removed before the selection."""

    @property
    def steps(self) -> list[AggregateColumn]:
        """All aggregates. A key that is not a grouping column is taken from the first element."""
        carried = [column for column in self.key if column not in self.group]
        keys = [AggregateColumn(column, f"min_by({column}, {ORDER})", f"min_by({{}}, {FIRST})") for column in carried]
        return [*keys, *self.extras, *(step for measure in self.measures for step in measure.steps)]

    def aggregated(self, df: DataFrame, *by: str) -> DataFrame:
        """One row for each key and value of the columns `by`, from rows."""
        df = df if self.compared is None else candidates(df, [*self.group, *by], self.compared)
        return _grouped(df, [*self.group, *by], [f"{step.of_rows} AS {step.column}" for step in self.steps])

    def merged(self, df: DataFrame, *by: str) -> DataFrame:
        """The same, from rows that are aggregates already."""
        merges = [f"{step.merge.format(step.column)} AS {step.column}" for step in self.steps]
        return _grouped(df, [*self.group, *by], merges)


def candidates(df: DataFrame, by: Sequence[str], compared: Compared) -> DataFrame:
    """The rows with the extreme value of their group, and all rows of some groups if there are very many.

    The extremes are computed by a scan of its own, which reads only the columns `by` and the value, and broadcast.
    """
    extreme, value = compared.extreme, compared.column
    bests = [*(f"{column} AS {quoted(f'of/{number}')}" for number, column in enumerate(by)), _BEST]
    best = (
        df.groupBy(*map(F.expr, by))
        .agg(F.expr(f"{extreme}({value}) AS {_BEST}"))
        .limit(_MOST_GROUPS)
        .selectExpr(*bests)
    )
    same = " AND ".join(f"{column} = {quoted(f'of/{number}')}" for number, column in enumerate(by))
    beside = df.join(F.broadcast(best), F.expr(same), "left").where(f"{_BEST} IS NULL OR {value} = {_BEST}")
    return beside.selectExpr(*map(quoted, df.columns))


def _grouped(df: DataFrame, by: Sequence[str], aggregates: Sequence[str]) -> DataFrame:
    return df.groupBy(*map(F.expr, by)).agg(*map(F.expr, aggregates))


def prepared(node: Window, emission: Emission, frame: Frame, *extras: str) -> Rows:
    """The frame's rows with the values of the measures, numbered if the order is needed."""
    columns = Columns(node, emission, frame)
    measures = native_measures(columns)
    df = columns.frame.df
    wanted = list(extras)
    by_value = not (isinstance(frame.type, Keyed) and contains_any(frame.type.key))
    if (emission.needs_order(node) or not by_value) and FIRST not in wanted:
        wanted.append(FIRST)
    if any(measure.ordered for measure in measures) or {FIRST, LAST, KEY_FIRST} & set(wanted) or node.kind.by_order:
        df = numbered(df, frame.order)
    df, group, key = grouped_by(node, df, frame)
    return Rows(df, group, key, measures, [EXTRAS[name] for name in wanted])


def grouped_by(node: Node, df: DataFrame, frame: Frame) -> tuple[DataFrame, list[str], list[str]]:
    """The rows, the grouping columns, and the columns of the key."""
    if not isinstance(frame.type, Keyed):
        return df, [], []
    key = frame.columns_under(0)
    if contains_any(frame.type.key):
        return with_canonical(node, df, frame.type.key), [CANONICAL], key
    return df, key, key


def finished(node: Window, emission: Emission, rows: Rows, windows: DataFrame, *, order: Sequence[str]) -> Frame:
    """The results of windows, from rows with START, END and the columns of the measures and the order."""
    for column, expression in (shared for measure in rows.measures for shared in measure.shared):
        windows = windows.selectExpr("*", f"{expression} AS {column}")
    results = [expression for measure in rows.measures for expression in measure.finish]
    stamps = [f"{END if node.kind.timed else NEWEST} AS {TIME}"] if node.time is not None else []
    return in_their_order(node, emission, windows, [*rows.key, *with_bounds(node, results)], stamps, order)


def in_their_order(
    node: Window | WindowJoin,
    emission: Emission,
    windows: DataFrame,
    expressions: Sequence[str],
    stamps: Sequence[str],
    order: Sequence[str],
) -> Frame:
    """The frame of the results, sorted if a downstream operator depends on the order."""
    columns = [quoted(leaf.column) for leaf in leaves(node.type)]
    named = [f"{expression} AS {column}" for expression, column in zip(expressions, columns, strict=True)]
    if not order or not emission.needs_order(node):
        return Frame(windows.selectExpr(*named, *stamps), node.type, bool(stamps))
    names = [f"order{number}" for number in range(len(order))]
    sorted_by = [f"{expression} AS {name}" for expression, name in zip(order, names, strict=True)]
    rows = windows.selectExpr(*named, *stamps, *sorted_by)
    return restored(node, emission, rows, names, columns, timed=bool(stamps))


def with_bounds(node: Window | WindowJoin, results: Sequence[str]) -> list[str]:
    """The expressions of a result's leaves, after those of the bounds if it has bounds."""
    if not node.bounds:
        return list(results)
    bounds = [START, END]
    if node.clock == DATETIME:
        bounds = [f"timestampadd(MICROSECOND, {bound}, {EPOCH})" for bound in bounds]
    return [*bounds, *results]

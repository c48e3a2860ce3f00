"""Operators that process elements in row order: the elements of a key are in one task, in stream order.

Rows are numbered, shuffled by key, and sorted by key and number. So a task has the state of one key at a time, and no
elements. The row order of the results is restored only if a downstream operator depends on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark program uses

from morisot.engines.spark.emit.frames import schema
from morisot.engines.spark.emit.frames.frame import ORDERS, TIME, Frame, named, unquoted
from morisot.engines.spark.emit.frames.sql import quoted
from morisot.engines.spark.emit.python.fused_stage import dumps, in_worker
from morisot.engines.spark.emit.python.pickling import check_travels
from morisot.plan.nodes.node import Node
from morisot.types.element import FLOAT, Keyed, Optional, Type, contains_any, leaves
from morisot.worker.aggregate.two_phase_fold import WithCanonical
from morisot.worker.report.origin import Origin
from morisot.worker.stateful.machine import ORDER_COLUMNS, InOrder, Machine

if TYPE_CHECKING:
    from morisot.engines.spark.emit.core.emission import Emission

ORDER, CANONICAL = quoted("order"), quoted("canonical")
NUMBER = "monotonically_increasing_id()"
"""The number of a row in partition order."""
_ORDER_COLUMNS = [quoted(name) for name in ORDER_COLUMNS]


def in_order(node: Node, emission: Emission, frame: Frame, machine: Machine, *, by_key: bool = True) -> Frame:
    """The frame after a machine that processes the elements of each key, or all elements, in stream order."""
    for _, closure in node.closures:
        check_travels(closure)
    by_key = by_key and isinstance(frame.type, Keyed)
    order = list(frame.order) or [ORDER]
    rows = frame.df if frame.order else numbered(frame.df)
    group: list[str] = []
    if by_key:
        rows, group = grouped_by_key(node, rows, frame.type)
    rows = gathered(emission, rows, group, order)
    if frame.order:
        rows = rows.drop(*map(unquoted, order))
    return run_machine(node, emission, Frame(rows, frame.type, frame.timed), machine, by_key=by_key)


def run_machine(node: Node, emission: Emission, rows: Frame, machine: Machine, *, by_key: bool) -> Frame:
    """The frame after a machine, over rows that are numbered, and sorted by group."""
    ordered, stamps = emission.needs_order(node), node.time is not None
    came_from = origin(node, emission)
    account = emission.account([came_from.policy] if came_from.policy is not None else [])
    task = InOrder(machine, came_from, rows.type, node.type, dumps, rows.timed, stamps, ordered, by_key, account)
    hidden = [*([TIME] if stamps else []), *(_ORDER_COLUMNS if ordered else [])]
    results = rows.df.mapInArrow(in_worker(task), schema.ddl(node.type, *hidden))
    if ordered:
        results = results.orderBy(*_ORDER_COLUMNS).drop(*ORDER_COLUMNS)
    return Frame(results, node.type, stamps)


def origin(node: Node, emission: Emission | None = None) -> Origin:
    """The operator for its tasks. The emission determines whether it skips elements."""
    return Origin(node.operator, node.location, emission.policy(node) if emission is not None else None)


def numbered(df: DataFrame, by: Sequence[str] = ()) -> DataFrame:
    """The rows with their number in stream order, or with the columns `by` which they are ordered as one value."""
    order = _as_one(by) if by else NUMBER
    return df.selectExpr("*", f"{order} AS {ORDER}")


def _as_one(columns: Sequence[str]) -> str:
    return columns[0] if len(columns) == 1 else f"struct({', '.join(columns)})"


def reversed_order(by: Sequence[str]) -> str:
    """An expression that orders numbered rows in the reverse direction."""
    return _as_one([f"-{column}" for column in by or [ORDER]])


def restored(
    node: Node, emission: Emission, df: DataFrame, order: Sequence[str], columns: Sequence[str], *, timed: bool = False
) -> Frame:
    """The frame with the given leaves, in an order: as hidden columns if the plan says so, else sorted."""
    time = [TIME] if timed else []
    if emission.carries_order(node):
        names = ORDERS[: len(order)]
        hidden = [f"{expression} AS {name}" for expression, name in zip(order, names, strict=True)]
        return Frame(df.selectExpr(*named(columns, node.type), *time, *hidden), node.type, timed, order=tuple(names))
    rows = df.orderBy(*(F.expr(expression).asc_nulls_last() for expression in order))
    return Frame(rows.selectExpr(*named(columns, node.type), *time), node.type, timed)


def gathered(emission: Emission, df: DataFrame, group: Sequence[str], order: Sequence[str]) -> DataFrame:
    """The rows of each group in one partition, sorted by group; all rows in one partition without groups."""
    columns = [F.expr(each) for each in group]
    moved = df.repartition(emission.parallelism, *columns) if group else df.repartition(1)
    return moved.sortWithinPartitions(*columns, *map(F.expr, order))


def grouped_by_key(node: Node, df: DataFrame, type_: Type) -> tuple[DataFrame, list[str]]:
    """The rows, perhaps with an additional column, and grouping expressions that are equal exactly if the keys are."""
    assert isinstance(type_, Keyed)
    key = [leaf for leaf in leaves(type_) if leaf.path[:1] == (0,)]
    if contains_any(type_.key) or any(leaf.type.children for leaf in key):
        return with_canonical(node, df, type_.key), [CANONICAL]
    return df, [same_where_equal(quoted(leaf.column), leaf.type) for leaf in key]


def same_where_equal(column: str, type_: Type) -> str:
    """An expression with the same hash for equal values: adding zero converts -0.0 to 0.0."""
    return f"({column} + 0.0D)" if type_ in (FLOAT, Optional(FLOAT)) else column


def with_canonical(node: Node, df: DataFrame, part: Type) -> DataFrame:
    """The rows with a column of canonical bytes of the values of `part`, which are their first leaves."""
    task = WithCanonical(part, node.operator, node.location, dumps)
    columns = ", ".join(f"{quoted(field.name)} {field.dataType.simpleString()}" for field in df.schema.fields)
    return df.mapInArrow(in_worker(task), f"{columns}, {CANONICAL} BINARY")

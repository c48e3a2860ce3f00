"""Aggregates as Spark's own, where those give exactly what Python gives; `folds` runs the others."""

from __future__ import annotations

import dataclasses

from pyspark.sql import Column, DataFrame, GroupedData
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark program uses

from morisot.compile.folds import Part
from morisot.compile.verdict import ColumnForm, Value
from morisot.lower.columns import NameOf, literal, quoted, render
from morisot.lower.folds import native_fold
from morisot.lower.frame import Frame
from morisot.lower.planner import Lowering
from morisot.lower.registry import lowers
from morisot.lower.stages import dumps, in_worker
from morisot.plan.aggregate import (
    Aggregate,
    Avg,
    Count,
    FoldAssoc,
    Limit,
    MaxElement,
    MinElement,
    ReduceAssoc,
    Sum,
    Unique,
)
from morisot.plan.closure import Closure
from morisot.plan.node import Node
from morisot.types.element import BOOL, FLOAT, INT, Keyed, Tuple, Type, arguments, contains_any, leaves
from morisot.worker.fold import WithCanonical

_CANONICAL, _PLACE = quoted("canonical"), quoted("place")
_VALUE, _ORDER, _CHOSEN = quoted("by"), quoted("order"), quoted("chosen")
NO_RESULT = Value(Tuple(()))
_EXACT = 2**53
"""The largest integer up to which every integer is a double."""


@lowers(Count)
def lower_count(node: Count, lowering: Lowering, frame: Frame) -> Frame:
    return grouped(node, frame, "count(1)")


@lowers(Sum, "bounded")
def lower_sum(node: Sum, lowering: Lowering, frame: Frame) -> Frame:
    frame, value, type_ = value_column(node, node.value, lowering, frame)
    if type_ != FLOAT:
        lowering.optimistic.add(node)  # an overflow of 64 bits on the way is Python's to repair
    return grouped(node, frame, f"sum({value})")


@lowers(Avg, "bounded")
def lower_avg(node: Avg, lowering: Lowering, frame: Frame) -> Frame:
    frame, value, type_ = value_column(node, node.value, lowering, frame)
    if type_ == FLOAT:
        return grouped(node, frame, f"sum({value}) / count(1)")
    lowering.optimistic.add(node)
    return grouped(
        node,
        frame,
        f"CASE WHEN sum({value}) BETWEEN {-_EXACT}L AND {_EXACT}L THEN CAST(sum({value}) AS DOUBLE) / count(1) "
        "ELSE raise_error('morisot: the sum is too large for an exact mean') END",
    )


@lowers(ReduceAssoc, "bounded")
def lower_reduce_assoc(node: ReduceAssoc, lowering: Lowering, frame: Frame) -> Frame:
    return native_parts(node, lowering, frame)


@lowers(FoldAssoc, "bounded")
def lower_fold_assoc(node: FoldAssoc, lowering: Lowering, frame: Frame) -> Frame:
    return native_parts(node, lowering, frame)


@lowers(MinElement, "bounded")
def lower_min_element(node: MinElement, lowering: Lowering, frame: Frame) -> Frame:
    return chosen(node, lowering, frame, "min_by", _ORDER)


@lowers(MaxElement, "bounded")
def lower_max_element(node: MaxElement, lowering: Lowering, frame: Frame) -> Frame:
    return chosen(node, lowering, frame, "max_by", f"-{_ORDER}")


@lowers(Limit, "bounded")
def lower_limit(node: Limit, lowering: Lowering, frame: Frame) -> Frame:
    """A plain LIMIT inside a plan takes any rows; the row's place in the stream makes it these rows."""
    numbered = frame.df.selectExpr("*", f"monotonically_increasing_id() AS {_ORDER}")
    taken = numbered.orderBy(_ORDER).offset(node.offset).limit(node.n)
    return Frame(taken, node.type).select(node.type, frame.columns)


@lowers(Unique, "bounded")
def lower_unique(node: Unique, lowering: Lowering, frame: Frame) -> Frame:
    if not contains_any(node.type):
        return Frame(frame.df.distinct(), node.type)
    rows = with_canonical(node, frame, node.type)
    firsts = [first_seen(column, frame.df) for column in frame.columns]
    distinct = rows.groupBy(F.expr(_CANONICAL)).agg(*map(F.expr, firsts))
    return Frame(distinct, node.type).select(node.type, frame.columns)


def native_parts(node: ReduceAssoc | FoldAssoc, lowering: Lowering, frame: Frame) -> Frame:
    """A fold as one native aggregate per leaf of its accumulator."""
    fold = native_fold(node)
    assert fold is not None, f"{node.operator} has no native form and should have been a fold in Python"
    lowering.optimistic.add(node)  # an overflow of 64 bits on the way is Python's to repair
    element = (1,) if isinstance(frame.type, Keyed) else ()
    name_of = frame.names((), element)  # the accumulator, the first parameter, is in no expression
    if isinstance(node, FoldAssoc):
        frame, _ = frame.evaluate(dataclasses.replace(fold.form, result=NO_RESULT), name_of)
    return grouped(node, frame, *(part_sql(part, name_of) for part in fold.parts))


_JOINED = {
    "sum": "{0} + {1}",
    "max": "greatest({0}, {1})",
    "min": "least({0}, {1})",
    "bool_or": "({0} OR {1})",
    "bool_and": "({0} AND {1})",
    "bit_or": "({0} | {1})",
    "bit_and": "({0} & {1})",
    "bit_xor": "({0} ^ {1})",
}
"""How the start of a fold joins the aggregate of the elements."""


def part_sql(part: Part, name_of: NameOf) -> str:
    """One aggregate; NULL, which it gives when its condition held for no element, is the start."""
    condition = f" FILTER (WHERE {render(part.condition, name_of)})" if part.condition is not None else ""
    aggregated = f"{part.kind}({render(part.operand, name_of)}){condition}"
    if part.init is None:
        return aggregated
    start = literal(part.init, part.type)
    return f"coalesce({_JOINED[part.kind].format(aggregated, start)}, {start})"


def value_column(node: Aggregate, closure: Closure, lowering: Lowering, frame: Frame) -> tuple[Frame, str, Type]:
    """The value that is aggregated, as a column beside the key; a bool counts as the int it is."""
    at = (1,) if isinstance(frame.type, Keyed) else ()
    form = lowering.column_form(node, closure, arguments(frame.type)[-1])
    assert isinstance(form, ColumnForm), f"{node.operator} has no native form and should have been a fold in Python"
    frame, (value,) = frame.evaluate(form, frame.names(at))
    if form.type == BOOL:
        value = f"CAST({value} AS BIGINT)"
    return frame, value, INT if form.type == BOOL else form.type


def grouped(node: Node, frame: Frame, *aggregated: str) -> Frame:
    """One row per key with the aggregates, one for each leaf, or one row in all; none for an empty stream."""
    results = [leaf.column for leaf in leaves(node.type)[-len(aggregated) :]]
    columns = [F.expr(each).alias(name) for each, name in zip(aggregated, results, strict=True)]
    if isinstance(frame.type, Keyed):
        groups, keys = by_key(node, frame)
        rows = Frame(groups.agg(*keys, *columns), node.type)
        return rows.select(node.type, [*frame.columns_under(0), *map(quoted, results)]) if keys else rows
    total = frame.df.agg(F.expr("count(1)").alias("rows"), *columns)
    return Frame(total.where("rows > 0"), node.type).select(node.type, list(map(quoted, results)))


def chosen(node: MinElement | MaxElement, lowering: Lowering, frame: Frame, by: str, tie: str) -> Frame:
    """The element that is first by a value and then by its place in the stream."""
    columns = frame.columns
    element = frame.columns_under(1) if isinstance(frame.type, Keyed) else columns
    frame, value, value_type = value_column(node, node.value, lowering, frame)
    if value_type == FLOAT:  # min() and max() of Python depend on where a NaN stands
        lowering.optimistic.add(node)
        value = f"CASE WHEN isnan({value}) THEN raise_error('morisot: NaN has no place in an order') ELSE {value} END"
    numbered = frame.df.selectExpr(*columns, f"{value} AS {_VALUE}", f"monotonically_increasing_id() AS {_ORDER}")
    fields = ", ".join(f"{column} AS c{place}" for place, column in enumerate(element))
    best = F.expr(f"{by}(struct({fields}), struct({_VALUE}, {tie})) AS {_CHOSEN}")
    picked = [f"{_CHOSEN}.c{place}" for place in range(len(element))]
    if isinstance(frame.type, Keyed):
        groups, keys = by_key(node, Frame(numbered, frame.type))
        return Frame(groups.agg(*keys, best), node.type).select(node.type, [*frame.columns_under(0), *picked])
    return Frame(numbered.agg(best).where(f"{_CHOSEN} IS NOT NULL"), node.type).select(node.type, picked)


def by_key(node: Node, frame: Frame) -> tuple[GroupedData, list[Column]]:
    """The frame's rows grouped by key, and what gives the key back where the grouping is not by the key itself."""
    assert isinstance(frame.type, Keyed)
    key = frame.columns_under(0)
    if not contains_any(frame.type.key):
        return frame.df.groupBy(*map(F.expr, key)), []
    groups = with_canonical(node, frame, frame.type.key).groupBy(F.expr(_CANONICAL))
    return groups, [F.expr(first_seen(column, frame.df)) for column in key]


def first_seen(column: str, df: DataFrame) -> str:
    """Of values that Python calls equal, the one that came first stands for all; a stream's rows have no number."""
    first = f"first({column})" if df.isStreaming else f"min_by({column}, {_PLACE})"
    return f"{first} AS {column}"


def with_canonical(node: Node, frame: Frame, part: Type) -> DataFrame:
    """The frame's rows with a column that is equal exactly where Python's values of `part`, its first leaves, are."""
    task = WithCanonical(part, node.operator, node.location, dumps)
    columns = ", ".join(f"{quoted(field.name)} {field.dataType.simpleString()}" for field in frame.df.schema.fields)
    rows = frame.df.mapInArrow(in_worker(task), f"{columns}, {_CANONICAL} BINARY")
    return rows if rows.isStreaming else rows.selectExpr("*", f"monotonically_increasing_id() AS {_PLACE}")

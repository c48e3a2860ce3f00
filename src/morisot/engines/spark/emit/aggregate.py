"""Native aggregates, if they give exactly Python's results; `python.two_phase_fold` runs the others."""

from __future__ import annotations

import dataclasses

from pyspark.sql import Column, DataFrame, GroupedData
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark program uses

from morisot.compile.aggregates.extremes import ACCUMULATOR, NativeExtreme
from morisot.compile.aggregates.folds import FoldPart, leaf_values
from morisot.compile.ir.expressions import Input
from morisot.compile.verdict import ColumnForm, Value
from morisot.engines.spark.emit.core.emission import Emission
from morisot.engines.spark.emit.core.registry import emits
from morisot.engines.spark.emit.frames.frame import Frame
from morisot.engines.spark.emit.frames.guards import NAN
from morisot.engines.spark.emit.frames.sql import NameOf, guard, literal, quoted, render
from morisot.engines.spark.emit.python.in_order import CANONICAL, ORDER, grouped_by_key, numbered, with_canonical
from morisot.physical.choose.aggregate import FoldNode
from morisot.physical.ops import NativeAggregateOp, NativeJoinOp
from morisot.plan.nodes.aggregate import (
    Aggregation,
    Avg,
    Count,
    First,
    Fold,
    FoldAssoc,
    MaxElement,
    MinElement,
    Reduce,
    ReduceAssoc,
    Sum,
    WithAggregate,
)
from morisot.plan.nodes.closure import Closure
from morisot.plan.nodes.node import Node
from morisot.types.element import BOOL, FLOAT, INT, Keyed, Tuple, Type, contains_any, leaves

_VALUE, _CHOSEN = quoted("by"), quoted("chosen")
NO_RESULT = Value(Tuple(()))
_EXACT = 2**53
"""The limit up to which every integer is exactly a double."""


@emits(NativeAggregateOp, Count)
def emit_count(node: Count, emission: Emission, frame: Frame) -> Frame:
    return grouped(node, emission, frame, "count(1)")


@emits(NativeAggregateOp, Sum)
def emit_sum(node: Sum, emission: Emission, frame: Frame) -> Frame:
    frame, value, _ = value_column(node, node.value, emission, frame)
    return grouped(node, emission, frame, f"sum({value})")


@emits(NativeAggregateOp, Avg)
def emit_avg(node: Avg, emission: Emission, frame: Frame) -> Frame:
    frame, value, type_ = value_column(node, node.value, emission, frame)
    if type_ == FLOAT:
        return grouped(node, emission, frame, f"sum({value}) / count(1)")
    return grouped(
        node,
        emission,
        frame,
        f"CASE WHEN sum({value}) BETWEEN {-_EXACT}L AND {_EXACT}L THEN CAST(sum({value}) AS DOUBLE) / count(1) "
        f"ELSE {guard('the sum is too large for an exact mean')} END",
    )


@emits(NativeAggregateOp, MinElement)
def emit_min_element(node: MinElement, emission: Emission, frame: Frame) -> Frame:
    return chosen(node, emission, frame, "min_by", ORDER)


@emits(NativeAggregateOp, MaxElement)
def emit_max_element(node: MaxElement, emission: Emission, frame: Frame) -> Frame:
    return chosen(node, emission, frame, "max_by", f"-{ORDER}")


@emits(NativeAggregateOp, First)
def emit_first(node: First, emission: Emission, frame: Frame) -> Frame:
    return picked(node, emission, Frame(numbered(frame.df), frame.type, frame.timed), f"min_by({{0}}, {ORDER})")


@emits(NativeJoinOp, WithAggregate)
def emit_with_aggregate(node: WithAggregate, emission: Emission, frame: Frame, aggregate: Frame) -> Frame:
    """Each element with the result of its key: a join, in which the results are usually broadcast."""
    names = [f"aggregate/{index}" for index in range(len(aggregate.columns))]
    if not isinstance(frame.type, Keyed):
        results = aggregate.df.toDF(*names)
        both = frame.df.crossJoin(F.broadcast(results))
        return Frame(both, node.type, frame.timed).select(node.type, [*frame.columns, *map(quoted, names)])
    needs_order = emission.needs_order(node)
    rows, _ = grouped_by_key(node, numbered(frame.df) if needs_order else frame.df, frame.type)
    results, _ = grouped_by_key(node, aggregate.df, frame.type)
    results = results.toDF(*names, *("aggregate/canonical" for _ in results.columns[len(names) :]))
    keys = frame.columns_under(0)
    same = " AND ".join(f"{column} <=> {quoted(name)}" for column, name in zip(keys, names, strict=False))
    if "canonical" in rows.columns:
        same = f"{CANONICAL} = {quoted('aggregate/canonical')}"
    both = rows.join(results, F.expr(same))
    both = both.orderBy(ORDER) if needs_order else both
    values = [quoted(name) for name in names[len(keys) :]]
    return Frame(both, node.type, frame.timed).select(node.type, [*frame.columns, *values])


@emits(NativeAggregateOp, Fold, Reduce, FoldAssoc, ReduceAssoc)
def emit_native_fold(node: FoldNode, emission: Emission, frame: Frame) -> Frame:
    """A fold as one native aggregate for each leaf of its accumulator."""
    fold = emission.plan.choices[node].detail
    assert fold is not None, f"{node.operator} has no native form and should have been a fold in Python"
    if isinstance(fold, NativeExtreme):
        return extreme(node, emission, frame, fold)
    element = (1,) if isinstance(frame.type, Keyed) else ()
    name_of = frame.names((), element)  # the accumulator, the first parameter, is in no expression
    if isinstance(node, FoldAssoc | Fold):
        frame, _ = frame.evaluate(dataclasses.replace(fold.form, result=NO_RESULT), name_of)
    return grouped(node, emission, frame, *(part_sql(part, name_of) for part in fold.parts))


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
"""How the initial value of a fold is combined with the aggregate of the elements."""


def extreme(node: FoldNode, emission: Emission, frame: Frame, fold: NativeExtreme) -> Frame:
    """A fold that selects one of its elements: by its key, and then by row order."""
    at = (1,) if isinstance(frame.type, Keyed) else ()
    key = render(fold.key, frame.names((), at))
    if fold.is_float:
        key = f"CASE WHEN isnan({key}) THEN {guard(NAN)} ELSE {key} + 0.0D END"  # 0.0 and -0.0 are equal keys
    rows = numbered(frame.df.selectExpr(*frame.columns, *frame.hidden, f"{key} AS {_VALUE}"))
    tie = ORDER if fold.largest == fold.last else f"-{ORDER}"
    by = "max_by" if fold.largest else "min_by"
    best = picked(node, emission, Frame(rows, frame.type, frame.timed), f"{by}({{0}}, struct({_VALUE}, {tie}))")
    return best if isinstance(node, ReduceAssoc | Reduce) else from_start(best, fold, at)


def from_start(best: Frame, fold: NativeExtreme, at: tuple[int, ...]) -> Frame:
    """The initial value if it wins against the best of the elements."""
    own = best.leaves_under(*at)
    type_ = best.type.value if isinstance(best.type, Keyed) else best.type
    starts = {
        leaf.path: literal(value, leaf.type) for leaf, value in zip(own, leaf_values(fold.init, type_), strict=True)
    }
    names = best.names((), at)

    def name_of(leaf: Input) -> str:
        return starts[*at, *leaf.path] if leaf.parameter == ACCUMULATOR else names(leaf)

    wins = render(fold.keeps, name_of)
    columns = [quoted(leaf.column) for leaf in best.leaves_under() if leaf not in own]
    columns += [f"CASE WHEN {wins} THEN {starts[leaf.path]} ELSE {quoted(leaf.column)} END" for leaf in own]
    return best.select(best.type, columns)


def part_sql(part: FoldPart, name_of: NameOf) -> str:
    """One aggregate. NULL, its result if its condition holds for no element, is replaced by the initial value."""
    condition = f" FILTER (WHERE {render(part.condition, name_of)})" if part.condition is not None else ""
    operand = render(part.operand, name_of)
    aggregated = f"{part.kind}({operand}){condition}"
    if part.type == FLOAT:
        return _float_extreme(part, operand, condition, aggregated)
    return joined_start(part, aggregated)


def joined_start(part: FoldPart, aggregated: str) -> str:
    """The aggregate of the elements, combined with the initial value of the fold."""
    if part.init is None:
        return aggregated
    start = literal(part.init, part.type)
    return f"coalesce({_JOINED[part.kind].format(aggregated, start)}, {start})"


def _float_extreme(part: FoldPart, operand: str, condition: str, aggregated: str) -> str:
    """With a NaN the extreme depends on the order, and so does the sign of zero among 0.0 and -0.0."""
    if part.init is not None:
        start = literal(part.init, part.type)
        aggregated = f"coalesce({_JOINED[part.kind].format(aggregated, start)}, {start})"
    nan = f"coalesce(bool_or(isnan({operand})){condition}, false)"
    minus = f"CASE WHEN {operand} = 0.0D THEN CAST({operand} AS STRING) = '-0.0' ELSE false END"
    unclear = f"{aggregated} = 0.0D AND coalesce(bool_or({minus}){condition}, false)"
    return f"CASE WHEN {nan} OR ({unclear}) THEN {guard(NAN)} ELSE {aggregated} END"


def value_column(node: Aggregation, closure: Closure, emission: Emission, frame: Frame) -> tuple[Frame, str, Type]:
    """The aggregated value as a column next to the key. A bool counts as an int."""
    at = (1,) if isinstance(frame.type, Keyed) else ()
    form = emission.column_form(node, closure)
    assert isinstance(form, ColumnForm), f"{node.operator} has no native form and should have been a fold in Python"
    frame, (value,) = frame.evaluate(form, frame.names(at))
    if form.type == BOOL:
        value = f"CAST({value} AS BIGINT)"
    return frame, value, INT if form.type == BOOL else form.type


def grouped(node: Node, emission: Emission, frame: Frame, *aggregated: str) -> Frame:
    """One row for each key with the aggregates of the leaves, or one row in total; none for an empty stream."""
    results = [leaf.column for leaf in leaves(node.type)[-len(aggregated) :]]
    columns = [F.expr(each).alias(name) for each, name in zip(aggregated, results, strict=True)]
    if not isinstance(frame.type, Keyed):
        total = frame.df.agg(F.expr("count(1)").alias("rows"), *columns)
        return Frame(total.where("rows > 0"), node.type).select(node.type, list(map(quoted, results)))
    needs_order = emission.needs_order(node)
    rows = Frame(numbered(frame.df), frame.type) if needs_order else frame
    groups, keys = by_key(node, rows)
    if needs_order:  # keys are in the order of their first elements
        df = groups.agg(*keys, *columns, F.expr(f"min({ORDER}) AS {ORDER}")).orderBy(ORDER)
    elif keys:
        df = groups.agg(*keys, *columns)
    else:
        return Frame(groups.agg(*columns), node.type)
    return Frame(df, node.type).select(node.type, [*frame.columns_under(0), *map(quoted, results)])


def chosen(node: MinElement | MaxElement, emission: Emission, frame: Frame, by: str, tie: str) -> Frame:
    """The first element by a value; of equal values the first in row order."""
    columns = frame.columns
    frame, value, value_type = value_column(node, node.value, emission, frame)
    if value_type == FLOAT:  # Python's min() and max() depend on the position of a NaN
        value = f"CASE WHEN isnan({value}) THEN {guard(NAN)} ELSE {value} END"
    rows = numbered(frame.df.selectExpr(*columns, f"{value} AS {_VALUE}"))
    return picked(node, emission, Frame(rows, frame.type), f"{by}({{0}}, struct({_VALUE}, {tie}))")


def picked(node: Aggregation, emission: Emission, rows: Frame, best: str) -> Frame:
    """The element (of each key) that an aggregate of whole rows selects. The rows are numbered."""
    element = [*(rows.columns_under(1) if isinstance(rows.type, Keyed) else rows.columns), *rows.hidden]
    fields = ", ".join(f"{column} AS c{index}" for index, column in enumerate(element))
    choice = F.expr(f"{best.format(f'struct({fields})')} AS {_CHOSEN}")
    values = [f"{_CHOSEN}.c{index} AS {column}" for index, column in enumerate(element)]
    if not isinstance(rows.type, Keyed):
        df = rows.df.agg(choice).where(f"{_CHOSEN} IS NOT NULL")
        return Frame(df.selectExpr(*values), node.type, rows.timed)
    groups, keys = by_key(node, rows)
    df = groups.agg(*keys, choice, F.expr(f"min({ORDER}) AS {ORDER}"))
    df = df.orderBy(ORDER) if emission.needs_order(node) else df
    return Frame(df.selectExpr(*rows.columns_under(0), *values), node.type, rows.timed)


def by_key(node: Node, frame: Frame) -> tuple[GroupedData, list[Column]]:
    """The frame's rows grouped by key, and aggregates of the key if it is not the grouping column."""
    assert isinstance(frame.type, Keyed)
    key = frame.columns_under(0)
    if not contains_any(frame.type.key):
        return frame.df.groupBy(*map(F.expr, key)), []
    rows = with_canonical(node, frame.df, frame.type.key)
    if "order" not in rows.columns and not rows.isStreaming:
        rows = numbered(rows)
    return rows.groupBy(F.expr(CANONICAL)), [F.expr(first_seen(column, rows)) for column in key]


def first_seen(column: str, df: DataFrame) -> str:
    """The first of equal values, which represents all of them. Rows of a stream have no number."""
    first = f"first({column})" if df.isStreaming else f"min_by({column}, {ORDER})"
    return f"{first} AS {column}"

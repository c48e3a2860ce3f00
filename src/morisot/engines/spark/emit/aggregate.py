"""Native aggregates, if they give exactly Python's results; `python.two_phase_fold` runs the others."""

from __future__ import annotations

import dataclasses

from pyspark.sql import functions as F  # noqa: N812 - the name every Spark program uses

from morisot.compile.aggregates.extremes import NativeExtreme
from morisot.compile.aggregates.folds import FoldPart
from morisot.compile.verdict import Value
from morisot.engines.spark.emit.core.emission import Emission
from morisot.engines.spark.emit.core.registry import emits
from morisot.engines.spark.emit.frames.frame import Frame
from morisot.engines.spark.emit.frames.guards import NAN
from morisot.engines.spark.emit.frames.sql import NameOf, guard, literal, quoted, render
from morisot.engines.spark.emit.groups import grouped, value_column
from morisot.engines.spark.emit.python.in_order import (
    CANONICAL,
    ORDER,
    grouped_by_key,
    numbered,
)
from morisot.engines.spark.emit.selected import extreme
from morisot.physical.choose.aggregate import FoldNode
from morisot.physical.ops import NativeAggregateOp, NativeJoinOp
from morisot.plan.nodes.aggregate import (
    Avg,
    Count,
    Fold,
    FoldAssoc,
    Reduce,
    ReduceAssoc,
    Sum,
    WithAggregate,
)
from morisot.types.element import FLOAT, Keyed, Tuple

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

"""Selection and sorting: sorted_by, limit, unique."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark program uses

from morisot.engines.spark.emit.core.emission import Emission
from morisot.engines.spark.emit.core.registry import emits
from morisot.engines.spark.emit.frames.frame import TIME, Frame, unquoted
from morisot.engines.spark.emit.frames.guards import NAN
from morisot.engines.spark.emit.frames.sql import guard
from morisot.engines.spark.emit.python import fused_stage
from morisot.engines.spark.emit.python.in_order import (
    CANONICAL,
    ORDER,
    in_order,
    numbered,
    origin,
    restored,
    with_canonical,
)
from morisot.engines.spark.emit.stateful.keyed_state import by_bucket_of_key, in_buckets
from morisot.engines.spark.emit.stateful.timers import clock_of, in_buckets_with_timers
from morisot.engines.spark.internals import plans
from morisot.engines.spark.internals.sessions import is_connect
from morisot.physical.ops import InOrderOp, KeyedStateOp, NativeAggregateOp, SortOp, TimersOp
from morisot.plan.analysis.graph import walk
from morisot.plan.nodes.aggregate import Limit, SortedBy, Unique, UniqueWithin
from morisot.plan.nodes.time import is_direct
from morisot.types.element import BOOL, FLOAT, Keyed, Tuple, Type, arguments, contains_any, key_of, leaves
from morisot.worker.stateful.state import Firsts, Limiter, Sorter
from morisot.worker.stateful.unique_within import DeduplicateBucket, DeduplicateByTime, DeduplicateWithin

_LARGEST_INT = 2**31 - 1


@emits(SortOp, SortedBy)
def emit_sorted_by(node: SortedBy, emission: Emission, frame: Frame) -> Frame:
    form = emission.column_form(node, node.key)
    assert form is not None, "a key that Spark does not sort as Python does should have been sorted in Python"
    columns = [*frame.columns, *frame.hidden]
    frame, key = frame.evaluate(form, frame.names())
    types = [leaf.type for leaf in leaves(form.type)]
    by = [f"by{index}" for index in range(len(key))]
    sortable = [
        f"{sort_key(expression, type_)} AS {name}" for expression, type_, name in zip(key, types, by, strict=True)
    ]
    rows, last = frame.df.selectExpr(*columns, *sortable), list(frame.order)
    if not emission.plan.choices[node].unique_keys and not frame.order:
        rows, last = numbered(rows), [ORDER]
    if emission.carries_order(node):
        return restored(node, emission, rows, [*by, *last], frame.columns, timed=frame.timed)
    rows = rows.orderBy(*by, *last)
    rows = rows.offset(node.offset) if node.offset else rows
    rows = rows if node.n is None else rows.limit(node.n)
    return Frame(rows.drop(*by, "order", *map(unquoted, frame.order)), node.type, frame.timed)


def sort_key(expression: str, type_: Type) -> str:
    """The sort key for Spark. Python's sort with a NaN depends on the row order, so NaN is left to Python."""
    if type_ != FLOAT:
        return expression
    return f"CASE WHEN isnan({expression}) THEN {guard(NAN)} ELSE {expression} + 0.0D END"


@emits(InOrderOp, SortedBy)
def emit_sorted_by_in_python(node: SortedBy, emission: Emission, frame: Frame) -> Frame:
    """Keys that only Python can compare are sorted in one partition with all elements."""
    keyed = node.input.keyed
    machine = Sorter(node.key.function, keyed, node.n, node.offset, origin(node))
    return in_order(node, emission, frame, machine, by_key=False)


@emits(SortOp, Limit)
def emit_limit(node: Limit, emission: Emission, frame: Frame) -> Frame:
    """A plain LIMIT takes any rows. So rows are selected by their number in stream order.

    Only the first `n + offset` rows of each partition are read, unless an upstream operator counts skipped elements: a
    task that is cancelled does not report.
    """
    counted = any(each.leaves_out for each in walk(node.input))
    rows = frame.df if counted else first_of_each_partition(frame.df, node.n + node.offset)
    taken = numbered(rows).orderBy(ORDER).offset(node.offset).limit(node.n)
    return Frame(taken, node.type, frame.timed).select(node.type, frame.columns)


@emits(KeyedStateOp, Limit)
def emit_limit_unbounded(node: Limit, emission: Emission, frame: Frame) -> Frame:
    return in_buckets(node, emission, frame, Limiter(node.n, node.offset), by_key=False)


def first_of_each_partition(df: DataFrame, n: int) -> DataFrame:
    """At most `n` rows of each partition; on Spark Connect, where Spark's plans are not accessible, all rows."""
    return df if is_connect(df) or n > _LARGEST_INT else plans.first_of_each_partition(df, n)


@emits(NativeAggregateOp, Unique)
def emit_unique(node: Unique, emission: Emission, frame: Frame) -> Frame:
    by_value = not contains_any(node.type)
    if by_value and not frame.timed and not emission.needs_order(node):
        return Frame(frame.without_order_columns().df.distinct(), node.type)
    rows = numbered(frame.df, frame.order)
    rows = rows if by_value else with_canonical(node, rows, node.type)
    groups = rows.groupBy(*map(F.expr, frame.columns if by_value else [CANONICAL]))
    carried = [*([] if by_value else frame.columns), *([TIME] if frame.timed else [])]
    firsts = [f"min_by({column}, {ORDER}) AS {column}" for column in carried]
    distinct = groups.agg(*map(F.expr, [*firsts, f"min({ORDER}) AS {ORDER}"]))
    if emission.needs_order(node):
        return restored(node, emission, distinct, [ORDER], frame.columns, timed=frame.timed)
    return Frame(distinct, node.type, frame.timed).select(node.type, frame.columns)


@emits(KeyedStateOp, Unique)
def emit_unique_unbounded(node: Unique, emission: Emission, frame: Frame) -> Frame:
    """The element is the key, and the state is whether it has occurred."""
    element = Tuple(arguments(frame.type)) if isinstance(frame.type, Keyed) else frame.type
    keyed = Keyed(element, BOOL)
    firsts = in_buckets(node, emission, frame.select(keyed, [*frame.columns, "true"]), Firsts(), type_=keyed)
    return firsts.select(node.type, firsts.columns_under(0))


@emits(InOrderOp, UniqueWithin)
def emit_unique_within(node: UniqueWithin, emission: Emission, frame: Frame) -> Frame:
    return in_order(node, emission, frame, DeduplicateWithin(node.within))


@emits(TimersOp, UniqueWithin)
def emit_unique_within_unbounded(node: UniqueWithin, emission: Emission, frame: Frame) -> Frame:
    """Elements are emitted when they arrive. The state has only timestamps that are close enough to later elements."""
    assert node.time is not None
    bucket = DeduplicateBucket(
        DeduplicateByTime(node.within, key_of(frame.type)),
        origin(node),
        frame.type,
        node.type,
        fused_stage.dumps,
        stamps=True,
        direct=is_direct(node),
        keep_late=node.late is not None,
    )
    rows, where = by_bucket_of_key(node, emission, frame)
    return in_buckets_with_timers(node, emission, frame, rows, where, bucket, clock_of(node.time))

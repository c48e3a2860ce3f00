"""Rows grouped by key, to one row for each key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import Column, DataFrame, GroupedData
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark program uses

from morisot.compile.verdict import ColumnForm
from morisot.engines.spark.emit.core.emission import Emission
from morisot.engines.spark.emit.frames.frame import Frame
from morisot.engines.spark.emit.frames.sql import quoted
from morisot.engines.spark.emit.python.in_order import (
    CANONICAL,
    ORDER,
    numbered,
    restored,
    with_canonical,
)
from morisot.plan.nodes.aggregate import (
    Aggregation,
)
from morisot.plan.nodes.closure import Closure
from morisot.plan.nodes.node import Node
from morisot.types.element import BOOL, INT, Keyed, Type, contains_any, leaves


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
    names = [leaf.column for leaf in leaves(node.type)[-len(aggregated) :]]
    return grouped_to(node, emission, frame, dict(zip(names, aggregated, strict=True)), list(map(quoted, names)))


def grouped_to(
    node: Node, emission: Emission, frame: Frame, aggregates: Mapping[str, str], results: Sequence[str]
) -> Frame:
    """The same with expressions for the results, over the keys and the aggregates, which have names."""
    columns = [F.expr(each).alias(name) for name, each in aggregates.items()]
    if not isinstance(frame.type, Keyed):
        total = frame.df.agg(F.expr("count(1)").alias("rows"), *columns)
        return Frame(total.where("rows > 0"), node.type).select(node.type, results)
    needs_order = emission.needs_order(node)
    rows = in_stream_order(frame) if needs_order else frame
    groups, keys = by_key(node, rows)
    if needs_order:  # keys are in the order of their first elements
        df = groups.agg(*keys, *columns, F.expr(f"min({ORDER}) AS {ORDER}"))
        return restored(node, emission, df, [ORDER], [*frame.columns_under(0), *results])
    if keys:
        df = groups.agg(*keys, *columns)
    else:
        df = groups.agg(*columns) if columns else groups.agg(F.expr("count(1)").alias("rows"))
    return Frame(df, node.type).select(node.type, [*frame.columns_under(0), *results])


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


def in_stream_order(frame: Frame) -> Frame:
    """The frame without order columns, whose rows are numbered."""
    return Frame(numbered(frame.df, frame.order), frame.type, frame.timed)

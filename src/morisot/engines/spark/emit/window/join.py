"""Joins of windows: the rows of each side are assigned to windows, then joined natively by window."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark program uses

from morisot.engines.spark.emit.core.emission import Emission
from morisot.engines.spark.emit.core.registry import emits
from morisot.engines.spark.emit.frames.frame import TIME, Frame
from morisot.engines.spark.emit.frames.sql import quoted
from morisot.engines.spark.emit.python.in_order import CANONICAL, NUMBER, ORDER, numbered, with_canonical
from morisot.engines.spark.emit.window.count_window import positioned
from morisot.engines.spark.emit.window.grouping import END, POSITION, START, in_their_order, with_bounds
from morisot.engines.spark.emit.window.panes import exploded
from morisot.engines.spark.emit.window.session_window import begun, ended
from morisot.engines.spark.emit.window.time_window import clocked
from morisot.physical.ops import NativeJoinOp
from morisot.plan.nodes import window as plan
from morisot.plan.nodes.window import WindowJoin
from morisot.types.element import Keyed, contains_any

_SIDE = quoted("side")
_LEFT_ORDER, _RIGHT_ORDER = quoted("left_order"), quoted("right_order")


@emits(NativeJoinOp, WindowJoin)
def emit_window_join(node: WindowJoin, emission: Emission, left: Frame, right: Frame) -> Frame:
    frames = [clocked(node.kind, frame) for frame in (left, right)]
    named = [side(node, frame, name) for name, frame in zip(("left", "right"), frames, strict=True)]
    if isinstance(node.kind, plan.SessionKind):
        assigned = in_sessions(node.kind, *named)
    else:
        assigned = [assigned_side(node, each) for each in named]
    (left_rows, group), right_rows = (assigned[0], named[0][1]), assigned[1]
    (key, left_value), (_, right_value) = (columns_of(*each) for each in zip(frames, ("left", "right"), strict=True))
    right_rows = right_rows.selectExpr(
        *(f"{column} AS {quoted(f'other{index}')}" for index, column in enumerate(group)),
        f"{START} AS {quoted('other_start')}",
        f"{ORDER} AS {_RIGHT_ORDER}",
        *right_value,
    )
    same = [f"{column} <=> {quoted(f'other{index}')}" for index, column in enumerate(group)]
    pairs = left_rows.withColumnRenamed("order", "left_order").join(
        right_rows, F.expr(" AND ".join([*same, f"{START} = {quoted('other_start')}"]))
    )
    stamps = [f"{END} AS {TIME}"] if node.time is not None else []
    order = [END if node.kind.timed else START, _LEFT_ORDER, _RIGHT_ORDER]
    return in_their_order(node, emission, pairs, [*key, *with_bounds(node, [*left_value, *right_value])], stamps, order)


def columns_of(frame: Frame, name: str) -> tuple[list[str], list[str]]:
    """The names of the columns of the key and of the value in the rows of a side."""
    keyed = isinstance(frame.type, Keyed)
    key, value = (frame.columns_under(0), frame.columns_under(1)) if keyed else ([], frame.columns)
    return [quoted(f"key:{index}") for index in range(len(key))], [
        quoted(f"{name}:{index}") for index in range(len(value))
    ]


def side(node: WindowJoin, frame: Frame, name: str) -> tuple[DataFrame, list[str]]:
    """The rows of one side, numbered, with renamed columns, and the grouping columns of the key."""
    key, value = columns_of(frame, name)
    time = [TIME] if node.kind.timed else []
    columns = [*key, *value]
    if not by_canonical(node):
        renamed = [f"{leaf} AS {column}" for leaf, column in zip(frame.references_to(), columns, strict=True)]
        return frame.projected([*renamed, *time, f"{NUMBER} AS {ORDER}"]), key
    assert isinstance(frame.type, Keyed)
    rows = with_canonical(node, numbered(frame.df), frame.type.key)
    renamed = [f"{leaf} AS {column}" for leaf, column in zip(frame.columns, columns, strict=True)]
    return rows.selectExpr(*renamed, CANONICAL, *time, ORDER), [CANONICAL]


def by_canonical(node: WindowJoin) -> bool:
    """Whether keys are compared by canonical bytes, because Spark does not compare them as Python does."""
    if not isinstance(node.left.type, Keyed) or not isinstance(node.right.type, Keyed):
        return False
    return node.left.type.key != node.right.type.key or contains_any(node.left.type.key)


def assigned_side(node: WindowJoin, named: tuple[DataFrame, Sequence[str]]) -> DataFrame:
    """The rows of one side, once for each window that they are in."""
    df, group = named
    match node.kind:
        case plan.TimeKind(size, slide, offset):
            return exploded(df, TIME, size, slide, offset).selectExpr("*", f"{START} + {size}L AS {END}")
        case plan.CountKind(size, slide, exact):
            rows = exploded(positioned(df, group), POSITION, size, slide, 0).where(f"{START} >= 0")
            within = f"OVER (PARTITION BY {', '.join([*group, START])})"
            counted = rows.selectExpr("*", f"count(1) {within} AS `rows`")
            first_incomplete = "" if exact else f" OR {START} = 0 OR `rows` >= {size - slide}L"
            return counted.where(f"`rows` = {size}L{first_incomplete}").drop("rows", "position")
        case _:
            return df.selectExpr("*", f"0L AS {START}")


def in_sessions(
    kind: plan.SessionKind, left: tuple[DataFrame, list[str]], right: tuple[DataFrame, list[str]]
) -> list[DataFrame]:
    """Both sides with the bounds of their sessions, which have elements of both sides."""
    sides = [df.selectExpr("*", f"{number} AS {_SIDE}") for number, (df, _) in enumerate((left, right))]
    both = sides[0].unionByName(sides[1], allowMissingColumns=True)
    rows = ended(begun(both, left[1], kind.gap), left[1], kind.gap)
    return [
        rows.where(f"{_SIDE} = {number}").select(*(quoted(name) for name in [*df.columns, "start", "end"]))
        for number, (df, _) in enumerate((left, right))
    ]

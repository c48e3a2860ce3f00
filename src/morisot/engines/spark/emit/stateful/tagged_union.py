"""A tagged union of two streams, for operators with two inputs that process elements in row order."""

from __future__ import annotations

from morisot.engines.spark.emit.frames.frame import ROW_ORDER, Frame
from morisot.engines.spark.emit.frames.sql import quoted
from morisot.engines.spark.emit.frames.widen import as_type
from morisot.engines.spark.emit.python.fused_stage import dumps
from morisot.engines.spark.emit.sink import rebuilt
from morisot.plan.nodes.node import Node
from morisot.types import infer
from morisot.types.element import ANY, INT, NONE, Keyed, Tuple, Type, arguments, leaves


def both_sides(node: Node, left: Frame, right: Frame) -> Frame:
    """The elements of both streams as `(side, left, right)`, of which one is None, with their keys if they have any."""
    if isinstance(left.type, Keyed) and isinstance(right.type, Keyed):
        key = infer.unify(left.type.key, right.type.key)
        left, right = (as_type(frame, Keyed(key, arguments(frame.type)[-1]), node) for frame in (left, right))
    ordered = left.has_row_order or right.has_row_order
    first, second = (tagged(frame, side, (left, right), ordered) for side, frame in enumerate((left, right)))
    return first.over(first.df.unionAll(second.df))


def types_of_sides(frame: Frame) -> tuple[Type, Type]:
    """The types of the elements of both streams in such a frame, including None."""
    element = arguments(frame.type)[-1]
    assert isinstance(element, Tuple)
    _, left, right = element.items
    return left, right


def tagged(frame: Frame, side: int, sides: tuple[Frame, Frame], ordered: bool) -> Frame:
    """The tagged elements of one side."""
    values = [infer.unify(arguments(each.type)[-1], NONE) for each in sides]
    type_: Type = Tuple((INT, *values))
    key: list[str] = []
    path: tuple[int, ...] = ()
    if isinstance(frame.type, Keyed):
        type_, key, path = Keyed(frame.type.key, type_), frame.columns_under(0), (1,)
    nothing = [f"X'{dumps(None).hex()}'" if value == ANY else "NULL" for value in values]
    own = rebuilt(path, arguments(frame.type)[-1], frame.columns_under)
    parts = [own, nothing[1]] if side == 0 else [nothing[0], own]
    columns = [
        f"{expression} AS {quoted(leaf.column)}"
        for expression, leaf in zip([*key, f"{side}L", *parts], leaves(type_), strict=True)
    ]
    empty = [] if frame.has_row_order or not ordered else [f"X'' AS {ROW_ORDER}"]
    return Frame(frame.df.selectExpr(*columns, *frame.hidden, *empty), type_, frame.timed, ordered)

"""Two streams as one of marked elements, for operators with two inputs that see elements one after the other."""

from __future__ import annotations

from morisot.engines.spark.emit.frames.frame import PLACE, Frame
from morisot.engines.spark.emit.frames.sql import quoted
from morisot.engines.spark.emit.frames.widen import as_type
from morisot.engines.spark.emit.python.fused_stage import dumps
from morisot.engines.spark.emit.sink import rebuilt
from morisot.plan.nodes.node import Node
from morisot.types import infer
from morisot.types.element import ANY, INT, NONE, Keyed, Tuple, Type, arguments, leaves


def both_sides(node: Node, left: Frame, right: Frame) -> Frame:
    """The elements of both streams as `(side, left, right)`, of which one is None; keyed streams keep their keys."""
    if isinstance(left.type, Keyed) and isinstance(right.type, Keyed):
        key = infer.unify(left.type.key, right.type.key)
        left, right = (as_type(frame, Keyed(key, arguments(frame.type)[-1]), node) for frame in (left, right))
    placed = left.placed or right.placed
    first, second = (marked(frame, side, (left, right), placed) for side, frame in enumerate((left, right)))
    return first.over(first.df.unionAll(second.df))


def types_of_sides(frame: Frame) -> tuple[Type, Type]:
    """The types of the elements of both streams in such a frame, None among them."""
    element = arguments(frame.type)[-1]
    assert isinstance(element, Tuple)
    _, left, right = element.items
    return left, right


def marked(frame: Frame, side: int, sides: tuple[Frame, Frame], placed: bool) -> Frame:
    """The elements of one side."""
    values = [infer.unify(arguments(each.type)[-1], NONE) for each in sides]
    type_: Type = Tuple((INT, *values))
    key: list[str] = []
    path: tuple[int, ...] = ()
    if isinstance(frame.type, Keyed):
        type_, key, path = Keyed(frame.type.key, type_), frame.columns_under(0), (1,)
    nothing = [f"X'{dumps(None).hex()}'" if value == ANY else "NULL" for value in values]
    own = rebuilt(path, arguments(frame.type)[-1], frame)
    parts = [own, nothing[1]] if side == 0 else [nothing[0], own]
    columns = [
        f"{expression} AS {quoted(leaf.column)}"
        for expression, leaf in zip([*key, f"{side}L", *parts], leaves(type_), strict=True)
    ]
    place = [] if frame.placed or not placed else [f"X'' AS {PLACE}"]
    return Frame(frame.df.selectExpr(*columns, *frame.hidden, *place), type_, frame.timed, placed)

"""A frame's elements as those of a wider type: natively where the columns allow it, in Python otherwise."""

from __future__ import annotations

from morisot.engines.spark.emit.frames.frame import Frame
from morisot.engines.spark.emit.frames.sql import quoted
from morisot.engines.spark.emit.python import fused_stage
from morisot.engines.spark.emit.sink import rebuilt
from morisot.plan.nodes.node import Node
from morisot.types.element import Keyed, Optional, Tuple, Type, leaves
from morisot.worker.rowwise.stage import Step


def as_type(frame: Frame, type_: Type, node: Node) -> Frame:
    """The frame with the columns of another type that holds its values unchanged."""
    if frame.type == type_:
        return frame
    columns = widened((), frame.type, type_, frame)
    if columns is not None:
        return frame.select(type_, columns)
    step = Step("same", node.operator, node.location, keyed=isinstance(frame.type, Keyed))
    return fused_stage.run(frame, [step], type_)


def widened(path: tuple[int, ...], source: Type, target: Type, frame: Frame) -> list[str] | None:
    """The columns of the wider type, from those of one part of the frame; None if Python must make them."""
    if source == target:
        return [quoted(leaf.column) for leaf in leaves(frame.type) if leaf.path[: len(path)] == path]
    if isinstance(target, Optional) and target.inner == source:
        return [rebuilt(path, source, frame)]
    same_product = type(source) is type(target) and isinstance(source, Tuple | Keyed)
    if not same_product or len(source.children) != len(target.children):
        return None
    columns: list[str] = []
    for index, ((_, narrow), (_, wide)) in enumerate(zip(source.children, target.children, strict=True)):
        part = widened((*path, index), narrow, wide, frame)
        if part is None:
            return None
        columns += part
    return columns

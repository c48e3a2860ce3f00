"""Converts the elements of a frame to a wider type: natively if the columns allow it, else in Python."""

from __future__ import annotations

from morisot.engines.spark.emit.frames.frame import Frame
from morisot.engines.spark.emit.frames.sql import quoted
from morisot.engines.spark.emit.python import fused_stage
from morisot.engines.spark.emit.sink import rebuilt
from morisot.physical.widening import widens_by_columns
from morisot.plan.nodes.node import Node
from morisot.types.element import Keyed, Optional, Type, leaves
from morisot.worker.rowwise.steps import Step


def as_type(frame: Frame, type_: Type, node: Node) -> Frame:
    """The frame with the columns of a wider type, which holds its values unchanged."""
    if frame.type == type_:
        return frame
    if widens_by_columns(frame.type, type_):
        return frame.select(type_, widened((), frame.type, type_, frame))
    step = Step("same", node.operator, node.location, keyed=isinstance(frame.type, Keyed))
    return fused_stage.run(frame, [step], type_)


def widened(path: tuple[int, ...], source: Type, target: Type, frame: Frame) -> list[str]:
    """The columns of the wider type, from those of one part of the frame."""
    if source == target:
        return [quoted(leaf.column) for leaf in leaves(frame.type) if leaf.path[: len(path)] == path]
    if isinstance(target, Optional):
        return [rebuilt(path, source, frame.columns_under)]
    pairs = zip(source.children, target.children, strict=True)
    return [
        column
        for index, ((_, narrow), (_, wide)) in enumerate(pairs)
        for column in widened((*path, index), narrow, wide, frame)
    ]

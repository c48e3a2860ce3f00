"""Converts the elements of a frame to a narrower type, of which some parts are not None."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from morisot.engines.spark.emit.frames.frame import Frame
from morisot.engines.spark.emit.frames.sql import quoted
from morisot.types.element import Type, leaves
from morisot.types.narrowing import has_same_columns
from morisot.worker.codec.batches import field_name


def as_narrower(frame: Frame, type_: Type) -> Frame:
    """The frame with the columns of a narrower type, which holds its values unchanged."""
    if has_same_columns(frame.type, type_):
        return dataclasses.replace(frame, type=type_)
    return frame.select(type_, narrowed(frame.columns, frame.type, type_))


def narrowed(columns: Sequence[str], source: Type, target: Type) -> list[str]:
    """The columns of the narrower type, from those of a part of the frame. An optional product is one struct."""
    if not source.children:
        (column,) = columns
        return spread(column, target)
    found: list[str] = []
    for (_, wide), (_, narrow) in zip(source.children, target.children, strict=True):
        count = len(leaves(wide))
        found += narrowed(columns[:count], wide, narrow)
        columns = columns[count:]
    return found


def spread(column: str, type_: Type) -> list[str]:
    """The leaves inside a struct column."""
    if not type_.children:
        return [column]
    return [
        leaf for name, child in type_.children for leaf in spread(f"{column}.{quoted(field_name(type_, name))}", child)
    ]

"""Adding and removing keys: columns are added or removed, without a shuffle."""

from __future__ import annotations

from morisot.engines.spark.emit.core.emission import Emission
from morisot.engines.spark.emit.core.registry import emits
from morisot.engines.spark.emit.frames.frame import Frame
from morisot.physical.ops import ColumnsOp
from morisot.plan.nodes.keyed import KeyBy, Unkey
from morisot.types.element import Keyed


@emits(ColumnsOp, KeyBy)
def emit_key_by(node: KeyBy, emission: Emission, frame: Frame) -> Frame:
    at = (1,) if isinstance(frame.type, Keyed) else ()
    form = emission.column_form(node, node.key)
    assert form is not None, "a key without a column form should have been a stage"
    frame, key = frame.composable(form, at)
    return frame.compose(node.type, [*key, *frame.references_to(*at)])


@emits(ColumnsOp, Unkey)
def emit_unkey(node: Unkey, emission: Emission, frame: Frame) -> Frame:
    parts = {"both": (), "key": (0,), "value": (1,)}
    return frame.compose(node.type, frame.references_to(*parts[node.keep]))

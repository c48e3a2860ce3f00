"""Row-wise operators whose functions have column forms; `python.fused_stage` runs the others."""

from __future__ import annotations

from collections.abc import Sequence

from morisot.compile.ir.truth import truth
from morisot.compile.verdict import ColumnForm
from morisot.engines.spark.emit.core.emission import Emission
from morisot.engines.spark.emit.core.registry import emits
from morisot.engines.spark.emit.frames.frame import Frame
from morisot.engines.spark.emit.frames.narrow import as_narrower, spread
from morisot.engines.spark.emit.frames.sql import quoted, render
from morisot.physical.ops import ColumnsOp
from morisot.plan.nodes.closure import Closure
from morisot.plan.nodes.rowwise import Filter, FilterMap, FlatMap, Flatten, Map, MapMemo, Rowwise
from morisot.plan.nodes.state import WithoutIds
from morisot.types.element import Keyed, arguments, leaves

_EXPLODED = quoted("item")


@emits(ColumnsOp, Map, WithoutIds)
def emit_map(node: Map | MapMemo, emission: Emission, frame: Frame) -> Frame:
    frame, values = frame.composable(compiled(node, node.function, emission, frame))
    key = frame.references_to(0) if isinstance(frame.type, Keyed) else []
    return frame.compose(node.type, [*key, *values])


@emits(ColumnsOp, MapMemo)
def emit_map_memo(node: MapMemo, emission: Emission, frame: Frame) -> Frame:
    """Caching results is useless for an expression, so it is a map."""
    return emit_map(node, emission, frame)


@emits(ColumnsOp, Filter)
def emit_filter(node: Filter, emission: Emission, frame: Frame) -> Frame:
    form = compiled(node, node.predicate, emission, frame)
    widened, _ = frame.composable(form)
    filtered = widened.filtered(render(truth(form.result), widened.references()))
    kept = filtered.compose(frame.type, filtered.references_to()) if form.shared else filtered
    return as_narrower(kept, node.type)


@emits(ColumnsOp, FilterMap)
def emit_filter_map(node: FilterMap, emission: Emission, frame: Frame) -> Frame:
    """The result may be a product that is None: it is one struct until the None are filtered out."""
    form = compiled(node, node.function, emission, frame)
    frame, (value, *rest) = frame.evaluate(form, frame.names())
    if rest or form.result.expr is None:  # a product that is never None drops nothing
        return frame.select(node.type, [*key_columns(frame), value, *rest])
    key = key_columns(frame)
    computed = frame.df.selectExpr(*key, f"{value} AS {_EXPLODED}", *frame.hidden).where(f"{_EXPLODED} IS NOT NULL")
    results = frame.over(computed, node.type)
    return results.select(node.type, [*key, *spread(_EXPLODED, arguments(node.type)[-1])])


@emits(ColumnsOp, FlatMap)
def emit_flat_map(node: FlatMap, emission: Emission, frame: Frame) -> Frame:
    frame, (items,) = evaluate(node, node.function, emission, frame)
    return exploded(node, frame, items)


@emits(ColumnsOp, Flatten)
def emit_flatten(node: Flatten, emission: Emission, frame: Frame) -> Frame:
    (items,) = frame.columns[-1:]
    return exploded(node, frame, items)


def exploded(node: Rowwise, frame: Frame, items: str) -> Frame:
    """One row for each item of an array, in order."""
    key = key_columns(frame)
    item = arguments(node.type)[-1]
    if not item.children:
        (leaf,) = leaves(node.type)[-1:]
        rows = frame.df.selectExpr(*key, f"explode({items}) AS {quoted(leaf.column)}", *frame.hidden)
        return frame.over(rows, node.type)
    rows = frame.df.selectExpr(*key, f"explode({items}) AS {_EXPLODED}", *frame.hidden)
    return frame.over(rows, node.type).select(node.type, [*key, *spread(_EXPLODED, item)])


def key_columns(frame: Frame) -> Sequence[str]:
    """The columns of the key of a keyed stream, which row-wise operators do not change."""
    return frame.columns_under(0) if isinstance(frame.type, Keyed) else ()


def compiled(node: Rowwise, closure: Closure, emission: Emission, frame: Frame) -> ColumnForm:
    form = emission.column_form(node, closure)
    assert form is not None, f"{node.operator} has no column form and should have been a stage"
    return form


def evaluate(node: Rowwise, closure: Closure, emission: Emission, frame: Frame) -> tuple[Frame, list[str]]:
    """The closure's result over the stream's elements, one expression for each leaf."""
    return frame.evaluate(compiled(node, closure, emission, frame), frame.names())

"""Windows that run in Python, element by element. Only accumulated values are stored."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pyspark.sql import DataFrame

from morisot.engines.spark.emit.core.emission import Emission
from morisot.engines.spark.emit.frames import schema
from morisot.engines.spark.emit.frames.frame import TIME, Frame
from morisot.engines.spark.emit.frames.sql import quoted
from morisot.engines.spark.emit.python.fused_stage import dumps, in_worker
from morisot.engines.spark.emit.python.in_order import ORDER, gathered, grouped_by_key, in_order, numbered, origin
from morisot.engines.spark.emit.python.pickling import check_travels
from morisot.engines.spark.emit.window.grouping import END, START, in_their_order, with_bounds
from morisot.engines.spark.emit.window.measures import in_python
from morisot.engines.spark.emit.window.panes import exploded
from morisot.engines.spark.emit.window.session_window import begun, ended
from morisot.engines.spark.emit.window.time_window import clocked
from morisot.plan.nodes import window as plan
from morisot.plan.nodes.window import Window
from morisot.types.element import INT, Keyed, Tuple, leaves
from morisot.worker.stateful import windows
from morisot.worker.stateful.count_windows import TumblingCount
from morisot.worker.stateful.machine import ORDER_COLUMNS, InOrder, Machine
from morisot.worker.stateful.windows import Windower, Windows

_WINDOWERS: dict[type[plan.WindowKind], Callable[[Any, Window], Windower]] = {
    plan.CountKind: lambda kind, _: windows.Counted(kind.size, kind.slide, kind.exact),
    plan.AllKind: lambda _kind, _: windows.Everything(),
    plan.LastKind: lambda kind, _: windows.LastFew(kind.k),
    plan.TransactionKind: lambda kind, node: windows.Transactions(kind.function.function, node.input.time),
    plan.CustomKind: lambda kind, node: windows.Own(kind.window, node.input.time),
}


def emit_in_python(node: Window, emission: Emission, frame: Frame) -> Frame:
    """Windows of time are grouped by window. Other windows depend on the order of a key's elements."""
    if node.kind.timed:
        return window_by_window(node, emission, frame)
    return in_order(node, emission, frame, machine_in_order(node))


def machine_in_order(node: Window) -> Machine:
    """The machine of windows that depend on the order of a key's elements."""
    match node.kind:
        case plan.CountKind(size, slide, exact=True) if size == slide:
            row = node.row.cls if node.row else None
            return TumblingCount(size, in_python(node), row, node.bounds, node.time is not None, origin(node))
    windower = _WINDOWERS[type(node.kind)](node.kind, node)
    return machine(node, windower, node.bounds, node.time is not None)


def machine(node: Window, windower: Windower, bounds: bool, stamps: bool) -> Windows:
    row = node.row.cls if node.row else None
    return Windows(windower, in_python(node), row, bounds, stamps, origin(node), node.completes_at_end)


def window_by_window(node: Window, emission: Emission, frame: Frame) -> Frame:
    """Shuffles the rows by window: a task processes one window at a time, even of a large key."""
    for _, closure in node.closures:
        check_travels(closure)
    rows, group = by_window(node, frame)
    rows = gathered(emission, rows, [*group, START], [ORDER])
    keyed = isinstance(frame.type, Keyed)
    key_type = Tuple((frame.type.key, INT, INT)) if isinstance(frame.type, Keyed) else Tuple((INT, INT))
    key, value = (frame.columns_under(0), frame.columns_under(1)) if keyed else ([], frame.columns)
    input_type, output_type = Keyed(key_type, node.element), Keyed(key_type, node.result)
    names = [quoted(leaf.column) for leaf in leaves(input_type)]
    columns = [f"{c} AS {name}" for c, name in zip([*key, START, END, *value], names, strict=True)]
    ordered = emission.needs_order(node)
    one_window = machine(node, windows.Everything(), bounds=False, stamps=False)
    task = InOrder(one_window, origin(node), input_type, output_type, dumps, False, False, ordered, by_key=True)
    hidden = [quoted(name) for name in ORDER_COLUMNS] if ordered else []
    row_order = [ORDER] if ordered else []
    results = rows.selectExpr(*columns, *row_order).mapInArrow(in_worker(task), schema.ddl(output_type, *hidden))
    return named(node, emission, results, output_type)


def named(node: Window, emission: Emission, results: DataFrame, output: Keyed) -> Frame:
    """The results of windows, whose bounds are the last two parts of their key."""
    assert isinstance(output.key, Tuple)
    found = Frame(results, output)
    *_, start, end = found.columns_under(0)
    bounds = [f"{start} AS {START}", f"{end} AS {END}"]
    key = found.columns_under(0, 0) if node.input.keyed else []
    order = ["`first`"] if emission.needs_order(node) else []
    rows = results.selectExpr(*key, *bounds, *found.columns_under(1), *order)
    stamps = [f"{END} AS {TIME}"] if node.time is not None else []
    expressions = [*key, *with_bounds(node, found.columns_under(1))]
    return in_their_order(node, emission, rows, expressions, stamps, [END, *order])


def by_window(node: Window, frame: Frame) -> tuple[DataFrame, Sequence[str]]:
    """Each row once for every window that it is in, with the window's bounds, and the grouping columns of the key."""
    timed = clocked(node.kind, frame)
    rows, group = numbered(timed.df, timed.order), list[str]()
    if node.input.keyed:
        rows, group = grouped_by_key(node, rows, frame.type)
    match node.kind:
        case plan.TimeKind(size, slide, offset):
            return exploded(rows, TIME, size, slide, offset).selectExpr("*", f"{START} + {size}L AS {END}"), group
        case plan.SessionKind(gap):
            return ended(begun(rows, group, gap), group, gap), group
    raise AssertionError(f"{node.kind} has no windows of time")

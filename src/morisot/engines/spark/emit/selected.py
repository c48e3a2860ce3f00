"""Aggregates that select one element of each group, as far as it is read."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import functions as F  # noqa: N812 - the name every Spark program uses

from morisot.compile.aggregates.extremes import ACCUMULATOR, NativeExtreme
from morisot.compile.aggregates.folds import leaf_values
from morisot.compile.ir.expressions import Input
from morisot.engines.spark.emit.core.emission import Emission
from morisot.engines.spark.emit.core.registry import emits
from morisot.engines.spark.emit.frames.frame import ORDERS, Frame, unquoted
from morisot.engines.spark.emit.frames.guards import NAN, guard_of_rung
from morisot.engines.spark.emit.frames.sql import guard, literal, quoted, render
from morisot.engines.spark.emit.groups import by_key, grouped_to, in_stream_order, value_column
from morisot.engines.spark.emit.python.in_order import (
    NUMBER,
    ORDER,
    restored,
    reversed_order,
)
from morisot.physical.choose.aggregate import FoldNode
from morisot.physical.ops import UNREAD, NativeAggregateOp, Selection
from morisot.plan.nodes.aggregate import (
    Aggregation,
    First,
    MaxElement,
    MinElement,
    Reduce,
    ReduceAssoc,
)
from morisot.types.element import FLOAT, Keyed, Optional, Type

_VALUE, _CHOSEN, _PACKED = quoted("by"), quoted("chosen"), quoted("packed")
_ROW_BITS, _PARTITION_BITS = 27, 7
"""The bits of the numbers of rows and partitions in one int: 134 million rows in each of 128 partitions."""


@emits(NativeAggregateOp, MinElement)
def emit_min_element(node: MinElement, emission: Emission, frame: Frame) -> Frame:
    return chosen(node, emission, frame, "min_by", ORDER)


@emits(NativeAggregateOp, MaxElement)
def emit_max_element(node: MaxElement, emission: Emission, frame: Frame) -> Frame:
    return chosen(node, emission, frame, "max_by", reversed_order(frame.order))


@emits(NativeAggregateOp, First)
def emit_first(node: First, emission: Emission, frame: Frame) -> Frame:
    return picked(node, emission, in_stream_order(frame), f"min_by({{0}}, {ORDER})")


def extreme(node: FoldNode, emission: Emission, frame: Frame, fold: NativeExtreme) -> Frame:
    """A fold that selects one of its elements: by its key, and then by row order."""
    at = (1,) if isinstance(frame.type, Keyed) else ()
    selection = emission.plan.choices[node].selection
    if selection is not None and not selection.observes_order:
        return any_of_equal(node, emission, frame, selection, "max" if fold.largest else "min")
    key = render(fold.key, frame.names((), at))
    if fold.is_float:
        key = f"CASE WHEN isnan({key}) THEN {guard(NAN)} ELSE {key} + 0.0D END"  # 0.0 and -0.0 are equal keys
    rows = in_stream_order(frame.over(frame.df.selectExpr(*frame.columns, *frame.hidden, f"{key} AS {_VALUE}")))
    tie = ORDER if fold.largest == fold.last else reversed_order(frame.order)
    by = "max_by" if fold.largest else "min_by"
    best = picked(node, emission, rows, f"{by}({{0}}, struct({_VALUE}, {tie}))")
    return best if isinstance(node, ReduceAssoc | Reduce) else from_start(best, fold, at)


def from_start(best: Frame, fold: NativeExtreme, at: tuple[int, ...]) -> Frame:
    """The initial value if it wins against the best of the elements."""
    own = best.leaves_under(*at)
    type_ = best.type.value if isinstance(best.type, Keyed) else best.type
    starts = {
        leaf.path: literal(value, leaf.type) for leaf, value in zip(own, leaf_values(fold.init, type_), strict=True)
    }
    names = best.names((), at)

    def name_of(leaf: Input) -> str:
        return starts[*at, *leaf.path] if leaf.parameter == ACCUMULATOR else names(leaf)

    wins = render(fold.keeps, name_of)
    columns = [quoted(leaf.column) for leaf in best.leaves_under() if leaf not in own]
    columns += [f"CASE WHEN {wins} THEN {starts[leaf.path]} ELSE {quoted(leaf.column)} END" for leaf in own]
    return best.select(best.type, columns)


def chosen(node: MinElement | MaxElement, emission: Emission, frame: Frame, by: str, tie: str) -> Frame:
    """The first element by a value; of equal values the first in row order."""
    selection = emission.plan.choices[node].selection
    if selection is not None and not selection.observes_order:
        return any_of_equal(node, emission, frame, selection, by.removesuffix("_by"))
    if selection is not None and selection.rung == "packed":
        return packed(node, emission, frame, selection, by.removesuffix("_by"))
    columns = [*frame.columns, *frame.order]
    frame, value, value_type = value_column(node, node.value, emission, frame)
    if value_type == FLOAT:  # Python's min() and max() depend on the position of a NaN
        value = f"CASE WHEN isnan({value}) THEN {guard(NAN)} ELSE {value} END"
    rows = Frame(frame.df.selectExpr(*columns, f"{value} AS {_VALUE}"), frame.type, order=frame.order)
    return picked(node, emission, in_stream_order(rows), f"{by}({{0}}, struct({_VALUE}, {tie}))")


def any_of_equal(node: Aggregation, emission: Emission, frame: Frame, selection: Selection, extreme: str) -> Frame:
    """The leaves of the selected element that are read, as plain aggregates: they do not depend on the row order."""

    def best(column: str, how: str, type_: Type) -> str:
        return agreed(column, isinstance(type_, Optional)) if how == "guarded" else f"{extreme}({column})"

    aggregates, results = selected_leaves(frame, selection, best)
    return grouped_to(node, emission, frame, aggregates, results)


def selected_leaves(
    frame: Frame,
    selection: Selection,
    aggregate: Callable[[str, str, Type], str],
    result: Callable[[str], str] = lambda column: column,
) -> tuple[dict[str, str], list[str]]:
    """The aggregates of the leaves that are read, by column, and an expression over them for each leaf."""
    keyed = isinstance(frame.type, Keyed)
    keys = frame.columns_under(0) if keyed else []
    aggregates: dict[str, str] = {}
    results: list[str] = []
    for leaf in frame.leaves_under(*((1,) if keyed else ())):
        column, part = quoted(leaf.column), selection.parts[leaf.path[1:] if keyed else leaf.path]
        match part.how:
            case "unread":
                results.append(literal(None, leaf.type))
            case "key":
                results.append(keys[part.index])
            case how:
                aggregates[leaf.column] = aggregate(column, how, leaf.type)
                results.append(result(column))
    return aggregates, results


def packed(
    node: MinElement | MaxElement, emission: Emission, frame: Frame, selection: Selection, extreme: str
) -> Frame:
    """The selected element by the value and the last number of the row order, as one int: Spark keeps it in a hash map.

    The elements of a group must agree in the other numbers of the row order.
    """
    if not frame.order:
        frame = Frame(frame.df.selectExpr("*", f"{NUMBER} AS {ORDERS[0]}"), frame.type, order=ORDERS[:1])
    others, last = frame.order[:-1], frame.order[-1]
    base = [*frame.columns, *frame.order]
    frame, value, _ = value_column(node, node.value, emission, frame)
    compared = as_one_int(_VALUE, last, largest=extreme == "max")
    rows = frame.df.selectExpr(*base, f"{value} AS {_VALUE}").selectExpr("*", f"{compared} AS {_PACKED}")
    aggregates = {f"{kind}/{unquoted(name)}": f"{kind}({name})" for name in others for kind in ("min", "max")}
    same = [f"{quoted(f'min/{name}')} <=> {quoted(f'max/{name}')}" for name in map(unquoted, others)]
    other = guard_of_rung("elements of a group have several keys")

    def best(column: str, how: str, _: Type) -> str:
        return extreme + (f"({column})" if how == "compared" else f"_by({column}, {_PACKED})")

    def checked(column: str) -> str:
        return f"CASE WHEN {' AND '.join(same)} THEN {column} ELSE {other} END" if same else column

    selected, results = selected_leaves(frame, selection, best, checked)
    return grouped_to(node, emission, Frame(rows, frame.type, order=frame.order), {**aggregates, **selected}, results)


def as_one_int(value: str, number: str, *, largest: bool) -> str:
    """A value and the number of a row as one int: of the values, the first row has the extreme one.

    The number of a row has that of its partition above its 33 lower bits. The value is above both.
    """
    row, partition = f"({number} & {2**33 - 1}L)", f"shiftright({number}, 33)"
    bits = _ROW_BITS + _PARTITION_BITS
    dense = f"({partition} * {2**_ROW_BITS}L + {row})"
    most = 2 ** (62 - bits)
    fits = f"{value} BETWEEN {-most}L AND {most}L AND {row} < {2**_ROW_BITS}L AND {partition} < {2**_PARTITION_BITS}"
    one = f"{value} * {2**bits}L {'-' if largest else '+'} {dense}"
    return f"CASE WHEN {fits} THEN {one} ELSE {guard_of_rung('a value or a row order is too large')} END"


def agreed(column: str, optional: bool) -> str:
    """The value of a column that is the same for all elements of a group."""
    same = f"min({column}) <=> max({column})"
    same = f"{same} AND count({column}) IN (0, count(1))" if optional else same
    return f"CASE WHEN {same} THEN min({column}) ELSE {guard_of_rung('elements of a group differ')} END"


def picked(node: Aggregation, emission: Emission, rows: Frame, best: str) -> Frame:
    """The element (of each key) that an aggregate of whole rows selects. The rows are numbered."""
    parts = unread_parts(node, emission, rows)
    element = [*(rows.columns_under(1) if isinstance(rows.type, Keyed) else rows.columns), *rows.hidden]
    fields = ", ".join(f"{column} AS c{index}" for index, column in enumerate(element) if column not in parts)
    choice = F.expr(f"{best.format(f'struct({fields or 1})')} AS {_CHOSEN}")
    values = [f"{parts.get(column, f'{_CHOSEN}.c{index}')} AS {column}" for index, column in enumerate(element)]
    if not isinstance(rows.type, Keyed):
        df = rows.df.agg(choice).where(f"{_CHOSEN} IS NOT NULL")
        return Frame(df.selectExpr(*values), node.type, rows.timed)
    groups, keys = by_key(node, rows)
    if not emission.needs_order(node):
        return Frame(groups.agg(*keys, choice).selectExpr(*rows.columns_under(0), *values), node.type, rows.timed)
    df = groups.agg(*keys, choice, F.expr(f"min({ORDER}) AS {ORDER}"))
    df = df.selectExpr(*rows.columns_under(0), *values, ORDER)
    return restored(node, emission, df, [ORDER], rows.columns, timed=rows.timed)


def unread_parts(node: Aggregation, emission: Emission, rows: Frame) -> dict[str, str]:
    """The values of the columns of a selected element that no later operator reads."""
    selection = emission.plan.choices[node].selection
    if selection is None:
        return {}
    leaves_ = rows.leaves_under(*((1,) if isinstance(rows.type, Keyed) else ()))
    paths = {leaf.path[1:] if isinstance(rows.type, Keyed) else leaf.path: leaf for leaf in leaves_}
    unread = (path for path, part in selection.parts.items() if part == UNREAD)
    return {quoted(paths[path].column): literal(None, paths[path].type) for path in unread}

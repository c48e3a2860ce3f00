"""The measures of windows: as native aggregates if they give exactly Python's results, else in Python.

A native measure has three steps, so that a window can be merged from panes: aggregates over rows, aggregates over
those of several panes, and the result.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from morisot.compile.aggregates.extremes import ACCUMULATOR, NativeExtreme
from morisot.compile.aggregates.folds import FoldPart, NativeFold, leaf_values
from morisot.compile.ir.expressions import Expr, Input, Shared, rebuilt
from morisot.compile.ir.values import pack, parameter
from morisot.compile.verdict import ColumnForm, Refusal
from morisot.engines.spark.emit.aggregate import joined_start
from morisot.engines.spark.emit.core.emission import Emission
from morisot.engines.spark.emit.frames.frame import Frame
from morisot.engines.spark.emit.frames.guards import MISSING, NAN
from morisot.engines.spark.emit.frames.sql import NameOf, guard, literal, quoted, render
from morisot.engines.spark.emit.python.fused_stage import dumps
from morisot.engines.spark.emit.python.in_order import ORDER, reversed_order
from morisot.physical.choose.window import recognised_fold
from morisot.plan.nodes.window import Measure, Window
from morisot.plan.on_error import Divert
from morisot.types.element import ANY, BOOL, FLOAT, NONE, Optional, Type, leaves
from morisot.worker.aggregate.accumulators import (
    Accumulates,
    CountAccumulator,
    CustomAccumulator,
    ExtremeAccumulator,
    FoldAccumulator,
    Function,
    ListAccumulator,
    MeanAccumulator,
    ReduceAccumulator,
    SkippingAccumulator,
    SumAccumulator,
    earlier,
    itself,
    later,
)

_EXACT = 2**53
"""The limit up to which every integer is exactly a double."""


# -- in Python -------------------------------------------------------------------------------------------------------


def in_python(node: Window) -> tuple[Accumulates, ...]:
    """The accumulators of a window's measures, for workers."""
    return tuple(_in_python(measure, node.element) for measure in node.measures)


def _in_python(measure: Measure, element: Type) -> Accumulates:
    if measure.accumulator is not None:
        own = measure.accumulator
        return CustomAccumulator(own.start, own.add, own.finish)
    plain = _plain_measure(measure, element)
    if not measure.leaves_out:
        return plain
    assert isinstance(plain, FoldAccumulator | ReduceAccumulator), f"{measure.kind} does not skip elements"
    assert measure.function is not None
    operator, location = measure.function.operator, measure.function.location
    return SkippingAccumulator(plain, operator, location, isinstance(measure.on_error, Divert), dumps, element)


def _plain_measure(measure: Measure, element: Type) -> Accumulates:
    function: Function = itself if measure.function is None else measure.function.function
    result = measure.type
    match measure.kind:
        case "count":
            return CountAccumulator()
        case "sum":
            return SumAccumulator(function)
        case "mean":
            return MeanAccumulator(function)
        case "min" | "max":
            return ExtremeAccumulator(function, largest=measure.kind == "max", whole=False, type=result)
        case "min_element" | "max_element":
            return ExtremeAccumulator(function, largest=measure.kind == "max_element", whole=True, type=element)
        case "first" | "last":
            return ReduceAccumulator(later if measure.kind == "last" else earlier, element, exact=True)
        case "fold":
            return FoldAccumulator(measure.init, function, result)
        case "reduce":
            return ReduceAccumulator(function, result)
        case "map":
            return ListAccumulator(function, element)
        case "custom":
            raise AssertionError("a user-defined accumulator is its own measure")


# -- natively --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class AggregateColumn:
    """An intermediate column: an aggregate over rows, and the aggregate that merges it; `{}` is the column."""

    column: str
    of_rows: str
    merge: str


class Compared(NamedTuple):
    """The column of the values that are compared, and the aggregate of the best one: `min` or `max`."""

    column: str
    extreme: str


@dataclass(frozen=True)
class NativeMeasure:
    """A measure as native aggregates. `finish` has an expression for each leaf of the result."""

    steps: tuple[AggregateColumn, ...]
    finish: tuple[str, ...]
    ordered: bool = False
    """Whether the rows must be numbered."""
    shared: tuple[tuple[str, str], ...] = ()
    """Columns that are computed of the aggregates, each from those before it, and that `finish` reads."""
    compared: Compared | None = None
    """The values of which the selected element has the extreme, if it selects one by a value."""


class Columns:
    """The rows of a frame with the values that the measures of a window aggregate."""

    def __init__(self, node: Window, emission: Emission, frame: Frame) -> None:
        self.node = node
        self.emission = emission
        self.frame = frame
        self.order = frame.order
        self.at = (1,) if node.input.keyed else ()
        self.element = frame.columns_under(*self.at)
        self.base = [*frame.columns, *frame.hidden]
        self.added: list[str] = []

    def add(self, frame: Frame, expression: str) -> str:
        """Adds a column, and returns its name. `frame` is this frame with the shared values of the expression."""
        name = quoted(f"of{len(self.added)}")
        df = frame.df.selectExpr(*self.base, *self.added, f"{expression} AS {name}")
        self.added.append(name)
        self.frame = Frame(df, self.frame.type, self.frame.timed)
        return name

    def value(self, measure: Measure) -> tuple[str, Type]:
        """The column of a measure's values, and their type. A bool counts as an int."""
        if measure.function is None:
            (column,), type_ = self.element, self.node.element
            if isinstance(type_, Optional):
                column = f"CASE WHEN {column} IS NOT NULL THEN {column} ELSE {guard(MISSING)} END"
                type_ = type_.inner
        else:
            form = self.emission.column_form(self.node, measure.function)
            assert form is not None, "a measure without a native form should have run in Python"
            frame, (expression,) = self.frame.evaluate(form, self.frame.names(self.at))
            column, type_ = self.add(frame, expression), form.type
        return column, type_

    def part(self, frame: Frame, part: FoldPart, name_of: NameOf) -> str:
        """The column of one part of a fold. It is NULL, which aggregates ignore, where its condition does not hold."""
        operand = render(part.operand, name_of)
        if part.type == FLOAT:
            operand = plain_float(operand)
        if part.condition is not None:
            operand = f"CASE WHEN {render(part.condition, name_of)} THEN {operand} END"
        return self.add(frame, operand)


def native(columns: Columns, measure: Measure, number: int) -> NativeMeasure:
    """A measure as native aggregates. Its values are added to the columns."""

    def name(index: int = 0) -> str:
        return quoted(f"m{number}_{index}")

    match measure.kind:
        case "count":
            return NativeMeasure((AggregateColumn(name(), "count(1)", "sum({})"),), (name(),))
        case "sum":
            column, type_ = summable(columns, measure)
            return NativeMeasure((AggregateColumn(name(), f"sum({column})", "sum({})"),), (name(),))
        case "mean":
            column, type_ = summable(columns, measure)
            total = AggregateColumn(name(), f"sum({column})", "sum({})")
            count = AggregateColumn(name(1), "count(1)", "sum({})")
            return NativeMeasure((total, count), (quotient(name(), name(1), type_),))
        case "min" | "max" as extreme:
            column, type_ = columns.value(measure)
            column = plain_float(column) if type_ == FLOAT else column
            return NativeMeasure((AggregateColumn(name(), f"{extreme}({column})", f"{extreme}({{}})"),), (name(),))
        case "min_element" | "max_element":
            return chosen(columns, measure, name)
        case "first" | "last" as which:
            return picked(columns, "min" if which == "first" else "max", ORDER, name)
        case "map":
            return listed(columns, measure, name)
        case _:
            return folded(columns, measure, name)


def summable(columns: Columns, measure: Measure) -> tuple[str, Type]:
    column, type_ = columns.value(measure)
    return (f"CAST({column} AS BIGINT)" if type_ == BOOL else column), type_


def quotient(total: str, count: str, type_: Type) -> str:
    """The mean. A sum of ints that is not exactly a float is left to Python."""
    if type_ == FLOAT:
        return f"{total} / {count}"
    refused = guard("the sum is too large for an exact mean")
    exact = f"{total} >= {-_EXACT}L AND {total} <= {_EXACT}L"
    return f"CASE WHEN {exact} THEN CAST({total} AS DOUBLE) / {count} ELSE {refused} END"


def plain_float(column: str) -> str:
    """A float with a defined order. The order of NaN and -0.0 depends on the row order, so they are left to Python."""
    refused = guard("NaN and -0.0 have no rank in an order")
    return (
        f"CASE WHEN isnan({column}) OR ({column} = 0.0D AND CAST({column} AS STRING) = '-0.0') "
        f"THEN {refused} ELSE {column} END"
    )


def chosen(columns: Columns, measure: Measure, name: Callable[[int], str]) -> NativeMeasure:
    """The first element by a value; of equal values the first in row order."""
    column, type_ = columns.value(measure)
    if type_ == FLOAT:
        column = f"CASE WHEN isnan({column}) THEN {guard(NAN)} ELSE {column} END"
    if measure.kind == "min_element":
        return best(columns, Compared(column, "min"), ORDER, name)
    return best(columns, Compared(column, "max"), reversed_order(columns.order), name)


def best(columns: Columns, compared: Compared, tie: str, name: Callable[[int], str]) -> NativeMeasure:
    """The element with an extreme value; of those with equal values the first by `tie` in the same direction."""
    found = picked(columns, compared.extreme, f"struct({compared.column}, {tie})", name)
    return dataclasses.replace(found, compared=compared)


def picked(columns: Columns, extreme: str, order: str, name: Callable[[int], str]) -> NativeMeasure:
    """The element with the smallest or largest value of an order."""
    at = name(len(columns.element))
    leaves = [
        AggregateColumn(name(number), f"{extreme}_by({column}, {order})", f"{extreme}_by({{}}, {at})")
        for number, column in enumerate(columns.element)
    ]
    steps = (*leaves, AggregateColumn(at, f"{extreme}({order})", f"{extreme}({{}})"))
    return NativeMeasure(steps, tuple(step.column for step in leaves), ordered=True)


def listed(columns: Columns, measure: Measure, name: Callable[[int], str]) -> NativeMeasure:
    """A function of the list of a window's elements. The list is sorted if the function sees its order."""
    assert measure.function is not None
    form = columns.emission.column_form(columns.node, measure.function)
    assert form is not None, "a function of a list without a column form should have run in Python"
    element = columns.node.element
    item = render(pack(parameter(0, element)), columns.frame.names(columns.at))
    ordered = measure.sees_order
    list_ = collected = name(0)
    if ordered:
        item, list_ = f"struct({ORDER} AS at, {item} AS item)", f"sort_array({collected}).item"
    elif isinstance(element, Optional) or element in (NONE, ANY):  # collect_list skips NULL
        item, list_ = f"struct({item} AS item)", f"{collected}.item"
    names = {shared: f"m{collected.strip('`')}_{shared}" for shared, _ in form.shared}
    whole = name(1)

    def rendered(expr: Expr) -> str:
        own = rebuilt(expr, lambda part: Shared(names[part.name]) if isinstance(part, Shared) else None)
        return render(own, lambda _: whole)

    return NativeMeasure(
        (AggregateColumn(collected, f"collect_list({item})", "flatten(collect_list({}))"),),
        tuple(map(rendered, form.result.leaves())),
        ordered,
        ((whole, list_), *((quoted(names[shared]), rendered(expr)) for shared, expr in form.shared)),
    )


def folded(columns: Columns, measure: Measure, name: Callable[[int], str]) -> NativeMeasure:
    """A fold as one aggregate for each leaf of its accumulator."""
    fold = recognised_fold(columns.node, measure)
    assert not isinstance(fold, Refusal), "a fold without a native form should have run in Python"
    if isinstance(fold, NativeExtreme):
        return selected(columns, measure, fold, name)
    steps: list[AggregateColumn] = []
    finish: list[str] = []
    for number, part in enumerate(fold.parts):
        name_of = columns.frame.names((), columns.at)  # the accumulator, the first parameter, is in no expression
        frame, _ = columns.frame.evaluate(shared_only(fold), name_of) if measure.kind == "fold" else (columns.frame, [])
        column = columns.part(frame, part, name_of)
        steps.append(AggregateColumn(name(number), f"{part.kind}({column})", f"{part.kind}({{}})"))
        finish.append(joined_start(part, name(number)))
    return NativeMeasure(tuple(steps), tuple(finish))


def selected(columns: Columns, measure: Measure, fold: NativeExtreme, name: Callable[[int], str]) -> NativeMeasure:
    """A fold that selects one of its elements, by its key and then by row order; or the initial value."""
    names = columns.frame.names((), columns.at)
    key = render(fold.key, names)
    if fold.is_float:
        key = f"CASE WHEN isnan({key}) THEN {guard(NAN)} ELSE {key} + 0.0D END"
    column = columns.add(columns.frame, key)
    tie = ORDER if fold.largest == fold.last else reversed_order(columns.order)
    found = best(columns, Compared(column, "max" if fold.largest else "min"), tie, name)
    if measure.kind == "reduce":
        return found
    own = leaves(measure.type)
    starts = {
        leaf.path: literal(value, leaf.type)
        for leaf, value in zip(own, leaf_values(fold.init, measure.type), strict=True)
    }
    own_leaves = {leaf.path: expression for leaf, expression in zip(own, found.finish, strict=True)}

    def name_of(leaf: Input) -> str:
        return starts[leaf.path] if leaf.parameter == ACCUMULATOR else own_leaves[leaf.path]

    stays = render(fold.keeps, name_of)
    finish = (f"CASE WHEN {stays} THEN {starts[leaf.path]} ELSE {own_leaves[leaf.path]} END" for leaf in own)
    return NativeMeasure(found.steps, tuple(finish), ordered=True)


def shared_only(fold: NativeFold) -> ColumnForm:
    """The shared values of a fold, without the result."""
    from morisot.engines.spark.emit.aggregate import NO_RESULT

    return dataclasses.replace(fold.form, result=NO_RESULT)


def native_measures(columns: Columns) -> Sequence[NativeMeasure]:
    return [native(columns, measure, number) for number, measure in enumerate(columns.node.measures)]

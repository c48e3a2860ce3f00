"""The aggregates that run in Python: one accumulator each, for two-phase folds, folds in order, windows and loops.

An accumulator object describes an aggregate and has no state. The caller holds and stores the accumulated value.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from morisot.errors import Location
from morisot.types.element import ANY, Type
from morisot.types.windows import Windowed
from morisot.worker.codec.batches import Dumps
from morisot.worker.codec.stored import Form, each, form_of, if_any, loose_form_of, of_parts
from morisot.worker.report import failure
from morisot.worker.report.left_out import LeftOut

Function = Callable[..., Any]


class Accumulates(Protocol):
    """Aggregates the elements of a window, a key or a partition, one by one."""

    def first(self, element: Any, /) -> Any:
        """The value of the first element."""

    def add(self, held: Any, element: Any, /) -> Any:
        """The value after one more element."""

    def finish(self, held: Any, /) -> Any:
        """The result."""


class Mergeable(Accumulates, Protocol):
    """Aggregates a stream in parts as well."""

    def merge(self, left: Any, right: Any, /) -> Any:
        """The value of two consecutive parts of the stream, the earlier one first."""


def itself(element: Any) -> Any:
    """The value of an element where the user gives no function."""
    return element


class _ResultIsHeld:
    """Accumulators whose result is the value that they hold."""

    def finish(self, held: Any, /) -> Any:
        return held


@dataclass(frozen=True)
class CountAccumulator(_ResultIsHeld):
    """The number of elements."""

    def first(self, element: Any, /) -> Any:
        return 1

    def add(self, held: Any, element: Any, /) -> Any:
        return held + 1


@dataclass(frozen=True)
class SumAccumulator(_ResultIsHeld):
    """Python's sum() of a value of each element."""

    value: Function

    def first(self, element: Any, /) -> Any:
        return 0 + self.value(element)

    def add(self, held: Any, element: Any, /) -> Any:
        return held + self.value(element)

    def merge(self, left: Any, right: Any, /) -> Any:
        return left + right


@dataclass(frozen=True)
class MeanAccumulator:
    """The sum of a value of each element, and the number of elements."""

    value: Function

    def first(self, element: Any, /) -> Any:
        return 0 + self.value(element), 1

    def add(self, held: Any, element: Any, /) -> Any:
        return held[0] + self.value(element), held[1] + 1

    def merge(self, left: Any, right: Any, /) -> Any:
        return left[0] + right[0], left[1] + right[1]

    def finish(self, held: Any, /) -> Any:
        return held[0] / held[1]


@dataclass(frozen=True)
class ExtremeAccumulator:
    """The smallest or largest value, or its element, as min() and max() return it. Of equal values it is the first.

    The accumulated value is (value, element), without the element if only the value is needed. NaN is neither smaller
    nor larger than anything: as the first value it is never replaced, and later it never replaces another.
    """

    value: Function
    largest: bool
    whole: bool
    """Whether the result is the element, instead of its value."""
    type: Type = ANY
    """The type of the result."""

    def first(self, element: Any, /) -> Any:
        return self.value(element), element if self.whole else None

    def add(self, held: Any, element: Any, /) -> Any:
        value = self.value(element)
        if value > held[0] if self.largest else value < held[0]:
            return value, element if self.whole else None
        return held

    def finish(self, held: Any, /) -> Any:
        return held[1] if self.whole else held[0]


@dataclass(frozen=True)
class MergeableExtremeAccumulator:
    """The smallest or largest element, aggregated in parts: the first pair of a part, and the best pair after it.

    A NaN that is the first value of a part is the result only if the part is the first one. So the best pair is that
    of the elements after it.
    """

    extreme: ExtremeAccumulator

    def first(self, element: Any, /) -> Any:
        pair = self.extreme.first(element)
        return pair, pair

    def add(self, held: Any, element: Any, /) -> Any:
        first, best = held
        if best[0] != best[0]:  # as the first values of a part, several may be NaN
            return first, self.extreme.first(element)
        after = self.extreme.add(best, element)
        return held if after is best else (first, after)

    def merge(self, left: Any, right: Any, /) -> Any:
        (first, best), (_, other) = left, right
        if _is_nan(best):
            return first, other
        better = other[0] > best[0] if self.extreme.largest else other[0] < best[0]
        return (first, other) if better else left

    def finish(self, held: Any, /) -> Any:
        first, best = held
        return self.extreme.finish(first if _is_nan(first) else best)


def _is_nan(pair: Any) -> bool:
    return bool(pair[0] != pair[0])


@dataclass(frozen=True)
class FoldAccumulator(_ResultIsHeld):
    """A fold from a copy of the initial value, so that the initial value may be a list."""

    init: Any
    add: Callable[[Any, Any], Any]
    """The user's function itself, which saves one call for each element."""
    type: Type = ANY
    """The type that the result should have."""

    def start(self) -> Any:
        return copy.deepcopy(self.init)

    def first(self, element: Any, /) -> Any:
        return self.add(self.start(), element)


@dataclass(frozen=True)
class MergeableFoldAccumulator(FoldAccumulator):
    """A fold with a function that merges the results of two parts."""

    merge: Callable[[Any, Any], Any] = field(kw_only=True)


@dataclass(frozen=True)
class ReduceAccumulator(_ResultIsHeld):
    """A fold whose start value is the first element."""

    add: Callable[[Any, Any], Any]
    type: Type = ANY
    """The type that the result should have."""
    exact: bool = False
    """Whether the result is one of the elements, and so certainly has that type."""

    def first(self, element: Any, /) -> Any:
        return element

    def merge(self, left: Any, right: Any, /) -> Any:
        return self.add(left, right)


def earlier(held: Any, element: Any) -> Any:
    """Reduces to the first element."""
    return held


def later(held: Any, element: Any) -> Any:
    """Reduces to the last element."""
    return element


@dataclass(frozen=True)
class ListAccumulator:
    """The list of the elements, for a function of all of them."""

    function: Function
    type: Type = ANY
    """The type of the elements."""

    def first(self, element: Any, /) -> Any:
        return [element]

    def add(self, held: Any, element: Any, /) -> Any:
        held.append(element)
        return held

    def finish(self, held: Any, /) -> Any:
        return self.function(held)


@dataclass(frozen=True)
class CustomAccumulator:
    """Calls the methods of a user's `morisot.Accumulator`."""

    start: Callable[[], Any]
    add: Callable[[Any, Any], Any]
    finish: Callable[[Any], Any]

    def first(self, element: Any, /) -> Any:
        return self.add(self.start(), element)


@dataclass(frozen=True)
class SkippingAccumulator:
    """A fold that skips elements on which its function fails, and holds the failures together with its value.

    The failures are reported with the result of the window. A window without a result reports none.
    """

    fold: FoldAccumulator | ReduceAccumulator
    operator: str
    location: Location | None
    keep_all: bool
    """Whether all failures are reported, with their elements, or one as an example."""
    dumps: Dumps
    element: Type = ANY
    """The type of the elements."""

    def first(self, element: Any, /) -> Any:
        if isinstance(self.fold, ReduceAccumulator):
            return element, None
        return self.add((self.fold.start(), None), element)

    def add(self, held: Any, element: Any, /) -> Any:
        before, left_out = held
        try:
            return self.fold.add(before, element), left_out
        except Exception as error:
            return before, self._with(left_out or LeftOut(), element, error)

    def _with(self, left_out: LeftOut, element: Any, error: Exception) -> LeftOut:
        left_out.count += 1
        if self.keep_all or not left_out.failures:
            found = failure.element_error(self.operator, self.location, element, error, 1)
            left_out.keep(element, found, self.dumps, keep_all=self.keep_all, type_=self.element)
        return left_out

    def finish(self, held: Any, /) -> Any:
        """The fold's value, and the failures in stored form, because results of windows may be written to files."""
        value, left_out = held
        return value, _LEFT_OUT.store(left_out)


def _stored(left_out: LeftOut | None) -> tuple[int, list[Any]] | None:
    return None if left_out is None else (left_out.count, left_out.failures)


def _loaded(stored: tuple[int, list[Any]] | None) -> LeftOut | None:
    return None if stored is None else LeftOut(*stored)


_LEFT_OUT = Form(_stored, _loaded)


@dataclass(frozen=True)
class SeparateFailures:
    """Separates the value of a SkippingAccumulator from the failures, if there are any."""

    bounds: bool
    """Whether the result has the bounds of the window."""

    def __call__(self, result: Any) -> tuple[Any, LeftOut | None]:
        value, left_out = result.value if self.bounds else result
        if self.bounds:
            value = Windowed(result.start, result.end, value)
        return value, _LEFT_OUT.load(left_out)


# -- stored forms -----------------------------------------------------------------------------------------------------


def form_in_windows(accumulators: Sequence[Accumulates]) -> Form | None:
    """The form of the values of a window's accumulators."""
    return of_parts([_form_in_window(accumulator) for accumulator in accumulators])


def _form_in_window(accumulator: Accumulates) -> Form | None:
    """Values of users' accumulators and results of users' functions are pickled unchanged."""
    match accumulator:
        case ExtremeAccumulator(whole=True):
            return if_any(of_parts([None, form_of(accumulator.type)]))
        case ExtremeAccumulator():
            return if_any(of_parts([loose_form_of(accumulator.type), None]))
        case ReduceAccumulator():
            return if_any(form_of(accumulator.type) if accumulator.exact else loose_form_of(accumulator.type))
        case FoldAccumulator():
            return loose_form_of(accumulator.type)
        case ListAccumulator():
            return each(form_of(accumulator.type))
        case SkippingAccumulator():
            return of_parts([_form_in_window(accumulator.fold), _LEFT_OUT])
        case _:
            return None


def form_of_running(accumulator: Accumulates) -> Form | None:
    """The form of the value of a running aggregate, which is NOTHING before the first element."""
    match accumulator:
        case FoldAccumulator() | ReduceAccumulator():
            return if_any(loose_form_of(accumulator.type))
        case MergeableExtremeAccumulator(extreme):
            pair = of_parts([None, form_of(extreme.type)])
            return if_any(of_parts([pair, pair]))
        case _:
            return None

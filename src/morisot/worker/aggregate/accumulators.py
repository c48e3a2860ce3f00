"""What is held of a window's elements, one after the other: the measures of windows that run in Python."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from morisot.errors import Location
from morisot.types.element import ANY, Type
from morisot.types.windows import Windowed
from morisot.worker.codec.batches import Dumps
from morisot.worker.codec.stored import NOTHING, Form, each, form_of, if_any, loose_form_of, of_parts
from morisot.worker.report import failure
from morisot.worker.report.left_out import LeftOut

Function = Callable[..., Any]


class Accumulates(Protocol):
    """What a measure does; an Accumulator of the user's does the same."""

    def start(self) -> Any:
        """What is held before the first element."""

    def add(self, held: Any, element: Any) -> Any:
        """What is held after one more."""

    def finish(self, held: Any) -> Any:
        """The result."""


def itself(element: Any) -> Any:
    """The value of an element where the user names none."""
    return element


class _AsHeld:
    """Measures whose result is what is held."""

    def finish(self, held: Any) -> Any:
        return held


@dataclass(frozen=True)
class Counting(_AsHeld):
    """How many elements there are."""

    def start(self) -> Any:
        return 0

    def add(self, held: Any, element: Any) -> Any:
        return held + 1


@dataclass(frozen=True)
class Summing(_AsHeld):
    """The sum of a value of each."""

    value: Function

    def start(self) -> Any:
        return 0

    def add(self, held: Any, element: Any) -> Any:
        return held + self.value(element)


@dataclass(frozen=True)
class Averaging:
    """The sum of a value of each, and how many they are."""

    value: Function

    def start(self) -> Any:
        return 0, 0

    def add(self, held: Any, element: Any) -> Any:
        return held[0] + self.value(element), held[1] + 1

    def finish(self, held: Any) -> Any:
        return held[0] / held[1]


@dataclass(frozen=True)
class Choosing:
    """The smallest or largest value, of equals the first, and the element it belongs to: what min() and max() give."""

    value: Function
    largest: bool
    whole: bool
    """Whether the result is the element and not its value."""
    type: Type = ANY
    """What the result should be."""

    def start(self) -> Any:
        return NOTHING

    def add(self, held: Any, element: Any) -> Any:
        value = self.value(element)
        if held is NOTHING or (value > held[0] if self.largest else value < held[0]):
            return value, element if self.whole else None
        return held

    def finish(self, held: Any) -> Any:
        return held[1] if self.whole else held[0]


@dataclass(frozen=True)
class Keeping(_AsHeld):
    """The first element, or the last."""

    last: bool
    type: Type = ANY
    """What elements are."""

    def start(self) -> Any:
        return NOTHING

    def add(self, held: Any, element: Any) -> Any:
        return element if self.last or held is NOTHING else held


@dataclass(frozen=True)
class Folding(_AsHeld):
    """A fold from a copy of a start value."""

    init: Any
    function: Function
    type: Type = ANY
    """What the result should be."""

    def start(self) -> Any:
        return copy.deepcopy(self.init)

    def add(self, held: Any, element: Any) -> Any:
        return self.function(held, element)


@dataclass(frozen=True)
class Reducing(_AsHeld):
    """A fold from the first element on."""

    function: Function
    type: Type = ANY
    """What the result should be."""

    def start(self) -> Any:
        return NOTHING

    def add(self, held: Any, element: Any) -> Any:
        return element if held is NOTHING else self.function(held, element)


@dataclass(frozen=True)
class LeavingOut:
    """A fold that goes on after an element on which its function fails; why it did is held beside it.

    It is told when the window is given, because a window that never is counts nothing.
    """

    fold: Folding | Reducing
    operator: str
    location: Location | None
    keep_all: bool
    """Whether every failure is wanted, with its element, or one as an example."""
    dumps: Dumps
    element: Type = ANY
    """What elements are."""

    def start(self) -> Any:
        return self.fold.start(), None

    def add(self, held: Any, element: Any) -> Any:
        accumulator, left_out = held
        try:
            return self.fold.add(accumulator, element), left_out
        except Exception as error:
            return accumulator, self._with(left_out or LeftOut(), element, error)

    def _with(self, left_out: LeftOut, element: Any, error: Exception) -> LeftOut:
        left_out.count += 1
        if self.keep_all or not left_out.failures:
            found = failure.element_error(self.operator, self.location, element, error, 2)
            left_out.keep(element, found, self.dumps, keep_all=self.keep_all, type_=self.element)
        return left_out

    def finish(self, held: Any) -> Any:
        """What was left out travels as it is stored: files may hold the results of windows too."""
        accumulator, left_out = held
        return accumulator, _LEFT_OUT.store(left_out)


def _stored(left_out: LeftOut | None) -> tuple[int, list[Any]] | None:
    return None if left_out is None else (left_out.count, left_out.failures)


def _loaded(stored: tuple[int, list[Any]] | None) -> LeftOut | None:
    return None if stored is None else LeftOut(*stored)


_LEFT_OUT = Form(_stored, _loaded)


@dataclass(frozen=True)
class Apart:
    """What such a fold gave, and what it left out, if anything."""

    bounds: bool
    """Whether the window's bounds are with it."""

    def __call__(self, result: Any) -> tuple[Any, LeftOut | None]:
        value, left_out = result.value if self.bounds else result
        if self.bounds:
            value = Windowed(result.start, result.end, value)
        return value, _LEFT_OUT.load(left_out)


@dataclass(frozen=True)
class Listing:
    """The elements themselves, for a function of all of them: the one measure that holds a window's content."""

    function: Function
    type: Type = ANY
    """What elements are."""

    def start(self) -> Any:
        return []

    def add(self, held: Any, element: Any) -> Any:
        held.append(element)
        return held

    def finish(self, held: Any) -> Any:
        return self.function(held)


def form_of_measures(measures: Sequence[Accumulates]) -> Form | None:
    """How what the measures of a window hold is stored."""
    return of_parts([_form_of_measure(measure) for measure in measures])


def _form_of_measure(measure: Accumulates) -> Form | None:
    """Accumulators of the user's, and values that their functions give, are the user's to pickle."""
    match measure:
        case Choosing(whole=True):
            return if_any(of_parts([None, form_of(measure.type)]))
        case Choosing():
            return if_any(of_parts([loose_form_of(measure.type), None]))
        case Keeping():
            return if_any(form_of(measure.type))
        case Listing():
            return each(form_of(measure.type))
        case Folding():
            return loose_form_of(measure.type)
        case Reducing():
            return if_any(loose_form_of(measure.type))
        case LeavingOut():
            return of_parts([_form_of_measure(measure.fold), _LEFT_OUT])
        case _:
            return None

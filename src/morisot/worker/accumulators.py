"""What is held of a window's elements, one after the other: the measures of windows that run in Python."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from morisot.errors import Location
from morisot.types.windows import Windowed
from morisot.worker import failure
from morisot.worker.batches import Dumps
from morisot.worker.left_out import LeftOut

Function = Callable[..., Any]

NOTHING = object
"""What is held before the first element where that is no value; a class, because it stays itself when pickled."""


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

    def start(self) -> Any:
        return NOTHING

    def add(self, held: Any, element: Any) -> Any:
        return element if self.last or held is NOTHING else held


@dataclass(frozen=True)
class Folding(_AsHeld):
    """A fold from a copy of a start value."""

    init: Any
    function: Function

    def start(self) -> Any:
        return copy.deepcopy(self.init)

    def add(self, held: Any, element: Any) -> Any:
        return self.function(held, element)


@dataclass(frozen=True)
class Reducing(_AsHeld):
    """A fold from the first element on."""

    function: Function

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
            left_out.keep(element, found, self.dumps, keep_all=self.keep_all)
        return left_out

    def finish(self, held: Any) -> Any:
        return held


@dataclass(frozen=True)
class Apart:
    """What such a fold gave, and what it left out, if anything."""

    bounds: bool
    """Whether the window's bounds are with it."""

    def __call__(self, result: Any) -> tuple[Any, LeftOut | None]:
        if not self.bounds:
            return result  # type: ignore[no-any-return]
        value, left_out = result.value
        return Windowed(result.start, result.end, value), left_out


@dataclass(frozen=True)
class Listing:
    """The elements themselves, for a function of all of them: the one measure that holds a window's content."""

    function: Function

    def start(self) -> Any:
        return []

    def add(self, held: Any, element: Any) -> Any:
        held.append(element)
        return held

    def finish(self, held: Any) -> Any:
        return self.function(held)

"""The machines of operators with two inputs, which are united to one stream.

An element is `(side, left, right)`: side 0 with a left element, or side 1 with a right one, and None for the other.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from morisot.types.element import ANY, Type
from morisot.worker.codec.stored import Form, Layout, form_of, of_parts
from morisot.worker.stateful.machine import Emitter


def _of_deque(form: Form | None) -> Form:
    """The form of a deque whose items may have a form."""
    if form is None:
        return Form(list, deque)
    return Form(lambda items: [*map(form.store, items)], lambda stored: deque(map(form.load, stored)))


@dataclass(frozen=True)
class Zipper:
    """Pairs the n-th element of one side with the n-th of the other. Elements without a partner are buffered."""

    left: Type = ANY
    right: Type = ANY
    """The types of the elements of each side."""

    @property
    def layout(self) -> Layout:
        sides = [_of_deque(of_parts([form_of(type_), None])) for type_ in (self.left, self.right)]
        form = Form(
            lambda state: (state[0], sides[state[0]].store(state[1])),
            lambda stored: (stored[0], sides[stored[0]].load(stored[1])),
        )
        return Layout("zip", 1, form)

    def start(self) -> Any:
        return 0, deque()

    def take(self, state: Any, key: Any, values: Sequence[Any], times: Sequence[int] | None, emit: Emitter) -> Any:
        buffered_side, buffered = state
        for index, (side, left, right) in enumerate(values):
            value, time = (right if side else left), (times[index] if times else None)
            if not buffered or side == buffered_side:
                buffered_side = side
                buffered.append((value, time))
                continue
            partner, earlier = buffered.popleft()
            pair = (partner, value) if side else (value, partner)
            emit(index, pair, None if time is None else max(time, earlier))
        return buffered_side, buffered

    def end(self, state: Any, key: Any, emit: Emitter) -> None:
        """Buffered elements have no partner, and are dropped."""


@dataclass(frozen=True)
class CountedPairs:
    """The pairs of the n-th window of one side and the n-th of the other; complete ones are buffered for the other."""

    size: int
    slide: int
    left: Type = ANY
    right: Type = ANY
    """The types of the elements of each side."""

    @property
    def layout(self) -> Layout:
        sides = [_of_deque(of_parts([None, form_of(type_)])) for type_ in (self.left, self.right)]
        return Layout("pairs of count windows", 1, of_parts([None, None, of_parts(sides)]))

    def start(self) -> Any:
        return 0, [0, 0], (deque(), deque())

    def take(self, state: Any, key: Any, values: Sequence[Any], times: Sequence[int] | None, emit: Emitter) -> Any:
        # the index at which the next window begins, the number of elements, and those of it and of later windows
        first, seen, held = state
        for index, (side, left, right) in enumerate(values):
            if seen[side] % self.slide < self.size:
                held[side].append((seen[side], right if side else left))
            seen[side] += 1
            if min(seen) == seen[side] == first + self.size:
                self._emit_pairs(index, held, emit)
                first += self.slide
                for buffer in held:
                    while buffer and buffer[0][0] < first:
                        buffer.popleft()
        return first, seen, held

    def _emit_pairs(self, index: int, held: Any, emit: Emitter) -> None:
        # a side that runs ahead holds much more than this window
        ours, theirs = ([value for _, value in itertools.islice(buffer, self.size)] for buffer in held)
        for one in ours:
            for other in theirs:
                emit(index, (one, other), None)

    def end(self, state: Any, key: Any, emit: Emitter) -> None:
        """Buffered elements have no partner, and are dropped."""

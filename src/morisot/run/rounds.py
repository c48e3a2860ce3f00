"""The rounds of a loop as the driver counts them, whichever way the body runs."""

from __future__ import annotations

import copy
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from morisot.plan.closure import Closure
from morisot.plan.iterate import Loop
from morisot.worker.failure import element_error


@dataclass
class Progress:
    """What a loop has done so far."""

    loop: str
    rounds: int = 0
    goes_on: bool | None = None
    """What the condition gave last."""
    elements: int = 0
    """How many elements left the body in the last round."""
    seconds: float = 0.0
    """How long the rounds took in all."""
    last_seconds: float = 0.0

    def count(self, number: int, goes_on: bool, elements: int, seconds: float) -> None:
        """Take note of a round."""
        self.rounds = number
        self.goes_on = goes_on
        self.elements = elements
        self.seconds += seconds
        self.last_seconds = seconds

    def metrics(self) -> dict[str, Any]:
        """As `ctx.metrics()` shows it."""
        return {
            "loop": self.loop,
            "rounds": self.rounds,
            "condition": self.goes_on,
            "elements": self.elements,
            "seconds": self.seconds,
            "seconds_per_round": self.seconds / self.rounds if self.rounds else 0.0,
            "last_round_seconds": self.last_seconds,
        }


class Rounds:
    """Folds the deltas of each round into the state and decides whether another one follows."""

    def __init__(self, loop: Loop, progress: Progress) -> None:
        self.loop = loop
        self.progress = progress
        self.number = 0
        self.over = False
        self.elements = 0
        self.state = copy.deepcopy(loop.state)
        self._began = time.perf_counter()

    def rewind(self) -> None:
        """Back to the first round, for a loop whose elements were lost."""
        self.number = 0
        self.over = False
        self.state = copy.deepcopy(self.loop.state)

    def begin(self) -> Any:
        """The state of the round that begins."""
        self._began = time.perf_counter()
        return self.state

    def fold(self, deltas: Sequence[tuple[int, Any]]) -> None:
        """Take the deltas of a round, in the order of the partitions; those that folded no element do not count."""
        state = self.state
        for elements, delta in deltas:
            if elements:
                state = self._call(self.loop.global_fold, (state, delta), state, delta)
        goes_on = bool(self._call(self.loop.condition, state, state))
        self.state = state
        self.number += 1
        self.over = not goes_on or self.number >= self.loop.max_iterations
        self._count(goes_on, sum(elements for elements, _ in deltas))

    def run_empty(self) -> None:
        """All rounds, on no elements."""
        while not self.over:
            self.begin()
            self.fold(())

    def _count(self, goes_on: bool, elements: int) -> None:
        self.progress.count(self.number, goes_on, elements, time.perf_counter() - self._began)

    def _call(self, closure: Closure, element: Any, *arguments: Any) -> Any:
        try:
            return closure.function(*arguments)
        except Exception as error:
            raise element_error(self.loop.operator, self.loop.location, element, error, 1) from error

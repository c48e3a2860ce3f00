"""One program, every engine: the test says what it gives, the engine is a parameter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import morisot as mo
from morisot.testing import last_by_key
from morisot.testing.run import unbounded
from morisot.testing.trial import result_of

if TYPE_CHECKING:
    from morisot.testing.script import Batches
    from morisot.testing.trial import Program

__all__ = ["Runner", "halves", "last_by_key"]


@dataclass
class Runner:
    """Runs a program on one engine."""

    engine: str
    make_context: Callable[[str], mo.StreamContext]
    metrics: Any = field(default_factory=dict)
    """What the last run says of itself."""

    def run(self, program: Program, *inputs: Sequence[Any]) -> list[Any]:
        """What the program makes of the elements, in order; with every running value on unbounded input."""
        context = self.make_context(self.engine)
        if self.engine == "unbounded":
            outcome = unbounded(program, [halves(list(each)) for each in inputs], context)
            self.metrics = outcome.metrics
            return list(outcome.changes)
        results = list(result_of(program, [context.stream_iter(each) for each in inputs]).collect())
        self.metrics = context.metrics()
        return results

    def run_to_end(self, program: Program, elements: Sequence[Any], end: Any) -> list[Any]:
        """The answer for the elements; on unbounded input, where time does not end, `end` comes last to move it on."""
        if self.engine != "unbounded":
            return self.run(program, elements)
        outcome = unbounded(program, [[*halves(list(elements)), [end]]], self.make_context(self.engine))
        self.metrics = outcome.metrics
        return list(outcome.results)

    def run_until(self, time: int, program: Program, *inputs: Sequence[Any]) -> list[Any]:
        """The answer for the elements; on unbounded input, when all up to a timestamp have come."""
        if self.engine != "unbounded":
            return self.run(program, *inputs)
        batches: list[Batches] = [[*halves(list(each)), mo.testing.advance_time(time)] for each in inputs]
        outcome = unbounded(program, batches, self.make_context(self.engine))
        self.metrics = outcome.metrics
        return list(outcome.results)


def halves(elements: list[Any]) -> list[list[Any]]:
    """Two micro-batches."""
    middle = (len(elements) + 1) // 2
    return [elements[:middle], elements[middle:]]

"""One program, every engine: the test says what it gives, the engine is a parameter."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import morisot as mo
from morisot.testing import last_by_key
from morisot.testing.run import unbounded
from morisot.testing.trial import result_of
from tests.driver.run import Drive

if TYPE_CHECKING:
    from morisot.testing.outcome import Outcome
    from morisot.testing.script import Batches
    from morisot.testing.trial import Program

__all__ = ["Runner", "halves", "last_by_key"]


@dataclass
class Runner:
    """Runs a program on one engine."""

    engine: str
    """"reference" and "bounded" read all elements at once, "unbounded" and "driver" in micro-batches."""
    make_context: Callable[[str], mo.StreamContext]
    chance: random.Random = field(default_factory=random.Random)
    """What the driver draws from."""
    metrics: Any = field(default_factory=dict)
    """What the last run says of itself."""
    drives: list[Drive] = field(default_factory=list)
    """The jobs that the driver has run."""

    @property
    def is_bounded(self) -> bool:
        return self.engine in ("reference", "bounded")

    def observe(self, program: Program, *inputs: Batches) -> Outcome:
        """What the program makes of micro-batches, each with the next batch of every input."""
        assert not self.is_bounded, f"{self.engine} has no micro-batches"
        if self.engine == "unbounded":
            outcome = unbounded(program, inputs, self.make_context(self.engine))
        else:
            self.drives.append(Drive(program, inputs, self.chance))
            outcome = self.drives[-1].run()
        self.metrics = outcome.metrics
        return outcome

    def run(self, program: Program, *inputs: Sequence[Any]) -> list[Any]:
        """What the program makes of the elements, in order; with every running value on unbounded input."""
        if not self.is_bounded:
            return list(self.observe(program, *(halves(list(each)) for each in inputs)).changes)
        context = self.make_context(self.engine)
        results = list(result_of(program, [context.stream_iter(each) for each in inputs]).collect())
        self.metrics = context.metrics()
        return results

    def run_to_end(self, program: Program, elements: Sequence[Any], end: Any) -> list[Any]:
        """The answer for the elements; on unbounded input, where time does not end, `end` comes last to move it on."""
        if self.is_bounded:
            return self.run(program, elements)
        return list(self.observe(program, [*halves(list(elements)), [end]]).results)

    def run_until(self, time: int, program: Program, *inputs: Sequence[Any]) -> list[Any]:
        """The answer for the elements; on unbounded input, when all up to a timestamp have come."""
        if self.is_bounded:
            return self.run(program, *inputs)
        batches: list[Batches] = [[*halves(list(each)), mo.testing.advance_time(time)] for each in inputs]
        return list(self.observe(program, *batches).results)


def halves(elements: list[Any]) -> list[list[Any]]:
    """Two micro-batches."""
    middle = (len(elements) + 1) // 2
    return [elements[:middle], elements[middle:]]

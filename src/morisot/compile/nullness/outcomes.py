"""What is known after a test: the parts of the element that are not None."""

from __future__ import annotations

from typing import NamedTuple

from morisot.types.narrowing import Path

Facts = frozenset[Path]
"""The parts that are not None."""
NOTHING: Facts = frozenset()


class TestOutcome(NamedTuple):
    """The facts if a test is true, and if it is false; None where it never is."""

    true: Facts | None
    false: Facts | None

    @property
    def negated(self) -> TestOutcome:
        return TestOutcome(self.false, self.true)

    def after(self, facts: Facts | None) -> TestOutcome:
        """The same after something else with facts of its own."""
        return TestOutcome(both(facts, self.true), both(facts, self.false))


def both(left: Facts | None, right: Facts | None) -> Facts | None:
    """The facts after two steps; None if one of them never succeeds."""
    return None if left is None or right is None else left | right


def either(left: Facts | None, right: Facts | None) -> Facts | None:
    """The facts where two paths meet; those of the other path if one is never taken."""
    if left is None or right is None:
        return right if left is None else left
    return left & right

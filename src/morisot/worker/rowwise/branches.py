"""The branch of an element: the functions of split_by and route as a stage calls them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

NOWHERE = -1
"""The mark of an element that no predicate of route takes."""
MOST_BITS = 62
"""How many branches have a bit each in a mark that is one int."""


@dataclass(frozen=True)
class BranchSelector:
    """The function of split_by, its answer checked and made a mark.

    That is a number, or, where the function may name several, an int with a bit for each, or a list.
    """

    function: Callable[..., Any]
    n: int
    several: bool
    masked: bool

    def __call__(self, *arguments: Any) -> int | list[int]:
        numbers = chosen(self.function(*arguments), self.n)
        if self.masked:
            return mask(numbers)
        if self.several:
            return numbers
        (number,) = numbers
        return number


def mask(numbers: Iterable[int]) -> int:
    """A bit for each number.

    >>> mask([0, 2])
    5
    """
    return sum(1 << number for number in numbers)


def chosen(answer: Any, n: int) -> list[int]:
    """The branches that an answer of the user's function names, each once, in order.

    >>> chosen(1, 3), chosen({2, 0}, 3), chosen([], 3)
    ([1], [0, 2], [])
    """
    numbers = [answer] if isinstance(answer, int) else answer
    if not isinstance(numbers, Iterable) or isinstance(numbers, str | bytes):
        raise TypeError(f"split_by takes the number of a branch or several of them, not {answer!r}")
    found = set()
    for number in numbers:
        if not isinstance(number, int):
            raise TypeError(f"the number of a branch is an int, not {number!r}")
        if not 0 <= number < n:
            raise IndexError(f"there is no branch {int(number)}: they have the numbers 0 to {n - 1}")
        found.add(int(number))
    return sorted(found)


@dataclass(frozen=True)
class FirstMatch:
    """The predicates of route as one function: the index of the first that is true."""

    predicates: tuple[Callable[..., Any], ...]

    def __call__(self, *arguments: Any) -> int:
        for index, predicate in enumerate(self.predicates):
            if predicate(*arguments):
                return index
        return NOWHERE


@dataclass(frozen=True)
class GoesTo:
    """Whether a mark names a branch."""

    number: int
    masked: bool

    def __call__(self, mark: int | list[int]) -> bool:
        if isinstance(mark, int):
            return bool(mark >> self.number & 1) if self.masked else mark == self.number
        return self.number in mark

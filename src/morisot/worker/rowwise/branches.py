"""Selects the branches of an element: the functions of split_by and route as a stage calls them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from morisot.worker.codec.numpy_scalars import is_numpy_scalar, without_numpy

NOWHERE = -1
"""The branch number of an element for which no predicate of route holds."""
MOST_BITS = 62
"""The most branches that are stored as the bits of one int."""


@dataclass(frozen=True)
class BranchSelector:
    """The function of split_by. Its result is checked, and converted to branch numbers.

    They are one number, or, if the function may name several, an int with a bit for each, or a list.
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


def chosen(result: Any, n: int) -> list[int]:
    """The branches that the result of the user's function names, each once, in order.

    >>> chosen(1, 3), chosen({2, 0}, 3), chosen([], 3)
    ([1], [0, 2], [])
    """
    numbers = [result] if isinstance(result, int) or is_numpy_scalar(result) else result
    if not isinstance(numbers, Iterable) or isinstance(numbers, str | bytes):
        raise TypeError(f"split_by takes the number of a branch or several of them, not {result!r}")
    found = set()
    for each in numbers:
        number = without_numpy(each)
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
class IsInBranch:
    """Tests whether branch numbers include a branch."""

    number: int
    masked: bool

    def __call__(self, branches: int | list[int]) -> bool:
        if isinstance(branches, int):
            return bool(branches >> self.number & 1) if self.masked else branches == self.number
        return self.number in branches

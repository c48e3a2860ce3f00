"""What a workload is: data that it makes itself, and one function per way of computing the same answer."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Input = TypeVar("Input")
Answer = Mapping[str, Mapping[Any, Any]]
"""Per query, the value of each key."""

MORISOT, DATAFRAME, RDD = "morisot", "dataframe", "rdd"
VARIANTS = (MORISOT, DATAFRAME, RDD)


@dataclass(frozen=True)
class Workload(Generic[Input]):
    """One job in three variants; `prepare(size)` makes its input, or finds it on the disk."""

    name: str
    title: str
    size: int
    unit: str
    prepare: Callable[[int], Input]
    variants: Mapping[str, Callable[[SparkSession, Input], Answer]]
    rdd_fraction: float = 1.0
    """The part of the data that the RDD variant gets, where all of it would take minutes."""

    def size_for(self, variant: str, scale: float) -> int:
        """How many units the variant gets at this scale."""
        fraction = self.rdd_fraction if variant == RDD else 1.0
        return max(1, round(self.size * scale * fraction))


def difference(answer: Answer, expected: Answer) -> str | None:
    """The first position at which two answers differ, or None; floats may differ by the order of their additions.

    >>> difference({"q": {"a": 0.1 + 0.2}}, {"q": {"a": 0.3}})
    >>> difference({"q": {"a": 1}}, {"q": {"a": 2}})
    "q['a']: 1 instead of 2"
    """
    if answer.keys() != expected.keys():
        return f"queries {sorted(answer)} instead of {sorted(expected)}"
    for query, values in expected.items():
        found = answer[query]
        if len(found) != len(values):
            return f"{query}: {len(found)} keys instead of {len(values)}"
        for key, value in values.items():
            if key not in found:
                return f"{query}: no {key!r}"
            if not _same(found[key], value):
                return f"{query}[{key!r}]: {found[key]!r} instead of {value!r}"
    return None


def _same(left: Any, right: Any) -> bool:
    if isinstance(left, tuple) and isinstance(right, tuple):
        return len(left) == len(right) and all(map(_same, left, right))
    if isinstance(left, float) and isinstance(right, float):
        return math.isclose(left, right, rel_tol=1e-9)
    return bool(left == right) and type(left) is type(right)

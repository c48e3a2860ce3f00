"""What came of a program under test."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from morisot.plan.analysis.graph import walk
from morisot.plan.analysis.validate import gives_running_values
from morisot.plan.nodes.aggregate import Aggregation
from morisot.plan.nodes.node import Node
from morisot.worker.codec.keys import canonical


@dataclass(frozen=True)
class Outcome:
    """What a program gave, and what the run says of itself."""

    changes: Sequence[Any]
    """Every element that came out, as it came: on unbounded input also running values that later ones replaced."""
    results: Sequence[Any]
    """The answer: of running values the last one of each key."""
    metrics: dict[str, Any] = field(default_factory=dict)
    """What `ctx.metrics()` tells, or `job.metrics()` on unbounded input."""


def answer(node: Node, changes: list[Any]) -> list[Any]:
    """What the elements of a stream amount to: values that replace earlier ones count, those they replaced do not."""
    aggregate = next((each for each in walk(node) if gives_running_values(each)), None)
    if aggregate is None:
        return changes
    assert isinstance(aggregate, Aggregation)
    return last_by_key(changes) if aggregate.keyed else changes[-1:]


def last_by_key(pairs: Iterable[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """The last value of each key, in the order in which the keys came first.

    >>> last_by_key([("a", 1), ("b", 1), ("a", 2)])
    [('a', 2), ('b', 1)]
    """
    last: dict[bytes, tuple[Any, Any]] = {}
    for key, value in pairs:
        last[canonical(key)] = (key, value)
    return list(last.values())

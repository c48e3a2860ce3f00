"""The outcome of a tested program."""

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
    """The results of a program, and the metrics of the run."""

    changes: Sequence[Any]
    """All emitted elements, in order. On unbounded input they include running values that later ones replaced."""
    results: Sequence[Any]
    """The final result: of running values the last one of each key."""
    metrics: dict[str, Any] = field(default_factory=dict)
    """The result of `ctx.metrics()`, or of `job.metrics()` on unbounded input."""


def answer(node: Node, changes: list[Any]) -> list[Any]:
    """The final result of a stream: without running values that later ones replaced."""
    aggregate = next((each for each in walk(node) if gives_running_values(each)), None)
    if aggregate is None:
        return changes
    assert isinstance(aggregate, Aggregation)
    return last_by_key(changes) if aggregate.keyed else changes[-1:]


def last_by_key(pairs: Iterable[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """The last value of each key, in the order of the first occurrences of keys.

    >>> last_by_key([("a", 1), ("b", 1), ("a", 2)])
    [('a', 2), ('b', 1)]
    """
    last: dict[bytes, tuple[Any, Any]] = {}
    for key, value in pairs:
        last[canonical(key)] = (key, value)
    return list(last.values())

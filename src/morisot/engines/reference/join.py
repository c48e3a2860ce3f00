"""The meaning of joins: for each left element all its right partners."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from morisot.engines.reference.registry import Timed, evaluates, identity
from morisot.plan.nodes.join import IntervalJoin, Join


@evaluates(Join)
def evaluate_join(node: Join, left: Iterable[Any], right: Iterable[Any]) -> Iterator[Any]:
    partners: dict[bytes, list[tuple[int, Any]]] = {}
    others = list(right)
    for index, (key, value) in enumerate(others):
        partners.setdefault(identity(node, key), []).append((index, value))
    matched: set[int] = set()
    for key, value in left:
        found = partners.get(identity(node, key), [])
        for index, other in found:
            matched.add(index)
            yield key, (value, other)
        if not found and node.variant != "inner":
            yield key, (value, None)
    if node.variant == "outer":
        for index, (key, other) in enumerate(others):
            if index not in matched:
                yield key, (None, other)


@evaluates(IntervalJoin, sees_time=True)
def evaluate_interval_join(node: IntervalJoin, left: Iterable[Timed], right: Iterable[Timed]) -> Iterator[Timed]:
    others = list(right)
    matched: set[int] = set()
    for one in left:
        found = False
        for index, other in enumerate(others):
            if not one.time - node.lower <= other.time <= one.time + node.upper:
                continue
            if not node.left.keyed:
                yield Timed((one.element, other.element), max(one.time, other.time))
            elif identity(node, one.element[0]) == identity(node, other.element[0]):
                pair = (one.element[1], other.element[1])
                yield Timed((one.element[0], pair), max(one.time, other.time))
                found = True
                matched.add(index)
        if not found and node.variant != "inner":
            yield Timed((one.element[0], (one.element[1], None)), one.time)
    if node.variant == "outer":
        for index, other in enumerate(others):
            if index not in matched:
                yield Timed((other.element[0], (None, other.element[1])), other.time)

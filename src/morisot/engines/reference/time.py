"""The meaning of operators on timestamps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from morisot.engines.reference.registry import Timed, evaluates, failing_as, on_element
from morisot.plan.nodes.time import AddTimestamps, DropTimestamps, Reorder
from morisot.types.moments import to_ticks


@evaluates(AddTimestamps)
def evaluate_add_timestamps(node: AddTimestamps, elements: Iterable[Any]) -> Iterator[Any]:
    kind = node.kind
    assert kind is not None
    for element in elements:
        moment = on_element(node, node.timestamp, element)
        yield Timed(element, failing_as(node, element, partial(to_ticks, moment, kind)))


@evaluates(DropTimestamps)
def evaluate_drop_timestamps(node: DropTimestamps, elements: Iterable[Any]) -> Iterable[Any]:
    return elements


@evaluates(Reorder, sees_time=True)
def evaluate_reorder(node: Reorder, elements: Iterable[Timed]) -> Iterable[Timed]:
    return sorted(elements, key=lambda timed: timed.time)

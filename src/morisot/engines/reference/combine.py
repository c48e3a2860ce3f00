"""What combining and dividing streams means."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from morisot.engines.reference.registry import Timed, evaluates, failing_as, on_element, with_key_of
from morisot.plan.nodes.combine import Branch, Merge, Route, SplitBy, Zip
from morisot.worker.rowwise.branches import NOWHERE, chosen


@evaluates(Merge, sees_time=True)
def evaluate_merge(node: Merge, *streams: Iterable[Any]) -> Iterator[Any]:
    for elements in streams:
        yield from elements


@evaluates(Zip, sees_time=True)
def evaluate_zip(node: Zip, left: Iterable[Any], right: Iterable[Any]) -> Iterator[Any]:
    for first, second in zip(left, right, strict=False):
        if node.time is None:
            yield first, second
        else:
            yield Timed((first.element, second.element), max(first.time, second.time))


@evaluates(SplitBy)
def evaluate_split_by(node: SplitBy, elements: Iterable[Any]) -> Iterator[Any]:
    for element in elements:
        answer = on_element(node, node.function, element)
        numbers = failing_as(node, element, partial(chosen, answer, node.n))
        yield marked(node, element, numbers if node.several else numbers[0])


@evaluates(Route)
def evaluate_route(node: Route, elements: Iterable[Any]) -> Iterator[Any]:
    for element in elements:
        matching = (index for index, each in enumerate(node.predicates) if on_element(node, each, element))
        yield marked(node, element, next(matching, NOWHERE))


def marked(node: SplitBy | Route, element: Any, mark: Any) -> Any:
    """The element with its mark; a keyed one keeps its key in front."""
    return with_key_of(node, element, (mark, element[1] if node.input.keyed else element))


@evaluates(Branch)
def evaluate_branch(node: Branch, elements: Iterable[Any]) -> Iterator[Any]:
    for element in elements:
        mark, value = element[1] if node.input.keyed else element
        if node.number == mark or (isinstance(mark, list) and node.number in mark):
            yield with_key_of(node, element, value)

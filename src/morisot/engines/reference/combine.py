"""The meaning of operators that unite and split streams."""

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
        yield with_branches(node, element, numbers if node.several else numbers[0])


@evaluates(Route)
def evaluate_route(node: Route, elements: Iterable[Any]) -> Iterator[Any]:
    for element in elements:
        matching = (index for index, each in enumerate(node.predicates) if on_element(node, each, element))
        yield with_branches(node, element, next(matching, NOWHERE))


def with_branches(node: SplitBy | Route, element: Any, branches: Any) -> Any:
    """The element with its branch numbers, and with its key in front if it is keyed."""
    return with_key_of(node, element, (branches, element[1] if node.input.keyed else element))


@evaluates(Branch)
def evaluate_branch(node: Branch, elements: Iterable[Any]) -> Iterator[Any]:
    for element in elements:
        branches, value = element[1] if node.input.keyed else element
        if node.number == branches or (isinstance(branches, list) and node.number in branches):
            yield with_key_of(node, element, value)

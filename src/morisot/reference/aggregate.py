"""What aggregates mean: a loop over the stream, or over the elements of each key."""

from __future__ import annotations

import copy
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from morisot.errors import ElementError
from morisot.plan.aggregate import (
    Aggregate,
    Avg,
    Count,
    FoldAssoc,
    Limit,
    MaxElement,
    MinElement,
    ReduceAssoc,
    Sum,
    Unique,
)
from morisot.plan.node import Node
from morisot.reference.registry import call, evaluates
from morisot.worker.failure import element_error
from morisot.worker.keys import canonical


def per_group(node: Aggregate, elements: Iterable[Any], result: Callable[[Sequence[Any]], Any]) -> Iterator[Any]:
    """The result of all elements, or of each key's in the order they came; an empty stream gives none."""
    if not node.input.keyed:
        everything = list(elements)
        if everything:
            yield result(everything)
        return
    groups: dict[bytes, tuple[Any, list[Any]]] = {}
    for key, value in elements:
        groups.setdefault(identity(node, key), (key, []))[1].append(value)
    for key, values in groups.values():
        yield key, result(values)


def identity(node: Node, value: Any) -> bytes:
    """What is equal for equal values; a value that cannot be a key is the element's failure."""
    try:
        return canonical(value)
    except Exception as error:
        raise element_error(node.operator, node.location, value, error, 1) from error


@evaluates(Count)
def evaluate_count(node: Count, elements: Iterable[Any]) -> Iterator[Any]:
    return per_group(node, elements, len)


@evaluates(Sum)
def evaluate_sum(node: Sum, elements: Iterable[Any]) -> Iterator[Any]:
    return per_group(node, elements, lambda group: total(node, group))


def total(node: Sum | Avg, group: Sequence[Any]) -> Any:
    """One value after the other; sum() of newer Pythons adds floats in another way."""
    result: Any = 0
    for element in group:
        value = call(node, node.value, element)
        result = failing_as(node, element, partial(operator.add, result, value))
    return result


def failing_as(node: Node, element: Any, compute: Callable[[], Any]) -> Any:
    """The result, or its failure as that of an element."""
    try:
        return compute()
    except ElementError:
        raise
    except Exception as error:
        raise element_error(node.operator, node.location, element, error, 1) from error


@evaluates(Avg)
def evaluate_avg(node: Avg, elements: Iterable[Any]) -> Iterator[Any]:
    return per_group(node, elements, lambda group: total(node, group) / len(group))


@evaluates(MinElement)
def evaluate_min_element(node: MinElement, elements: Iterable[Any]) -> Iterator[Any]:
    def least(group: Sequence[Any]) -> Any:
        return failing_as(node, group, lambda: min(group, key=lambda element: call(node, node.value, element)))

    return per_group(node, elements, least)


@evaluates(MaxElement)
def evaluate_max_element(node: MaxElement, elements: Iterable[Any]) -> Iterator[Any]:
    def most(group: Sequence[Any]) -> Any:
        return failing_as(node, group, lambda: max(group, key=lambda element: call(node, node.value, element)))

    return per_group(node, elements, most)


@evaluates(ReduceAssoc)
def evaluate_reduce_assoc(node: ReduceAssoc, elements: Iterable[Any]) -> Iterator[Any]:
    def reduced(group: Sequence[Any]) -> Any:
        accumulator = group[0]
        for element in group[1:]:
            accumulator = call(node, node.function, accumulator, element)
        return accumulator

    return per_group(node, elements, reduced)


@evaluates(FoldAssoc)
def evaluate_fold_assoc(node: FoldAssoc, elements: Iterable[Any]) -> Iterator[Any]:
    def folded(group: Sequence[Any]) -> Any:
        accumulator = copy.deepcopy(node.init)
        for element in group:
            accumulator = call(node, node.local, accumulator, element)
        return accumulator

    return per_group(node, elements, folded)


@evaluates(Limit)
def evaluate_limit(node: Limit, elements: Iterable[Any]) -> Iterable[Any]:
    return list(elements)[node.offset : node.offset + node.n]


@evaluates(Unique)
def evaluate_unique(node: Unique, elements: Iterable[Any]) -> Iterator[Any]:
    seen: set[bytes] = set()
    for element in elements:
        same = identity(node, element)
        if same not in seen:
            seen.add(same)
            yield element

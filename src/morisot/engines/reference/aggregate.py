"""The meaning of aggregates: a loop over the stream, or over the elements of each key."""

from __future__ import annotations

import copy
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from morisot.engines.reference.registry import (
    Timed,
    advance,
    call,
    evaluates,
    failing_as,
    fitting,
    identity,
    leave_out,
    on_element,
    plain,
)
from morisot.errors import ElementError
from morisot.plan.nodes.aggregate import (
    Aggregation,
    Avg,
    Count,
    First,
    Fold,
    FoldAssoc,
    Limit,
    MaxElement,
    MinElement,
    Reduce,
    ReduceAssoc,
    SortedBy,
    Sum,
    Unique,
    UniqueWithin,
    WithAggregate,
)
from morisot.plan.nodes.closure import Closure


def per_group(node: Aggregation, elements: Iterable[Any], result: Callable[[Sequence[Any]], Any]) -> Iterator[Any]:
    """The result of all elements, or of those of each key, in stream order. An empty stream has no result."""
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


@evaluates(Count)
def evaluate_count(node: Count, elements: Iterable[Any]) -> Iterator[Any]:
    return per_group(node, elements, len)


@evaluates(Sum)
def evaluate_sum(node: Sum, elements: Iterable[Any]) -> Iterator[Any]:
    return per_group(node, valued(node, elements), lambda group: total(node, group))


def valued(node: Sum | Avg | MinElement | MaxElement, elements: Iterable[Any]) -> Iterator[Any]:
    """Pairs of value and element, with the key if there is one. An element whose value fails may be skipped."""
    for element in elements:
        plain = element[1] if node.input.keyed else element
        try:
            pair = (call(node, node.value, plain), plain)
        except ElementError as error:
            leave_out(node, error)
        else:
            yield (element[0], pair) if node.input.keyed else pair


def total(node: Sum | Avg, group: Sequence[Any]) -> Any:
    """One value after the other; sum() of newer Pythons adds floats in another way."""
    result: Any = 0
    for value, element in group:
        result = failing_as(node, element, partial(operator.add, result, value))
    return result


@evaluates(Avg)
def evaluate_avg(node: Avg, elements: Iterable[Any]) -> Iterator[Any]:
    return per_group(node, valued(node, elements), lambda group: total(node, group) / len(group))


def elements_of(group: Sequence[Any]) -> list[Any]:
    return [element for _, element in group]


@evaluates(MinElement)
def evaluate_min_element(node: MinElement, elements: Iterable[Any]) -> Iterator[Any]:
    def least(group: Sequence[Any]) -> Any:
        return failing_as(node, elements_of(group), lambda: min(group, key=operator.itemgetter(0))[1])

    return per_group(node, valued(node, elements), least)


@evaluates(MaxElement)
def evaluate_max_element(node: MaxElement, elements: Iterable[Any]) -> Iterator[Any]:
    def most(group: Sequence[Any]) -> Any:
        return failing_as(node, elements_of(group), lambda: max(group, key=operator.itemgetter(0))[1])

    return per_group(node, valued(node, elements), most)


@evaluates(ReduceAssoc)
def evaluate_reduce_assoc(node: ReduceAssoc, elements: Iterable[Any]) -> Iterator[Any]:
    def reduced(group: Sequence[Any]) -> Any:
        accumulator = group[0]
        for element in group[1:]:
            accumulator = advance(node, node.function, accumulator, element)
        return fitting(node, node.function, accumulator, accumulator)

    return per_group(node, elements, reduced)


@evaluates(FoldAssoc)
def evaluate_fold_assoc(node: FoldAssoc, elements: Iterable[Any]) -> Iterator[Any]:
    """An element on which `local` fails may be skipped. A group of which all are skipped has no result."""
    return folded(node, elements, node.local)


def folded(node: FoldAssoc | Fold, elements: Iterable[Any], function: Closure) -> Iterator[Any]:
    def results(group: Sequence[Any]) -> list[Any]:
        taken: list[Any] = []
        for element in group:
            try:
                taken = [advance(node, function, taken[0] if taken else copy.deepcopy(node.init), element)]
            except ElementError as error:
                leave_out(node, error)
        return [fitting(node, function, value, value) for value in taken]

    for result in per_group(node, elements, results):
        key, found = result if node.input.keyed else (None, result)
        for value in found:
            yield (key, value) if node.input.keyed else value


@evaluates(Fold)
def evaluate_fold(node: Fold, elements: Iterable[Any]) -> Iterator[Any]:
    """An element on which the function fails may be skipped."""
    return folded(node, elements, node.function)


@evaluates(Reduce)
def evaluate_reduce(node: Reduce, elements: Iterable[Any]) -> Iterator[Any]:
    def reduced(group: Sequence[Any]) -> Any:
        accumulator = group[0]
        for element in group[1:]:
            try:
                accumulator = advance(node, node.function, accumulator, element)
            except ElementError as error:
                leave_out(node, error)
        return fitting(node, node.function, accumulator, accumulator)

    return per_group(node, elements, reduced)


@evaluates(First, sees_time=True)
def evaluate_first(node: First, elements: Iterable[Any]) -> Iterator[Any]:
    def key(element: Any) -> bytes:
        return identity(node, element[0]) if node.input.keyed else b""

    return first_of_each(elements, key)


def first_of_each(elements: Iterable[Any], key: Callable[[Any], bytes]) -> Iterator[Any]:
    """The first element of each key, with its timestamp if it has one."""
    seen: set[bytes] = set()
    for given in elements:
        same = key(given.element if isinstance(given, Timed) else given)
        if same not in seen:
            seen.add(same)
            yield given


@evaluates(WithAggregate, sees_time=True)
def evaluate_with_aggregate(node: WithAggregate, elements: Iterable[Any], results: Iterable[Any]) -> Iterator[Any]:
    keyed = node.input.keyed
    found = list(results)
    of_key = {identity(node, key): result for key, result in found} if keyed else {}
    for given in elements:
        element = given.element if isinstance(given, Timed) else given
        if keyed:
            both: Any = (element[0], (element[1], of_key[identity(node, element[0])]))
        else:
            both = (element, found[0])
        yield Timed(both, given.time) if isinstance(given, Timed) else both


@evaluates(SortedBy, sees_time=True)
def evaluate_sorted_by(node: SortedBy, elements: Iterable[Any]) -> Iterable[Any]:
    def key(given: Any) -> Any:
        return on_element(node, node.key, given.element if isinstance(given, Timed) else given)

    everything = list(elements)
    ordered = failing_as(node, plain(everything[:2]), lambda: sorted(everything, key=key))
    return ordered[node.offset : None if node.n is None else node.offset + node.n]  # type: ignore[no-any-return]


@evaluates(Limit, sees_time=True)
def evaluate_limit(node: Limit, elements: Iterable[Any]) -> Iterable[Any]:
    return list(elements)[node.offset : node.offset + node.n]


@evaluates(Unique, sees_time=True)
def evaluate_unique(node: Unique, elements: Iterable[Any]) -> Iterator[Any]:
    return first_of_each(elements, partial(identity, node))


@evaluates(UniqueWithin, sees_time=True)
def evaluate_unique_within(node: UniqueWithin, elements: Iterable[Timed]) -> Iterator[Timed]:
    retained: dict[bytes, list[int]] = {}
    for timed in elements:
        key, _ = timed.element
        times = retained.setdefault(identity(node, key), [])
        if all(abs(timed.time - other) >= node.within for other in times):
            times.append(timed.time)
            yield timed

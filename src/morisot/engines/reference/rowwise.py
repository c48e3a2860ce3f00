"""The meaning of row-wise operators."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from typing import Any

from morisot.engines.reference.registry import evaluates, fitting, on_element, with_key_of
from morisot.plan.nodes.rowwise import Filter, FilterMap, FlatMap, Flatten, Inspect, Map, MapAsync, MapMemo, Rowwise
from morisot.plan.nodes.state import WithoutIds
from morisot.worker.report.failure import element_error


@evaluates(Map)
@evaluates(WithoutIds)
def evaluate_map(node: Map, elements: Iterable[Any]) -> Iterator[Any]:
    for element in elements:
        value = on_element(node, node.function, element)
        yield with_key_of(node, element, fitting(node, node.function, element, value))


@evaluates(Filter)
def evaluate_filter(node: Filter, elements: Iterable[Any]) -> Iterator[Any]:
    return (element for element in elements if on_element(node, node.predicate, element))


@evaluates(FlatMap)
def evaluate_flat_map(node: FlatMap, elements: Iterable[Any]) -> Iterator[Any]:
    for element in elements:
        for item in items_of(node, element, on_element(node, node.function, element)):
            yield with_key_of(node, element, fitting(node, node.function, element, item))


@evaluates(FilterMap)
def evaluate_filter_map(node: FilterMap, elements: Iterable[Any]) -> Iterator[Any]:
    for element in elements:
        value = on_element(node, node.function, element)
        if value is not None:
            yield with_key_of(node, element, fitting(node, node.function, element, value))


@evaluates(Flatten)
def evaluate_flatten(node: Flatten, elements: Iterable[Any]) -> Iterator[Any]:
    for element in elements:
        for item in items_of(node, element, element[1] if node.input.keyed else element):
            yield with_key_of(node, element, item)


@evaluates(Inspect)
def evaluate_inspect(node: Inspect, elements: Iterable[Any]) -> Iterator[Any]:
    for element in elements:
        on_element(node, node.function, element)
        yield element


@evaluates(MapMemo)
def evaluate_map_memo(node: MapMemo, elements: Iterable[Any]) -> Iterator[Any]:
    """The result for the first element of a key is used for the elements of the key that follow."""
    remembered: dict[Any, Any] = {}
    for element in elements:
        key = on_element(node, node.key, element) if node.key else element
        if key not in remembered:
            value = on_element(node, node.function, element)
            remembered[key] = fitting(node, node.function, element, value)
        yield with_key_of(node, element, remembered[key])


@evaluates(MapAsync)
def evaluate_map_async(node: MapAsync, elements: Iterable[Any]) -> Iterator[Any]:
    async def one(element: Any) -> Any:
        return await on_element(node, node.function, element)

    for element in elements:
        try:
            value = asyncio.run(one(element))
        except Exception as error:
            raise element_error(node.operator, node.location, element, error) from error
        yield with_key_of(node, element, fitting(node, node.function, element, value))


def items_of(node: Rowwise, element: Any, container: Any) -> Iterator[Any]:
    """The items of a container. If the iteration fails, it is the failure of the element."""
    try:
        yield from container
    except GeneratorExit:
        raise
    except Exception as error:
        raise element_error(node.operator, node.location, element, error, 1) from error

"""The nodes of windows whose results have bounds, are several elements, or leave failures out."""

from __future__ import annotations

import dataclasses
from typing import Any, TypeVar

from morisot.plan.nodes.closure import Closure
from morisot.plan.nodes.node import Node
from morisot.plan.nodes.rowwise import FlatMap, Flatten
from morisot.plan.nodes.window import Window, WindowJoin, WithoutFailures
from morisot.plan.on_error import OnError as Policy
from morisot.types.element import Keyed, List, Record, Type, with_value
from morisot.types.windows import Windowed

W = TypeVar("W", bound=Window | WindowJoin)


def with_bounds(result: Type, clock: Type) -> Record:
    """The type of a result with the bounds of its window."""
    return Record(Windowed, Windowed._fields, (clock, clock, result))


def bounded_node(node: W) -> W:
    """The node with the bounds of windows in its results."""
    type_ = with_value(node.type, with_bounds(node.result, node.clock))
    return dataclasses.replace(node, bounds=True, type=type_)


def elements_of(window: Window) -> Node:
    """The elements that each window has selected, as results of their own."""
    location, operator = window.location, window.operator
    assert isinstance(window.result, List)
    if not window.bounds:
        type_ = with_value(window.type, window.result.item)
        return Flatten(window, type=type_, location=location, operator=operator)
    bounds = with_bounds(window.result.item, window.clock)
    items = _bounded_each_of_key if isinstance(window.type, Keyed) else _bounded_each
    closure = Closure(items, location, operator, List(bounds))
    return FlatMap(window, closure, type=with_value(window.type, bounds), location=location, operator=operator)


def has_selected(node: Node) -> bool:
    """Whether a node has the elements that windows have selected, without bounds."""
    return isinstance(node, Flatten) and isinstance(node.input, Window) and node.operator == node.input.operator


def _bounded_each(window: Windowed[Any, list[Any]]) -> list[Any]:
    return [Windowed(window.start, window.end, element) for element in window.value]


def _bounded_each_of_key(_: Any, window: Windowed[Any, list[Any]]) -> list[Any]:
    return [Windowed(window.start, window.end, element) for element in window.value]


def leaving_out(node: Window, policy: Policy) -> WithoutFailures:
    """The fold of a window that skips elements on which its function fails."""
    (measure,) = node.measures
    trying = dataclasses.replace(measure, on_error=policy)
    folded = dataclasses.replace(node, measures=(trying,), bounds=False, type=with_value(node.type, trying.result))
    return WithoutFailures(
        bounded_node(folded) if node.bounds else folded,
        bounds=node.bounds,
        element=node.element,
        type=node.type,
        location=node.location,
        operator=node.operator,
        on_error=policy,
    )


def bounded_without_failures(node: WithoutFailures) -> WithoutFailures:
    """The same with the windows' bounds."""
    assert isinstance(node.input, Window)
    window = bounded_node(node.input)
    (measure,) = window.measures
    type_ = with_value(node.type, with_bounds(measure.type, window.clock))
    return dataclasses.replace(node, input=window, bounds=True, type=type_)

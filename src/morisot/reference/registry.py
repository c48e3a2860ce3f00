"""Which operator means what: one plain function per kind of node."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from morisot.plan.closure import Closure
from morisot.plan.node import Node
from morisot.worker.failure import element_error

Meaning = Callable[..., Iterable[Any]]
"""(node, *elements of the inputs) -> elements"""

_MEANINGS: dict[type[Node], Meaning] = {}
M = TypeVar("M", bound=Callable[..., Any])


def evaluates(node_type: type[Node]) -> Callable[[M], M]:
    """Register what a node means."""

    def register(meaning: M) -> M:
        _MEANINGS[node_type] = meaning
        return meaning

    return register


def meaning_of(node: Node) -> Meaning | None:
    return _MEANINGS.get(type(node))


def has_meaning(node_type: type[Node]) -> bool:
    return node_type in _MEANINGS


def call(node: Node, closure: Closure, *arguments: Any) -> Any:
    """What a user's function gives, or an ElementError that names the operator and the element."""
    try:
        return closure.function(*arguments)
    except Exception as error:
        element = arguments[0] if len(arguments) == 1 else arguments
        raise element_error(node.operator, node.location, element, error, 1) from error


def on_element(node: Node, closure: Closure, element: Any) -> Any:
    """What a row-wise function gives for an element: on a keyed stream it takes (key, value)."""
    (source,) = node.inputs
    return call(node, closure, *element) if source.keyed else call(node, closure, element)


def with_key_of(node: Node, element: Any, value: Any) -> Any:
    """The value as an element of the output: on a keyed stream with the key it had."""
    (source,) = node.inputs
    return (element[0], value) if source.keyed else value

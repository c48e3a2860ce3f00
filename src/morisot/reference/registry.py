"""Which operator means what: one plain function per kind of node."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeVar

from morisot.errors import ElementError
from morisot.plan.closure import Closure
from morisot.plan.node import Node
from morisot.worker.failure import element_error
from morisot.worker.keys import canonical

Meaning = Callable[..., Iterable[Any]]
"""(node, *elements of the inputs) -> elements"""

_MEANINGS: dict[type[Node], Meaning] = {}
_SEEING_TIME: set[type[Node]] = set()
M = TypeVar("M", bound=Callable[..., Any])


class Timed(NamedTuple):
    """An element of a stream with timestamps; the timestamp is the number it travels as."""

    element: Any
    time: int


def evaluates(node_type: type[Node], *, sees_time: bool = False) -> Callable[[M], M]:
    """Register what a node means; one that sees time is given `Timed` elements where its input has timestamps."""

    def register(meaning: M) -> M:
        _MEANINGS[node_type] = meaning
        if sees_time:
            _SEEING_TIME.add(node_type)
        return meaning

    return register


def sees_time(node: Node) -> bool:
    return type(node) in _SEEING_TIME


def plain(elements: Iterable[Any]) -> list[Any]:
    """The elements without their timestamps, if they have any."""
    return [element.element if type(element) is Timed else element for element in elements]


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


def advance(node: Node, closure: Closure, state: Any, *element: Any) -> Any:
    """What a function gives for a state (or accumulator) and an element; a failure names the element alone."""
    try:
        return closure.function(state, *element)
    except Exception as error:
        raise element_error(
            node.operator, node.location, element[0] if len(element) == 1 else element, error, 1
        ) from error


def on_element(node: Node, closure: Closure, element: Any) -> Any:
    """What a row-wise function gives for an element: on a keyed stream it takes (key, value)."""
    (source,) = node.inputs
    return call(node, closure, *element) if source.keyed else call(node, closure, element)


def with_key_of(node: Node, element: Any, value: Any) -> Any:
    """The value as an element of the output: on a keyed stream with the key it had."""
    (source,) = node.inputs
    return (element[0], value) if source.keyed else value


def failing_as(node: Node, element: Any, compute: Callable[[], Any]) -> Any:
    """The result, or its failure as that of an element."""
    try:
        return compute()
    except ElementError:
        raise
    except Exception as error:
        raise element_error(node.operator, node.location, element, error, 1) from error


def identity(node: Node, value: Any) -> bytes:
    """What is equal for equal values; a value that cannot be a key is the element's failure."""
    try:
        return canonical(value)
    except Exception as error:
        raise element_error(node.operator, node.location, value, error, 1) from error

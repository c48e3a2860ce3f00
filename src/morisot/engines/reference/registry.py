"""The registry of meanings: one plain function for each kind of node."""

from __future__ import annotations

import contextlib
import functools
import pickle
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from typing import Any, NamedTuple, TypeVar

from morisot.compile.choose import declared
from morisot.errors import ElementError
from morisot.plan.nodes.closure import Closure
from morisot.plan.nodes.keyed import KeyBy
from morisot.plan.nodes.node import Node
from morisot.types.element import ANY, INT, Dict, List, Optional, Type, arguments, holds
from morisot.worker.codec.fits import UnfitValue, checker
from morisot.worker.codec.keys import canonical
from morisot.worker.report.failure import element_error, misfit_error
from morisot.worker.report.left_out import failed

Meaning = Callable[..., Iterable[Any]]
"""(node, *elements of the inputs) -> elements"""

_MEANINGS: dict[type[Node], Meaning] = {}
_SEEING_TIME: set[type[Node]] = set()
M = TypeVar("M", bound=Callable[..., Any])


class Timed(NamedTuple):
    """An element of a stream with timestamps. The timestamp is in ticks."""

    element: Any
    time: int


def evaluates(node_type: type[Node], *, sees_time: bool = False) -> Callable[[M], M]:
    """Registers the meaning of a node. With `sees_time` it gets `Timed` elements if its input has timestamps."""

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


def call(node: Node, closure: Closure, *given: Any) -> Any:
    """The result of a user's function. Raises an ElementError with the operator and the element."""
    try:
        return closure.function(*given)
    except Exception as error:
        element = given[0] if len(given) == 1 else given
        raise element_error(node.operator, node.location, element, error, 1) from error


def advance(node: Node, closure: Closure, state: Any, *element: Any) -> Any:
    """The result of a function for a state (or accumulator) and an element. The error names the element only."""
    try:
        return closure.function(state, *element)
    except Exception as error:
        raise element_error(
            node.operator, node.location, element[0] if len(element) == 1 else element, error, 1
        ) from error


@functools.lru_cache(maxsize=256)
def _checker(type_: Type) -> Callable[[Any], None]:
    return checker(type_, pickle.dumps)


def fitting(node: Node, closure: Closure, element: Any, value: Any) -> Any:
    """The value. Raises an ElementError if it is not of the declared type, or beyond 64 bits."""
    type_ = arguments(node.type)[0 if isinstance(node, KeyBy) else -1]
    if (declared(closure) is not None or holds(type_, INT)) and type_ != ANY:
        try:
            _checker(type_)(value)
        except UnfitValue as refused:
            raise failed(node.operator, node.location, element, refused, 0) from refused.__cause__
    return value


def carried(node: Node, element: Any) -> Any:
    """The element. Raises an ElementError if an int in it is beyond 64 bits."""
    value = element.element if type(element) is Timed else element
    number = _too_large(value, node.type)
    if number is not None:
        error = OverflowError(f"{number} is beyond 64 bits, the range of an int element")
        raise misfit_error(node.operator, node.location, value, error) from error
    return element


def _too_large(value: Any, type_: Type) -> int | None:
    """The first int beyond 64 bits in a value, if its type has ints."""
    match type_:
        case _ if type_ == INT:
            return value if type(value) is int and not -(2**63) <= value < 2**63 else None
        case Optional(inner):
            return None if value is None else _too_large(value, inner)
        case List(inner):
            parts = [(each, inner) for each in value]
        case Dict(inner):
            parts = [(each, inner) for each in value.values()]
        case _ if isinstance(value, tuple):
            parts = list(zip(value, (child for _, child in type_.children), strict=False))
        case _:
            parts = [(getattr(value, name), child) for name, child in type_.children]
    found = (_too_large(part, inner) for part, inner in parts)
    return next((number for number in found if number is not None), None)


_left_out: ContextVar[dict[Node, list[ElementError]]] = ContextVar("left_out")


@contextlib.contextmanager
def noting() -> Iterator[dict[Node, list[ElementError]]]:
    """Collects the failures of skipped elements while plans are evaluated."""
    noted: dict[Node, list[ElementError]] = {}
    token = _left_out.set(noted)
    try:
        yield noted
    finally:
        _left_out.reset(token)


def leave_out(node: Node, error: ElementError) -> None:
    """Records a skipped element. Raises the error if the operator does not skip failing elements."""
    if not node.leaves_out:
        raise error
    _left_out.get()[node].append(error)


def on_element(node: Node, closure: Closure, element: Any) -> Any:
    """The result of a row-wise function for an element. On a keyed stream it takes (key, value)."""
    (source,) = node.inputs
    return call(node, closure, *element) if source.keyed else call(node, closure, element)


def with_key_of(node: Node, element: Any, value: Any) -> Any:
    """The value as an output element, on a keyed stream with the key of the input element."""
    (source,) = node.inputs
    return (element[0], value) if source.keyed else value


def failing_as(node: Node, element: Any, compute: Callable[[], Any]) -> Any:
    """The result of a computation. Its failure is raised as that of an element."""
    try:
        return compute()
    except ElementError:
        raise
    except Exception as error:
        raise element_error(node.operator, node.location, element, error, 1) from error


def identity(node: Node, value: Any) -> bytes:
    """The identity of a key. A value that cannot be a key is the failure of the element."""
    try:
        return canonical(value)
    except Exception as error:
        raise element_error(node.operator, node.location, value, error, 1) from error

"""The registry of meanings: one plain function for each kind of node."""

from __future__ import annotations

import contextlib
import functools
import pickle
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from typing import Any, NamedTuple, TypeVar

from morisot.compile.choose import declared, is_inferred
from morisot.errors import ElementError
from morisot.plan.nodes.closure import Closure
from morisot.plan.nodes.keyed import KeyBy
from morisot.plan.nodes.node import Node
from morisot.types.element import ANY, DATETIME, INT, Type, arguments, holds
from morisot.worker.codec.fits import UnfitValue, checker
from morisot.worker.codec.keys import canonical
from morisot.worker.report.failure import element_error
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
def _checker(type_: Type, sampled: int) -> Callable[[Any], Any]:
    return checker(type_, pickle.dumps, sampled)


@functools.lru_cache(maxsize=256)
def _tested(node: Node, closure: Closure, type_: Type | None) -> Type | None:
    """The type that each result of the function is tested against; None if it is not tested."""
    result = arguments(node.type)[0 if isinstance(node, KeyBy) else -1] if type_ is None else type_
    tested = holds(result, INT) or holds(result, DATETIME) or declared(closure) is not None
    tested = tested or (type_ is None and is_inferred(closure, node.signature("function")))
    return result if tested and result != ANY else None


def fitting(node: Node, closure: Closure, element: Any, value: Any, type_: Type | None = None) -> Any:
    """The value. Raises an ElementError if it is not of the declared or inferred type, or beyond 64 bits."""
    tested = _tested(node, closure, type_)
    if tested is not None:
        try:
            return _checker(tested, closure.sampled)(value)
        except UnfitValue as refused:
            raise failed(node.operator, node.location, element, refused, 0) from refused.__cause__
    return value


def carried(node: Node, element: Any) -> Any:
    """The element. Raises an ElementError if it is not of the type of the stream, or beyond 64 bits."""
    value = element.element if type(element) is Timed else element
    try:
        fitted = _checker(node.type, 0)(value)
    except UnfitValue as refused:
        raise failed(node.operator, node.location, value, refused, 0) from refused.__cause__
    return Timed(fitted, element.time) if type(element) is Timed else fitted


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

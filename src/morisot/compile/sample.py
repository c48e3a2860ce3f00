"""The result type of a row-wise function without source text, from its results for a few elements.

It is the last resort, at a prompt for example. Only the elements of a collection in memory are used, and only by
row-wise functions. They run on copies of the elements and of the captured values. So a later run of the job is the
same as without the sample. Results are tested when the job runs, because later ones may have another type.
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import dis
import inspect
import random
import types
import weakref
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, Literal

from morisot.compile.syntax.reader import read
from morisot.compile.syntax.source_text import has_file
from morisot.compile.verdict import Refusal
from morisot.plan.nodes.closure import Closure, freeze, is_of_library
from morisot.plan.nodes.keyed import KeyBy, Unkey
from morisot.plan.nodes.node import Node
from morisot.plan.nodes.partition import Batched, Shuffle
from morisot.plan.nodes.rowwise import Filter, FilterMap, FlatMap, Flatten, Inspect, Map, MapMemo
from morisot.plan.nodes.source import StreamIter, StreamRange
from morisot.plan.nodes.time import AddTimestamps, DropTimestamps
from morisot.types.element import ANY, NONE, List, Optional, Type
from morisot.types.infer import of_return, of_values, without_none

Results = Literal["values", "items", "optional"]
"""What the results of a function are: elements, collections of elements, or elements and None."""

MOST = 5
"""The most elements that a function runs on."""
_MOST_ITEMS = 100
_EFFECTS = frozenset({"STORE_GLOBAL", "DELETE_GLOBAL", "STORE_ATTR", "DELETE_ATTR"})
"""Instructions that may change an object which is not copied."""
_SUSPENDED = inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR

_results: weakref.WeakKeyDictionary[Closure, tuple[tuple[Any, Any], ...]] = weakref.WeakKeyDictionary()
"""The elements and results of each function that has run, so that it does not run again for the next operator."""


def typed(closure: Closure, node: Node, arity: int, results: Results) -> Closure:
    """The closure with the type of its results for elements of `node`; the same closure if the type stays unknown."""
    function = closure.function
    if closure.returns is not None or of_return(closure.original) is not None or not _lacks_text(function):
        return closure
    found = _run(closure, node, arity)
    type_ = _type([result for _, result in found], results)
    if type_ is None:
        return closure
    known = dataclasses.replace(closure, returns=type_, sampled=len(found))
    _results[known] = found
    return known


def _lacks_text(function: Callable[..., Any]) -> bool:
    """Whether it is a Python function from a prompt, a pipe or exec whose text is unknown."""
    return (
        isinstance(function, types.FunctionType)
        and not has_file(function.__code__)
        and isinstance(read(function), Refusal)
    )


def _type(results: list[Any], kind: Results) -> Type | None:
    if kind == "items":
        results = [item for items in results for item in items]
    found = of_values(results)
    if kind == "optional":
        found = without_none(found)
    if found in (ANY, NONE):
        return None
    return {"values": found, "items": List(found), "optional": Optional(found)}[kind]


# -- elements --------------------------------------------------------------------------------------------------------


def elements(node: Node) -> tuple[Any, ...]:
    """At most five elements of a stream. None if it does not come row by row from a collection in memory."""
    return tuple(islice(_elements(node), MOST))


def _elements(node: Node) -> Iterable[Any]:
    match node:
        case StreamIter(values=values):
            return islice(values, MOST)
        case StreamRange(range=numbers):
            return numbers[:MOST]
        case Inspect() | Shuffle() | Batched() | AddTimestamps() | DropTimestamps():
            return elements(node.inputs[0])
        case Unkey(input=source, keep=keep):
            return [pair if keep == "both" else pair[keep == "value"] for pair in elements(source)]
        case Flatten(input=source):
            return [_paired(source, each, item) for each in elements(source) for item in _value(source, each)]
        case Map() | MapMemo() | Filter() | FilterMap() | FlatMap() | KeyBy():
            return _results_of(node)
    return ()


def _results_of(node: Map | MapMemo | Filter | FilterMap | FlatMap | KeyBy) -> Iterator[Any]:
    source, (_, closure) = node.input, node.closures[0]
    for element, result in _run(closure, source, len(node.signature("key" if isinstance(node, KeyBy) else ""))):
        match node:
            case KeyBy():
                yield result, _value(source, element)
            case Filter():
                if result:
                    yield element
            case FlatMap():
                yield from (_paired(source, element, item) for item in result)
            case _ if result is not None or not isinstance(node, FilterMap):
                yield _paired(source, element, result)


def _paired(source: Node, element: Any, value: Any) -> Any:
    return (element[0], value) if source.keyed else value


def _value(source: Node, element: Any) -> Any:
    return element[1] if source.keyed else element


# -- running ---------------------------------------------------------------------------------------------------------


def _run(closure: Closure, node: Node, arity: int) -> tuple[tuple[Any, Any], ...]:
    """The elements on which the function succeeds, each with its result."""
    if closure not in _results:
        given = elements(node)
        _results[closure] = tuple(_called(closure, node, arity, given)) if given else ()
    return _results[closure]


def _called(closure: Closure, node: Node, arity: int, given: tuple[Any, ...]) -> Iterator[tuple[Any, Any]]:
    if _has_effects(closure.function, set()):
        return
    try:
        function = _copied(closure.function, {})
    except Exception:  # a captured value cannot be copied
        return
    state = random.getstate()
    for element in given:
        with contextlib.suppress(Exception):  # the job reports the failure
            own = copy.deepcopy(element)
            result = function(*(own if arity == 2 else (_value(node, own),)))
            found = list(islice(result, _MOST_ITEMS)) if closure.operator == "flat_map" else result
            yield element, found
    random.setstate(state)


def _has_effects(function: Any, seen: set[int]) -> bool:
    """Whether a function, or a function of the user that it calls, may change what it does not own."""
    if not isinstance(function, types.FunctionType) or id(function) in seen or is_of_library(function):
        return False
    seen.add(id(function))
    codes = list(_codes(function.__code__))
    if function.__code__.co_flags & _SUSPENDED or any(
        instruction.opname in _EFFECTS for code in codes for instruction in dis.get_instructions(code)
    ):
        return True
    return any(_has_effects(value, seen) for value in _captured(freeze(function)))


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


def _captured(function: Any) -> Iterator[Any]:
    yield from function.__globals__.values()
    yield from (cell.cell_contents for cell in function.__closure__ or () if cell != types.CellType())


def _copied(value: Any, copies: dict[int, Any]) -> Any:
    """A copy of a function that shares no object with it that it could change in place."""
    if not isinstance(value, types.FunctionType):
        return value if isinstance(value, types.ModuleType | type) else copy.deepcopy(value, copies)
    if is_of_library(value):
        return value
    if id(value) not in copies:
        frozen = freeze(value)
        assert isinstance(frozen, types.FunctionType)
        copies[id(value)] = frozen
        names = frozen.__globals__
        names |= {name: _copied(each, copies) for name, each in names.items() if not name.startswith("__")}
        for cell in frozen.__closure__ or ():
            if cell != types.CellType():
                cell.cell_contents = _copied(cell.cell_contents, copies)
        frozen.__defaults__ = _copied(frozen.__defaults__, copies)
        frozen.__kwdefaults__ = _copied(frozen.__kwdefaults__, copies)
    return copies[id(value)]

"""The base class of streams: a context, a node, and helpers to add an operator."""

from __future__ import annotations

import dataclasses
import dis
import os
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from morisot.api.adapters import is_pair, of_key_and_sides, takes
from morisot.api.location import caller
from morisot.compile.choose import verdict_of
from morisot.compile.sample import Results, typed
from morisot.compile.verdict import Verdict
from morisot.errors import ElementError, Location, PlanError
from morisot.plan.late import Late
from morisot.plan.nodes.closure import Closure
from morisot.plan.nodes.node import Node
from morisot.plan.nodes.rowwise import Inspect
from morisot.plan.nodes.state import WithoutIds
from morisot.plan.on_error import Divert
from morisot.plan.on_error import OnError as Policy
from morisot.types import infer
from morisot.types.annotations import signature_of
from morisot.types.element import ANY, Type, arguments

if TYPE_CHECKING:
    from typing import Self

    from morisot.api.context import StreamContext

T = TypeVar("T")
PathLike = str | os.PathLike[str]
OnError = Literal["raise", "skip"] | Callable[[ElementError], Any]
"""The values of `on_error`: stop the job, skip and count the element, or a handler of the failure."""


class StreamBase(Generic[T]):
    """A stream: a description of a computation, which runs when a sink does."""

    def __init__(self, context: StreamContext, node: Node) -> None:
        context.check(node)
        self._context = context
        self._node = node

    @property
    def type(self) -> Type:
        """The type of the elements; `object` if it is unknown, and elements are pickled."""
        return self._node.type

    @property
    def bounded(self) -> bool:
        """Whether the stream ends by itself."""
        return self._node.bounded

    def name(self, label: str) -> Self:
        """Names the operator, for explain, drawings and snapshots."""
        node = self._node
        if isinstance(node, WithoutIds):
            node = dataclasses.replace(node, input=dataclasses.replace(node.input, label=label))
        return type(self)(self._context, dataclasses.replace(node, label=label))

    def _start(self, init: Any, function: Callable[..., Any], returns: Any, operator: str) -> Type:
        """The type of an accumulator: `returns=`, the return annotation, or the type of the initial value."""
        if returns is None:
            return infer.of_start(init, infer.of_return(function))
        declared = infer.of_annotation(returns)
        if not infer.is_instance(init, declared):
            raise PlanError(
                f"{operator} starts from {init!r}, which is not of the type {declared}",
                location=caller(),
                advice="correct `returns=`, which is the type of the accumulator, or the initial value",
            )
        return declared

    def _closure(self, function: Callable[..., Any], operator: str, arity: int, returns: Any = None) -> Closure:
        """The user's function, wrapped. Raises an error if it cannot take its arguments."""
        location = caller()
        declared = None if returns is None else infer.of_annotation(returns)
        check_callable(function, operator, arity, location)
        return Closure(function, location, operator, declared)

    def _compiled(
        self, function: Callable[..., Any], operator: str, parameters: tuple[Type, ...], returns: Any = None
    ) -> tuple[Closure, Verdict]:
        """The user's function, wrapped, and the compiler's verdict on it."""
        closure = self._closure(function, operator, len(parameters), returns)
        warn_of_lost_changes(function, closure.location)
        return closure, verdict_of(closure, parameters)

    def _rowwise(
        self,
        function: Callable[..., Any],
        operator: str,
        parameters: tuple[Type, ...],
        returns: Any = None,
        results: Results = "values",
    ) -> tuple[Closure, Verdict]:
        """The same for a row-wise function. Its type may be inferred from its results for a few elements."""
        closure, verdict = self._compiled(function, operator, parameters, returns)
        if verdict.type != ANY or not self._context.config.sample:
            return closure, verdict
        known = typed(closure, self._node, len(parameters), results)
        return known, verdict_of(known, parameters)

    def _spread(self, function: Callable[..., Any], *, frozen: bool = True) -> Callable[..., Any]:
        """The function of an element. Behind a join it may take (key, left, right)."""
        if is_pair(self.type) and takes(function, 3) and not takes(function, 2):
            return of_key_and_sides(function, frozen=frozen)
        return function

    def _policy(self, on_error: OnError, operator: str) -> Policy:
        """The treatment of elements on which the function fails. Raises an error for other values."""
        if on_error in ("raise", "skip"):
            return on_error
        location = caller()
        if not callable(on_error):
            raise PlanError(
                f"{operator} does not support on_error={on_error!r}",
                location=location,
                advice='pass on_error="raise", on_error="skip", or a function that takes the mo.ElementError',
            )
        check_callable(on_error, f"on_error of {operator}", 1, location, "the mo.ElementError")
        return Divert(on_error)

    def _tried(self, closure: Closure, on_error: OnError) -> Node:
        """The stream without the elements on which the function fails, if these are skipped. They are counted.

        It is for operators that shuffle elements by the result of a function: the function is called once more before.
        """
        policy = self._policy(on_error, closure.operator)
        if policy == "raise":
            return self._node
        return Inspect(
            self._node,
            closure,
            type=self.type,
            location=closure.location,
            operator=closure.operator,
            on_error=policy,
        )

    def _late(self, handler: Callable[..., Any] | None, operator: str) -> Late | None:
        """The handler of late elements. Raises an error if it is not a function of an element."""
        keyed = len(self._arguments) > 1
        return late_handler(handler, operator, "the value" if keyed else "the element", keyed=keyed)

    @property
    def _arguments(self) -> tuple[Type, ...]:
        return arguments(self._node.type)


def late_handler(handler: Callable[..., Any] | None, operator: str, what: str, *, keyed: bool) -> Late | None:
    """The handler of late elements, with the key as first argument if there is one. Raises an error if it is none."""
    if handler is None:
        return None
    advice = f"write a function that takes {'the key and ' if keyed else ''}{what}"
    check_callable(handler, f"late of {operator}", 2 if keyed else 1, caller(), what, advice=advice)
    return Late(handler, keyed=keyed)


def check_batch_size(size: int | None, name: str, operator: str, *, unbounded: bool, followed: str) -> None:
    """Raises an error for an invalid size of micro-batches, or for a size on bounded input."""
    if size is None:
        return
    if not unbounded:
        raise PlanError(
            f"{operator} reads all elements at once: {name}= is for a {followed} that is followed",
            location=caller(),
            advice="remove it, or pass unbounded=True",
        )
    if type(size) is not int or size < 1:
        raise PlanError(f"{name} is {size!r}: give a whole number of 1 or more", location=caller())


KEYED_ADVICE = "on a keyed stream functions take (key, value); on a plain one, the element"


def warn_of_lost_changes(function: Any, location: Location) -> None:
    """Warns of an object whose `__call__` sets its attributes: they are no state.

    An attribute that is still None is what the first call makes, such as a model: each copy makes its own.
    """
    called = vars(type(function)).get("__call__")
    code = getattr(called, "__code__", None)
    if code is None:  # a function, or an object of C
        return
    stored = {each.argval for each in dis.get_instructions(code) if each.opname == "STORE_ATTR"}
    values = getattr(function, "__dict__", {})
    changed = sorted(name for name in stored if values.get(name) is not None)
    if changed:
        warnings.warn_explicit(
            f"{type(function).__name__} sets {', '.join(changed)}, and each task sets that of its own copy: it is no "
            "state. Use rich_map, or apply with a mo.Operator that has a key store",
            RuntimeWarning,
            location.file,
            location.line,
        )


def check_callable(
    function: Any,
    operator: str,
    arity: int,
    location: Any,
    argument: str = "the element",
    *,
    advice: str | None = None,
) -> None:
    """Raises an error unless it is a function that takes `arity` arguments."""
    if not callable(function):
        raise PlanError(
            f"{operator} needs a function, not {function!r}", location=location, advice="pass a lambda or a def"
        )
    try:
        signature = signature_of(function)
    except (TypeError, ValueError):  # some builtins have no signature to check
        return
    try:
        signature.bind(*range(arity))
    except TypeError:
        what = {1: f"one argument, {argument}", 2: "two arguments"}.get(arity, f"{arity} arguments")
        raise PlanError(
            f"the function given to {operator} is called with {what}, but it is written as "
            f"{getattr(function, '__name__', 'function')}{signature}",
            location=location,
            advice=advice
            or (KEYED_ADVICE if argument == "the element" else f"write a function of one argument, {argument}"),
        ) from None

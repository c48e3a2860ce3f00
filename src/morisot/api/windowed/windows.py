"""Creates the nodes of windows, for plain and keyed streams."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from morisot.api import agg
from morisot.api.agg import Aggregate
from morisot.api.base import OnError, StreamBase, check_callable, late_handler
from morisot.api.checks.windows import check_bounds, check_late, check_value
from morisot.api.joins.checks import LATE_PAIR
from morisot.api.location import caller
from morisot.api.windowed.nodes import bounded_node, elements_of, leaving_out
from morisot.compile.choose import sees_order, verdict_of
from morisot.compile.sample import typed
from morisot.errors import PlanError
from morisot.plan.late import Late
from morisot.plan.nodes.closure import Closure
from morisot.plan.nodes.node import Node
from morisot.plan.nodes.window import (
    AllKind,
    CountKind,
    Measure,
    SessionKind,
    TimeKind,
    Window,
    WindowJoin,
    WindowKind,
)
from morisot.types import infer
from morisot.types.element import ANY, FLOAT, INT, NONE, NUMBERS, List, Tuple, Type, with_value
from morisot.types.windows import Accumulator, Windowed

if TYPE_CHECKING:
    from typing import Self

_ADVICE: dict[str, str] = {
    "fold": "fold(init, function) calls function(accumulator, element)",
    "reduce": "reduce(function) calls function(accumulator, element)",
    "map": "map(function) calls the function with the list of a window's elements",
}
_ARITY = {"fold": 2, "reduce": 2}
_ROWWISE = {"sum", "mean", "min", "max"}
"""The aggregates of the results of a row-wise function."""


class WindowsBase:
    """Creates the nodes, for plain and keyed streams."""

    def __init__(
        self,
        stream: StreamBase[Any],
        kind: WindowKind,
        operator: str,
        bounds: bool = False,
        late: Late | None = None,
    ) -> None:
        self._stream = stream
        self._late = late
        self._kind = kind
        self._operator = operator
        self._bounds = bounds

    def with_bounds(self) -> Self:
        """The same windows, with results as `Windowed(start, end, value)`."""
        return type(self)(self._stream, self._kind, self._operator, bounds=True, late=self._late)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._kind!r}: call sum(), fold(…), map(…) or another aggregate on it>"

    @property
    def _element(self) -> Type:
        return self._stream._arguments[-1]

    def _window(self, method: str, *aggregates: Any, named: dict[str, Any] | None = None) -> Window:
        source = self._stream._node
        operator = f"{self._operator}.{method}"
        measures = tuple(self._measure(each, operator) for each in aggregates)
        row = None
        if named:
            measures = tuple(self._measure(each, operator, name) for name, each in named.items())
            row = infer.row_type([(name, each.type) for name, each in zip(named, measures, strict=True)])
        type_ = with_value(source.type, row or measures[0].type)
        node = Window(
            source, self._kind, measures, row, late=self._late, type=type_, location=caller(), operator=operator
        )
        return bounded_node(node) if self._bounds else node

    def _tried(self, function: Callable[..., Any] | None, on_error: OnError, method: str) -> Self:
        """The windows of the elements on which the function does not fail, if the others are skipped."""
        operator, stream = f"{self._operator}.{method}", self._stream
        if stream._policy(on_error, operator) == "raise" or function is None:
            return self
        check_callable(function, operator, 1, caller(), "an element of the window")
        keyed = stream._node.keyed
        whole = (lambda _, value: function(value)) if keyed else function
        node = stream._tried(Closure(whole, caller(), operator), on_error)
        left = stream._context.keyed(node) if keyed else stream._context.plain(node)
        return type(self)(left, self._kind, self._operator, self._bounds, self._late)

    def _mapped(self, function: Callable[..., Any], returns: Any, on_error: OnError) -> Any:
        """The result of a function for each window. A window on which it fails may be skipped."""
        operator = f"{self._operator}.map"
        if self._stream._policy(on_error, operator) == "raise":
            return self._make("map", agg.map(function, returns=returns))
        check_callable(function, operator, 1, caller(), "the list of a window's elements", advice=_ADVICE["map"])
        contents, keyed = self._make("map", agg.map(list)), self._stream._node.keyed
        if not self._bounds:
            whole = (lambda _, elements: function(elements)) if keyed else function
            return contents.map(whole, returns=returns, on_error=on_error)
        if keyed:
            return contents.map(
                lambda _, window: Windowed(window.start, window.end, function(window.value)), on_error=on_error
            )
        return contents.map(
            lambda window: Windowed(window.start, window.end, function(window.value)), on_error=on_error
        )

    def _best_elements(self, value: Callable[..., Any], best: Any, method: str, on_error: OnError) -> Any:
        """The elements of each window with the extreme value, each as a result of its own."""
        operator = f"{self._operator}.{method}"
        check_callable(value, operator, 1, caller(), "an element of the window")
        closure = Closure(value, caller(), operator)
        check_value(method, verdict_of(closure, (self._element,)).type, operator)
        of, element = closure.function, self._element

        def elements(window: list[Any]) -> list[Any]:
            extreme = best(of(each) for each in window)
            return [each for each in window if of(each) == extreme]

        chosen = self._tried(value, on_error, method)._make(method, Aggregate("map", elements, returns=List(element)))
        return type(chosen)(chosen._context, elements_of(chosen._node))

    def _folded(self, method: str, aggregate: Aggregate, on_error: OnError) -> Any:
        """A fold of each window. It may skip elements on which its function fails."""
        policy = self._stream._policy(on_error, f"{self._operator}.{method}")
        made = self._make(method, aggregate)
        return made if policy == "raise" else type(made)(self._stream._context, leaving_out(made._node, policy))

    def _make(self, method: str, *aggregates: Any, **named: Any) -> Any:
        raise NotImplementedError

    def _join(self, other: Any, late: Callable[..., Any] | None) -> Node:
        operator, location = f"{self._operator}.join", caller()
        stream = other._stream if isinstance(other, WindowsBase) else other
        check_sides(self, other, stream, operator)
        handler = self._late_pairs(other, late, operator)
        left, right = self._stream._node, stream._node
        type_ = with_value(left.type, Tuple((self._element, stream._arguments[-1])))
        node = WindowJoin(left, right, self._kind, late=handler, type=type_, location=location, operator=operator)
        if not self._bounds:
            return node
        check_bounds(node)
        return bounded_node(node)

    def _late_pairs(self, other: Any, late: Callable[..., Any] | None, operator: str) -> Late | None:
        """The handler of the late elements of both sides."""
        if self._late is not None or (isinstance(other, WindowsBase) and other._late is not None):
            raise PlanError(
                f"{operator} takes late= itself: elements of two streams may be late",
                location=caller(),
                advice=f"pass it to join, not to {self._operator}: it gets {LATE_PAIR}",
            )
        check_late(self._kind, late, operator)
        return late_handler(late, operator, LATE_PAIR, keyed=self._stream._node.keyed)

    def _measure(self, given: Any, operator: str, name: str = "") -> Measure:
        """The measure of a user's aggregate for these elements."""
        location = caller()
        if isinstance(given, Accumulator):
            type_ = infer.of_return(given.finish) or ANY
            return Measure("custom", type_, Closure(given.add, location, operator), accumulator=given, name=name)
        if not isinstance(given, Aggregate):
            raise PlanError(
                f"{operator} takes aggregates, not {given!r}",
                location=location,
                advice="for example aggregate(total=mo.agg.sum(), n=mo.agg.count()), or an Accumulator of your own",
            )
        closure = None
        if given.function is not None or given.kind in _ADVICE or given.kind.endswith("element"):
            advice = _ADVICE.get(given.kind, "the function takes an element of the window, without its key")
            argument = "the list of a window's elements" if given.kind == "map" else "an element of the window"
            check_callable(given.function, operator, _ARITY.get(given.kind, 1), location, argument, advice=advice)
            returns = None if given.returns is None else infer.of_annotation(given.returns)
            closure = Closure(given.function, location, operator, returns)
            if given.kind in _ROWWISE and self._stream._context.config.sample:
                closure = typed(closure, self._stream._node, 1, "values")
        type_ = self._type_of(given, closure, operator)
        in_order = given.kind != "map" or closure is None or sees_order(closure, self._element)
        return Measure(given.kind, type_, closure, given.init, name=name, sees_order=in_order)

    def _type_of(self, given: Aggregate, closure: Closure | None, operator: str) -> Type:
        element = self._element
        match given.kind:
            case "count":
                return INT
            case "first" | "last" | "min_element" | "max_element":
                return element
            case "fold":
                assert closure is not None
                start = self._stream._start(given.init, closure.original, given.returns, operator)
                keeps = start not in (ANY, NONE) and verdict_of(closure, (start, element)).type == start
                return start if keeps else ANY
            case "reduce":
                assert closure is not None
                return infer.reduced(element, verdict_of(closure, (element, element)).type)
            case "map":
                assert closure is not None
                return verdict_of(closure, (List(element),)).type
        value = element if closure is None else verdict_of(closure, (element,)).type
        check_value(given.kind, value, operator)
        if given.kind in ("min", "max"):
            return value
        number = infer.without_none(value)  # None has no sum: it fails
        if number not in NUMBERS:
            return ANY
        return FLOAT if given.kind == "mean" or number == FLOAT else INT


_JOINED = (CountKind, TimeKind, SessionKind, AllKind)
"""The kinds of windows that can be joined."""


def check_sides(windows: WindowsBase, other: Any, stream: Any, operator: str) -> None:
    """Raises an error for windows that cannot be joined."""
    location, kind, left = caller(), windows._kind, windows._stream._node
    if not isinstance(stream, StreamBase):
        raise PlanError(f"{operator} needs a stream or its windows, not {other!r}", location=location)
    right = stream._node
    if left.keyed != right.keyed:
        raise PlanError(
            f"{operator} joins two streams with keys, or two without",
            location=location,
            advice="give both keys with group_by(…) and use window(…), or neither and use window_all(…)",
        )
    if isinstance(other, WindowsBase) and other._kind != kind:
        raise PlanError(
            f"{operator} joins windows of one kind, and these are {kind!r} and {other._kind!r}",
            location=location,
            advice="use the same description for both, or pass the stream itself",
        )
    if not isinstance(kind, _JOINED):
        raise PlanError(
            f"{operator}: which {kind!r} of two streams are the same is not defined",
            location=location,
            advice="join windows of time, of a count, or AllWindow()",
        )
    if kind.timed and not kind.processing and left.time != right.time:
        raise PlanError(
            f"{operator} needs the same kind of timestamps on both sides, and these are {left.time} and {right.time}",
            location=location,
            advice="call add_timestamps on both with an int, or on both with a datetime",
        )

"""Loops."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from morisot.api.base import StreamBase, T
from morisot.api.location import caller
from morisot.compile.choose import verdict_of
from morisot.errors import Location, PlanError
from morisot.plan.nodes.closure import Closure
from morisot.plan.nodes.iterate import Body, DeltaIterate, Elements, Iterate, Loop, LoopInput, Replay, State
from morisot.plan.nodes.node import Node
from morisot.plan.nodes.rowwise import Filter
from morisot.types import infer
from morisot.types.element import ANY, NONE, Keyed, Optional, Type
from morisot.worker.loops.state import LoopState

if TYPE_CHECKING:
    from morisot.api.keyed_stream import KeyedStream
    from morisot.api.stream import Stream

S = TypeVar("S")
D = TypeVar("D")
K = TypeVar("K")
V = TypeVar("V")
U = TypeVar("U")
O = TypeVar("O")  # noqa: E741 - O stands for the output


class _Loops(StreamBase[T]):
    """Creates the nodes, for plain and keyed streams."""

    def _loop(
        self,
        kind: type[Loop],
        max_iterations: int,
        start: tuple[Any, Any],
        body: Callable[..., Any],
        *functions: Callable[..., Any],
    ) -> Loop:
        operator = "iterate" if kind is Iterate else "replay"
        location = caller()
        self._check_loop(operator, max_iterations, location)
        local_fold, global_fold, condition = functions
        state, delta = start
        local = self._closure(local_fold, f"{operator} as local_fold", 2)
        global_ = self._closure(global_fold, f"{operator} as global_fold", 2)
        go_on = self._closure(condition, f"{operator} as condition", 1)
        inside = self._body(operator, body, 2, self.type, location)
        if kind is Iterate:
            inside = self._fed_back(operator, body, inside, location)
        type_ = state_type(state, delta, inside.output.type, local, global_)
        keeps_type = inside.output.type == self.type == inside.input.type
        any_type = Keyed(ANY, ANY) if isinstance(self.type, Keyed) else ANY
        return kind(
            self._node,
            max_iterations,
            copy.deepcopy(state),
            inside,
            local,
            global_,
            go_on,
            copy.deepcopy(delta),
            self.type if keeps_type else any_type,
            type=type_,
            location=location,
        )

    def _check_loop(self, operator: str, max_iterations: Any, location: Location) -> None:
        if not self.bounded:
            raise PlanError(
                f"{operator} cannot run on unbounded input: {Loop.only_bounded}",
                location=location,
                advice="bound the input (remove unbounded=True), or use a state with rich_map",
            )
        if type(max_iterations) is not int or max_iterations < 1:
            raise PlanError(
                f"{operator} cannot run {max_iterations!r} rounds",
                location=location,
                advice="give the largest number of rounds, 1 or more, as the first argument",
            )

    def _body(self, operator: str, body: Callable[..., Any], arity: int, type_: Type, location: Location) -> Body:
        """The plan of the body: the user's function, called on a stream that represents the input of a round."""
        self._closure(body, f"{operator} as body", arity)
        entering = LoopInput(type=type_, location=location)
        handle = LoopState()
        stream = self._context.keyed(entering) if isinstance(type_, Keyed) else self._context.plain(entering)
        leaving = body(stream, handle) if arity == 2 else body(stream)
        if not isinstance(leaving, StreamBase):
            raise PlanError(
                f"the body of {operator} returned {type(leaving).__name__} and not a stream",
                location=location,
                advice="return the output stream of a round: `lambda stream, state: stream.map(…)`",
            )
        if leaving._context is not self._context:
            raise PlanError(f"the body of {operator} returned a stream of another context", location=location)
        inside = Body(entering, leaving._node, handle)
        leaving_out = next((node for node in inside.nodes if node.leaves_out), None)
        if leaving_out is not None:
            raise PlanError(
                f"{leaving_out.operator} skips elements in the body of {operator}, where they are not counted",
                location=leaving_out.location,
                advice="skip them before the loop, or catch the exception in the function and return a value for it",
            )
        unbounded = next((side for side in inside.side_inputs if not side.bounded), None)
        if unbounded is not None:
            raise PlanError(
                f"the body of {operator} reads an unbounded stream ({unbounded.operator}, {unbounded.location})",
                location=location,
                advice="a side input is replayed in every round: bound it",
            )
        return inside

    def _fed_back(self, operator: str, body: Callable[..., Any], inside: Body, location: Location) -> Body:
        """Builds the body again if its output has another type than its input, which the next round reads."""
        entering, leaving = inside.input.type, inside.output.type
        if isinstance(entering, Keyed) != isinstance(leaving, Keyed):
            kinds = {True: "a keyed stream", False: "a plain stream"}
            raise PlanError(
                f"the body of {operator} makes {kinds[isinstance(leaving, Keyed)]} of "
                f"{kinds[isinstance(entering, Keyed)]}, but the output of a round is the input of the next one",
                location=location,
                advice="end the body with group_by(…), drop_key() or unkey(), or use replay",
            )
        if entering == leaving:
            return inside
        wider = widened(inside.output, entering)
        if wider is not None:
            return Body(inside.input, wider, inside.state)
        both = Keyed(ANY, ANY) if isinstance(entering, Keyed) else ANY
        return self._body(operator, body, 2, both, location)

    def _results(self, loop: Loop) -> tuple[Stream[Any], Any]:
        state = State(loop, type=loop.type, location=loop.location)
        elements = Elements(loop, type=loop.element_type, location=loop.location)
        keyed = isinstance(loop.element_type, Keyed)
        return self._context.plain(state), (self._context.keyed if keyed else self._context.plain)(elements)


def widened(node: Node, type_: Type) -> Node | None:
    """The output of a body with filters that do not exclude None from the type; None if it differs in other ways."""
    if node.type == type_:
        return node
    input_ = getattr(node, "input", None)
    if not isinstance(input_, Node) or not (isinstance(node, Filter) or node.type == input_.type):
        return None
    above = widened(input_, type_)
    return None if above is None else dataclasses.replace(node, input=above, type=type_)  # type: ignore[call-arg]


def state_type(state: Any, delta: Any, leaving: Type, local_fold: Closure, global_fold: Closure) -> Type:
    """The type of the state after any number of rounds, if the folds are known to preserve it; else `object`."""
    first = infer.of_start(state, infer.of_return(global_fold.original))
    partial = infer.of_start(delta, infer.of_return(local_fold.original))
    if first in (ANY, NONE) or partial in (ANY, NONE):
        return ANY
    keeps_partial = verdict_of(local_fold, (partial, leaving)).type == partial
    keeps = keeps_partial and verdict_of(global_fold, (first, partial)).type == first
    return first if keeps else ANY


class IterateMethods(_Loops[T]):
    """Loops of a plain stream."""

    def iterate(
        self,
        max_iterations: int,
        state: S,
        body: Callable[[Stream[T], LoopState], Stream[T]],
        local_fold: Callable[[Any, T], Any],
        global_fold: Callable[[S, Any], S],
        condition: Callable[[S], Any],
        *,
        delta: Any = None,
    ) -> tuple[Stream[S], Stream[T]]:
        """Feeds the output of `body` back into it while `condition(state)` holds, at most `max_iterations` rounds.

        >>> import morisot as mo
        >>> numbers = mo.StreamContext(engine="reference").stream_iter([0, 1, 2])
        >>> state, elements = numbers.iterate(
        ...     3, 0,
        ...     lambda stream, state: stream.map(lambda n: n + 10),
        ...     lambda delta, n: delta + n,
        ...     lambda state, delta: state + delta,
        ...     lambda state: True, delta=0)
        >>> state.collect(), elements.collect()
        ([189], [30, 31, 32])
        """
        return self._results(
            self._loop(Iterate, max_iterations, (state, delta), body, local_fold, global_fold, condition)
        )

    def replay(
        self,
        max_iterations: int,
        state: S,
        body: Callable[[Stream[T], LoopState], Any],
        local_fold: Callable[[Any, Any], Any],
        global_fold: Callable[[S, Any], S],
        condition: Callable[[S], Any],
        *,
        delta: Any = None,
    ) -> Stream[S]:
        """Runs `body` on the same elements in each round, while `condition(state)` holds. Returns the last state.

        >>> import morisot as mo
        >>> numbers = mo.StreamContext(engine="reference").stream_iter([1, 2, 3])
        >>> numbers.replay(
        ...     2, 1,
        ...     lambda stream, state: stream.map(lambda n: n * state.value),
        ...     lambda delta, n: delta + n,
        ...     lambda state, delta: state + delta,
        ...     lambda state: True, delta=0).collect()
        [49]
        """
        loop = self._loop(Replay, max_iterations, (state, delta), body, local_fold, global_fold, condition)
        return self._results(loop)[0]


class KeyedIterateMethods(_Loops[Any], Generic[K, V]):
    """Loops of a keyed stream. `local_fold` gets its elements as (key, value) pairs."""

    def iterate(
        self,
        max_iterations: int,
        state: S,
        body: Callable[[KeyedStream[K, V], LoopState], KeyedStream[K, V]],
        local_fold: Callable[[Any, tuple[K, V]], Any],
        global_fold: Callable[[S, Any], S],
        condition: Callable[[S], Any],
        *,
        delta: Any = None,
    ) -> tuple[Stream[S], KeyedStream[K, V]]:
        """Feeds the output of `body` back into it while `condition(state)` holds, at most `max_iterations` rounds."""
        return self._results(
            self._loop(Iterate, max_iterations, (state, delta), body, local_fold, global_fold, condition)
        )

    def replay(
        self,
        max_iterations: int,
        state: S,
        body: Callable[[KeyedStream[K, V], LoopState], Any],
        local_fold: Callable[[Any, Any], Any],
        global_fold: Callable[[S, Any], S],
        condition: Callable[[S], Any],
        *,
        delta: Any = None,
    ) -> Stream[S]:
        """Runs `body` on the same elements in each round, while `condition(state)` holds. Returns the last state."""
        loop = self._loop(Replay, max_iterations, (state, delta), body, local_fold, global_fold, condition)
        return self._results(loop)[0]

    def delta_iterate(
        self,
        max_iterations: int,
        process_delta: Callable[[K, V, D], V],
        make_update: Callable[[K, V], U],
        make_output: Callable[[K, V], O],
        condition: Callable[[D], Any],
        body: Callable[[KeyedStream[K, U]], KeyedStream[K, D]],
    ) -> KeyedStream[K, O]:
        """Has a value for each key, and runs `body` only on keys whose value changed.

        >>> import morisot as mo
        >>> ctx = mo.StreamContext(engine="reference")
        >>> next_of = {1: 2, 2: 3}
        >>> labels = ctx.stream_iter([1, 2, 3]).group_by(lambda n: n)
        >>> labels.delta_iterate(
        ...     10,
        ...     lambda node, label, delta: min(label, delta),
        ...     lambda node, label: label,
        ...     lambda node, label: label,
        ...     lambda delta: True,
        ...     lambda changed: changed.unkey().filter(lambda pair: pair[0] in next_of)
        ...         .map(lambda pair: (next_of[pair[0]], pair[1]))
        ...         .group_by(lambda pair: pair[0]).map(lambda node, pair: pair[1])).collect()
        [(1, 1), (2, 1), (3, 1)]
        """
        location = caller()
        self._check_loop("delta_iterate", max_iterations, location)
        key, value = self._arguments
        process = self._closure(process_delta, "delta_iterate as process_delta", 3)
        update = self._closure(make_update, "delta_iterate as make_update", 2)
        output = self._closure(make_output, "delta_iterate as make_output", 2)
        holds = self._closure(condition, "delta_iterate as condition", 1)
        sent = Keyed(key, verdict_of(update, (key, value)).type)
        inside = self._body("delta_iterate", body, 1, sent, location)
        if not isinstance(inside.output.type, Keyed):
            raise PlanError(
                "the body of delta_iterate returned a plain stream: a delta belongs to a key",
                location=location,
                advice="end the body with group_by(…)",
            )
        delta = inside.output.type.value
        if value == ANY or verdict_of(process, (key, Optional(value), delta)).type != value:
            value = ANY  # the types of later values are unknown
            if sent.value != ANY:
                inside = self._body("delta_iterate", body, 1, Keyed(key, ANY), location)
        type_ = Keyed(key, verdict_of(output, (key, value)).type)
        closures = (process, update, output, holds)
        node: Node = DeltaIterate(self._node, max_iterations, *closures, inside, value, type=type_, location=location)
        return self._context.keyed(node)

"""Operators with user-defined state, and users' operators with replicas."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar, get_args

from morisot.api.base import OnError, StreamBase, T, check_callable
from morisot.api.location import caller
from morisot.api.methods.partition import is_count
from morisot.errors import Location, PlanError
from morisot.plan.life_cycle import uses_store
from morisot.plan.nodes.closure import Closure, freeze
from morisot.plan.nodes.keyed import KeyBy, Unkey
from morisot.plan.nodes.node import Node, snake_case
from morisot.plan.nodes.rowwise import FlatMap
from morisot.plan.nodes.state import (
    SENT_TYPES,
    ApplyFixed,
    ApplyOnDemand,
    Numbered,
    Rich,
    RichFilterMap,
    RichFlatMap,
    RichMap,
    WithoutIds,
)
from morisot.plan.operators import Operator, output_annotation
from morisot.types import infer
from morisot.types.element import ANY, INT, Keyed, List, Tuple, Type, with_value
from morisot.types.replicas import SendMode, instance_of_key
from morisot.worker.codec.keys import canonical

if TYPE_CHECKING:
    from morisot.api.keyed_stream import KeyedStream
    from morisot.api.stream import Stream

K = TypeVar("K")
V = TypeVar("V")
U = TypeVar("U")
S = TypeVar("S")


class _State(StreamBase[T]):
    """Creates the nodes, for plain and keyed streams."""

    def _rich(
        self, node: type[Rich], init: Any, function: Callable[..., Any], *, returns: Any, on_error: OnError
    ) -> Node:
        operator = snake_case(node.__name__)
        start = infer.of_state(init, function)
        closure, verdict = self._compiled(function, operator, (start, *self._arguments))
        given = output_type(start, verdict.type)
        match node.out:
            case "map":
                output = given
            case "filter_map":
                output = infer.without_none(given)
            case "flat_map":
                output = given.item if isinstance(given, List) else ANY
        if returns is not None:
            output = infer.of_annotation(returns)
        return node(
            self._node,
            init,
            closure,
            type=with_value(self.type, output),
            location=closure.location,
            on_error=self._policy(on_error, operator),
        )


def output_type(start: Type, answer: Type) -> Type:
    """The type of the output, if the state is known to have the type of its initial value."""
    match answer:
        case Tuple((state, output)) if start in (state, ANY):
            return output
    return ANY


class StateMethods(_State[T]):
    """Functions with one state for the whole stream, in stream order."""

    def rich_map(
        self, init: S, function: Callable[[S, T], tuple[S, U]], *, returns: Any = None, on_error: OnError = "raise"
    ) -> Stream[U]:
        """Replaces each element by the output of `function(state, element)`, which returns (new state, output).

        >>> import morisot as mo
        >>> numbers = mo.StreamContext(engine="reference").stream_iter([1, 2, 3])
        >>> numbers.rich_map(0, lambda total, n: (total + n, total + n)).collect()
        [1, 3, 6]
        """
        return self._context.plain(self._rich(RichMap, init, function, returns=returns, on_error=on_error))

    def rich_filter_map(
        self,
        init: S,
        function: Callable[[S, T], tuple[S, U | None]],
        *,
        returns: Any = None,
        on_error: OnError = "raise",
    ) -> Stream[U]:
        """Like rich_map. An output that is None drops the element.

        >>> import morisot as mo
        >>> numbers = mo.StreamContext(engine="reference").stream_iter([3, 1, 4, 2])
        >>> numbers.rich_filter_map(0, lambda top, n: (max(top, n), n if n > top else None)).collect()
        [3, 4]
        """
        return self._context.plain(self._rich(RichFilterMap, init, function, returns=returns, on_error=on_error))

    def rich_flat_map(
        self,
        init: S,
        function: Callable[[S, T], tuple[S, Iterable[U]]],
        *,
        returns: Any = None,
        on_error: OnError = "raise",
    ) -> Stream[U]:
        """Like rich_map. Each element is replaced by the items of the output.

        >>> import morisot as mo
        >>> letters = mo.StreamContext(engine="reference").stream_iter("ab")
        >>> letters.rich_flat_map(1, lambda n, c: (n + 1, [c] * n)).collect()
        ['a', 'b', 'b']
        """
        return self._context.plain(self._rich(RichFlatMap, init, function, returns=returns, on_error=on_error))


class KeyedStateMethods(_State[Any], Generic[K, V]):
    """Functions with a state for each key, called on the values of a key in stream order."""

    def rich_map(
        self, init: S, function: Callable[[S, K, V], tuple[S, U]], *, returns: Any = None, on_error: OnError = "raise"
    ) -> KeyedStream[K, U]:
        """Replaces each value by the output of `function(state, key, value)`, which returns (new state, output)."""
        return self._context.keyed(self._rich(RichMap, init, function, returns=returns, on_error=on_error))

    def rich_filter_map(
        self,
        init: S,
        function: Callable[[S, K, V], tuple[S, U | None]],
        *,
        returns: Any = None,
        on_error: OnError = "raise",
    ) -> KeyedStream[K, U]:
        """Like rich_map. An output that is None drops the element."""
        return self._context.keyed(self._rich(RichFilterMap, init, function, returns=returns, on_error=on_error))

    def rich_flat_map(
        self,
        init: S,
        function: Callable[[S, K, V], tuple[S, Iterable[U]]],
        *,
        returns: Any = None,
        on_error: OnError = "raise",
    ) -> KeyedStream[K, U]:
        """Like rich_map. Each value is replaced by the items of the output."""
        return self._context.keyed(self._rich(RichFlatMap, init, function, returns=returns, on_error=on_error))


@dataclass(frozen=True)
class _Sending:
    """How elements are sent to replicas."""

    replicate: int
    ordered: bool
    send: SendMode
    key: Callable[[Any], Any] | None

    def check(self, location: Location) -> None:
        """Raises an error for values that do not fit together."""
        if not is_count(self.replicate):
            said, advice = f"replicate cannot be {self.replicate!r}", "give apply(…) an int from 1 on"
        elif self.send not in get_args(SendMode):
            said = f"apply does not support send={self.send!r}"
            advice = f"pass one of {', '.join(map(repr, get_args(SendMode)))}"
        elif self.key is None and self.send == "affinity":
            said, advice = 'send="affinity" needs a key', "pass key=…, a function of the element"
        elif self.key is not None and self.send != "affinity":
            said, advice = f"send={self.send!r} takes no key", 'pass send="affinity" as well, or no key'
        else:
            return
        raise PlanError(said, location=location, advice=advice)

    @property
    def parameters(self) -> dict[str, Any]:
        """The fields of the node."""
        return {"replicate": self.replicate, "ordered": self.ordered, "send": self.send}


class _Replicas(StreamBase[T]):
    """Creates the nodes, for plain and keyed streams."""

    def _applied(
        self,
        operator: Operator[Any, Any],
        given: Node,
        sending: _Sending,
        store: bool | None,
        returns: Any,
        on_error: OnError,
    ) -> Stream[Any]:
        location = caller()
        check_operator(operator, location)
        sending.check(location)
        process = Closure(operator.process, location, "apply")
        has_ids = isinstance(given, WithoutIds)
        given = given.input if isinstance(given, WithoutIds) else given
        numbers = _Numbers(location, has_ids=has_ids)
        output = _output_type(operator, returns)
        fields: dict[str, Any] = {
            **sending.parameters,
            "on_error": self._policy(on_error, "apply"),
            "has_ids": has_ids,
            "type": Tuple((*SENT_TYPES, output)),
            "location": location,
            "operator": "apply",
        }
        stored = uses_store(operator) if store is None else bool(store)
        if sending.send == "on_demand" and not stored:
            applied: Node = ApplyOnDemand(numbers.numbered(given), process, **fields)
        else:
            applied = ApplyFixed(numbers.assigned(given, sending), process, stored=stored, **fields)
        return self._context.plain(without_ids(applied, output, location))


class _Numbers:
    """The nodes that number elements, and give each the number of its replica as its key."""

    def __init__(self, location: Location, *, has_ids: bool) -> None:
        self._location = location
        self._has_ids = has_ids

    def numbered(self, node: Node) -> Node:
        type_: Type = Tuple((INT, node.type))
        if isinstance(node.type, Keyed):
            type_ = Keyed(node.type.key, Tuple((INT, node.type.value)))
        return Numbered(node, type=type_, location=self._location, operator="apply")

    def assigned(self, node: Node, sending: _Sending) -> Node:
        """The elements with their replicas: those that the number or the key determines, or all."""
        if sending.key is not None:
            return self.by_key(node, sending.key, sending.replicate)
        copied = self.copied(node, sending.replicate) if sending.send == "broadcast" else node
        return self.by_position(copied, sending.replicate)

    def by_position(self, node: Node, replicas: int) -> Node:
        """Deals the elements out to replicas."""
        numbered = self.numbered(node)
        return self._key_by(numbered, lambda pair: pair[0] % replicas)

    def by_key(self, node: Node, key: Callable[[Any], Any], replicas: int) -> Node:
        """All elements of a key get the same replica."""
        called = freeze(key)
        if self._has_ids:
            return self.numbered(
                self._key_by(node, lambda sent: instance_of_key(canonical(called(sent[-1])), replicas))
            )
        return self.numbered(self._key_by(node, lambda element: instance_of_key(canonical(called(element)), replicas)))

    def _key_by(self, node: Node, function: Callable[[Any], int]) -> Node:
        closure = Closure(function, self._location, "apply", INT)
        return KeyBy(node, closure, type=Keyed(INT, node.type), location=self._location, operator="apply")

    def copied(self, node: Node, replicas: int) -> Node:
        """A copy of each element for each replica."""
        closure = Closure(lambda element: [element] * replicas, self._location, "apply")
        return FlatMap(node, closure, type=node.type, location=self._location, operator="apply")


def without_ids(node: Node, type_: Type, location: Location) -> Node:
    """The last parts of tuples (id, replica, element)."""
    closure = Closure(lambda sent: sent[2], location, node.operator, type_)
    return WithoutIds(node, closure, type=type_, location=location, operator=node.operator)


def check_operator(operator: Any, location: Location) -> None:
    """Raises an error for an object that is no operator with `process(element, message)`."""
    if not isinstance(operator, Operator):
        raise PlanError(
            f"apply takes a mo.Operator, not {operator!r}",
            location=location,
            advice="derive a class from mo.Operator, and pass an object of it",
        )
    advice = "write `def process(self, element, message):`"
    check_callable(operator.process, "apply", 2, location, advice=advice)


def _output_type(operator: Operator[Any, Any], returns: Any) -> Type:
    declared = output_annotation(operator) if returns is None else returns
    return ANY if declared is None else infer.of_annotation(declared)


class ReplicaMethods(_Replicas[T]):
    """Users' operators on a plain stream."""

    def apply(
        self,
        operator: Operator[T, U],
        *,
        replicate: int = 1,
        ordered: bool = True,
        send: SendMode = "on_demand",
        key: Callable[[T], Any] | None = None,
        store: bool | None = None,
        returns: Any = None,
        on_error: OnError = "raise",
    ) -> Stream[U]:
        """Processes the elements by replicas of an operator, and emits their outputs.

        `send` is the assignment of elements to replicas: to a free one, to the one of `key(element)`, or to all. If the
        operator has a key store, it is fixed before: without a key, the number of the element modulo `replicate`.

        >>> import morisot as mo
        >>> class Double(mo.Operator[int, int]):
        ...     def process(self, element, message):
        ...         yield element * 2
        >>> mo.StreamContext(engine="reference").stream_iter([1, 2, 3]).apply(Double(), replicate=2).collect()
        [2, 4, 6]
        """
        return self._applied(operator, self._node, _Sending(replicate, ordered, send, key), store, returns, on_error)


class KeyedReplicaMethods(_Replicas[Any], Generic[K, V]):
    """Users' operators on a keyed stream. Their elements are pairs of a key and a value."""

    def apply(
        self,
        operator: Operator[tuple[K, V], U],
        *,
        replicate: int = 1,
        ordered: bool = True,
        send: SendMode = "on_demand",
        key: Callable[[tuple[K, V]], Any] | None = None,
        store: bool | None = None,
        returns: Any = None,
        on_error: OnError = "raise",
    ) -> Stream[U]:
        """Processes pairs (key, value) by replicas of an operator. With `send="affinity"`, each key has one replica."""
        location = caller()
        type_ = Tuple((self._node.type.key, self._node.type.value)) if isinstance(self._node.type, Keyed) else ANY
        plain = Unkey(self._node, "both", type=type_, location=location, operator="apply")
        if send == "affinity" and key is None:
            key = _first
        return self._applied(operator, plain, _Sending(replicate, ordered, send, key), store, returns, on_error)


def _first(pair: Any) -> Any:
    return pair[0]

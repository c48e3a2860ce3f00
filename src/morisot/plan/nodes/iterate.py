"""Loops: a body that runs in every round, and a state that every round computes.

A body is a plan of its own, from the input of a round to its output. Streams from outside that it reads are its side
inputs: they are computed once and read in every round.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

from morisot.plan.analysis.graph import order_observed, walk
from morisot.plan.nodes.closure import Closure
from morisot.plan.nodes.node import Node
from morisot.types.element import ANY, Keyed, Optional, Type, arguments


@dataclass(frozen=True, eq=False)
class LoopInput(Node):
    """The input of the body of a loop in a round."""


@dataclass(frozen=True, eq=False)
class Body:
    """The plan of a round, and the handle through which its functions read the round's state."""

    input: LoopInput
    output: Node
    state: Any
    side_inputs: tuple[Node, ...] = field(init=False)
    """The streams from outside that the body reads. They are the same in every round."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "side_inputs", tuple(_outside(self)))

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The operators of the body, inputs first."""
        inside = (node for node in walk(self.output, known=self.side_inputs) if node is not self.input)
        return tuple(node for node in inside if node not in self.side_inputs)

    @property
    def sides_in_order(self) -> tuple[Node, ...]:
        """The side inputs on whose order an operator of the body, or the fold of its output, depends."""
        seen = order_observed((self.output,))
        return tuple(side for side in self.side_inputs if side in seen)

    @property
    def reads_state(self) -> bool:
        """Whether a function of the body, or of a loop inside it, captured the handle."""
        return any(_captures(node, self.state) for node in self.nodes)


def _outside(body: Body) -> Iterator[Node]:
    """The nodes nearest to the output that depend neither on the input of the round nor on its state."""
    output = body.output
    depends: dict[Node, bool] = {}
    for node in walk(output):
        own = node is body.input or _captures(node, body.state)
        depends[node] = own or any(depends[value] for value in node.inputs)
    if not depends[output]:
        yield output
    seen: set[Node] = set()
    for node in walk(output):
        for value in node.inputs if depends[node] else ():
            if not depends[value] and value not in seen:
                seen.add(value)
                yield value


def _captures(node: Node, handle: Any) -> bool:
    closures = [closure for _, closure in node.closures]
    inner = [each for _, body in node.bodies for each in walk(body)]
    return any(reads(closure.original, handle) for closure in closures) or any(_captures(e, handle) for e in inner)


def reads(function: Any, handle: Any) -> bool:
    """Whether a function, or one that it captured, has the handle. Other callables are assumed to have it."""
    pending, seen = [function], set[int]()
    while pending:
        found = pending.pop()
        if found is handle:
            return True
        if id(found) in seen:
            continue
        seen.add(id(found))
        code = getattr(found, "__code__", None)
        if code is None:
            if callable(found) and not isinstance(found, type) and hasattr(found, "__dict__"):
                pending.extend(vars(found).values())
            if isinstance(found, functools.partial):
                pending.extend((found.func, *found.args, *found.keywords.values()))
            continue
        for cell in getattr(found, "__closure__", None) or ():
            try:
                pending.append(cell.cell_contents)
            except ValueError:  # a variable without a value
                continue
        pending.extend(getattr(found, "__defaults__", None) or ())
        pending.extend(found.__globals__[name] for name in code.co_names if name in found.__globals__)
    return False


@dataclass(frozen=True, eq=False)
class Loop(Node):
    """The base class of iterate and replay. Its type is the state's; `element_type` that of the last round's output."""

    input: Node
    max_iterations: int
    state: Any = field(repr=False)
    body: Body = field(repr=False)
    local_fold: Closure
    global_fold: Closure
    condition: Closure
    delta: Any = field(repr=False)
    element_type: Type = field(default=ANY, repr=False)

    observes_order: ClassVar[bool] = True
    keeps_time: ClassVar[bool] = False
    only_bounded: ClassVar[str] = "a round ends when its input does"
    feedback: ClassVar[bool] = False
    """Whether the output of a round is the input of the next one."""

    @functools.cached_property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input, *self.body.side_inputs)

    @property
    def seen_in_order(self) -> tuple[Node, ...]:
        return (self.input, *self.body.sides_in_order)

    @property
    def bodies(self) -> tuple[tuple[str, Node], ...]:
        return (("body", self.body.output),)

    def signature(self, closure: str) -> tuple[Type, ...]:
        types = {"local_fold": (ANY, self.body.output.type), "global_fold": (self.type, ANY)}
        return types.get(closure, (self.type,))


@dataclass(frozen=True, eq=False)
class Iterate(Loop):
    """Feeds the output of the body back into it, round by round."""

    feedback: ClassVar[bool] = True


@dataclass(frozen=True, eq=False)
class Replay(Loop):
    """Runs the body on the same elements in every round."""


@dataclass(frozen=True, eq=False)
class State(Node):
    """The last state of a loop: one element."""

    input: Node
    only_bounded: ClassVar[str] = Loop.only_bounded


@dataclass(frozen=True, eq=False)
class Elements(Node):
    """The output of the body of an iterate in its last round."""

    input: Node
    only_bounded: ClassVar[str] = Loop.only_bounded


@dataclass(frozen=True, eq=False)
class DeltaIterate(Node):
    """Has a value for each key. Only keys whose value changed are in the input of the next round."""

    input: Node
    max_iterations: int
    process_delta: Closure
    make_update: Closure
    make_output: Closure
    condition: Closure
    body: Body = field(repr=False)
    value: Type = field(default=ANY, repr=False)
    """The type of values in all rounds; `object` if `process_delta` may return another type."""

    observes_order: ClassVar[bool] = True
    keeps_order: ClassVar[bool] = False
    keeps_time: ClassVar[bool] = False
    only_bounded: ClassVar[str] = Loop.only_bounded

    @functools.cached_property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input, *self.body.side_inputs)

    @property
    def seen_in_order(self) -> tuple[Node, ...]:
        return (self.input, *self.body.sides_in_order)

    @property
    def bodies(self) -> tuple[tuple[str, Node], ...]:
        return (("body", self.body.output),)

    @property
    def entry(self) -> Keyed:
        """A key and its value between rounds."""
        return Keyed(arguments(self.input.type)[0], self.value)

    def signature(self, closure: str) -> tuple[Type, ...]:
        key, delta = self.entry.key, arguments(self.body.output.type)[-1]
        held = self.value if self.value == ANY else Optional(self.value)  # a delta may have a key without a value
        types = {"process_delta": (key, held, delta), "condition": (delta,)}
        return types.get(closure, (key, self.value))

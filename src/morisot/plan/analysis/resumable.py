"""Bounded plans in pieces: which part runs piece by piece, so that a program that is killed goes on in the middle.

Such a part is the same operators on unbounded input: its source is cut into pieces, each is a micro-batch, and what it
gives is kept. The rest of the plan is a bounded job over that.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from morisot.errors import PlanError
from morisot.plan.analysis.graph import order_needed, order_observed, walk
from morisot.plan.analysis.validate import gives_running_values
from morisot.plan.nodes.iterate import DeltaIterate, Loop
from morisot.plan.nodes.join import Join
from morisot.plan.nodes.node import Node
from morisot.plan.nodes.partition import Cache
from morisot.plan.nodes.sink import SinkNode
from morisot.plan.nodes.source import (
    PathSource,
    StreamArrow,
    StreamDataframe,
    StreamIter,
    StreamKafka,
    StreamParIter,
    StreamRange,
)
from morisot.plan.nodes.time import AddTimestamps
from morisot.plan.nodes.window import CountKind, LastKind, SessionKind, TimeKind, Window
from morisot.types.element import NONE, Type, leaves

_COPIED = (StreamIter, StreamRange, StreamArrow, StreamDataframe, StreamParIter, StreamKafka)
"""Sources whose elements are copied into files before they are read in pieces."""
_NEVER = 2**62
"""A delay, in ticks, that no timestamp has: on bounded input nothing is late, so time moves on at the end alone."""


@dataclass(frozen=True, eq=False)
class StreamCopied(Node):
    """The elements of a bounded source, copied into files that a directory lists in pieces."""

    listed: str = field(repr=False, kw_only=True)
    step: int | None = field(default=None, repr=False, kw_only=True)
    """Of a range, which is generated where it is used: the files hold the first and the last number of stretches."""

    @functools.cached_property
    def bounded(self) -> bool:
        return False

    @property
    def files_by_age(self) -> bool:
        return False


@dataclass(frozen=True, eq=False)
class SavedPieces(Node):
    """What the pieces of a part gave, as a bounded stream in its place."""

    directory: str = field(repr=False, kw_only=True)
    kind: Type | None = field(repr=False, kw_only=True)
    """What the timestamps are, if there are any."""
    running: bool = field(repr=False, kw_only=True)
    """Whether values replace those that earlier pieces gave, of the same key if there are keys."""

    @functools.cached_property
    def time(self) -> Type | None:
        return self.kind


@dataclass(frozen=True, eq=False)
class KeepPieces(SinkNode):
    """What each piece gives, kept in a directory of its own, in the stream's order."""

    directory: str = field(repr=False)
    ordered: bool = field(repr=False)
    """Whether somebody sees the order."""

    @property
    def takes_any_order(self) -> bool:  # type: ignore[override]
        return not self.ordered


@dataclass(frozen=True)
class ResumablePart:
    """A part of a plan that runs in pieces."""

    end: Node
    """The last operator of the part, as it stands in the bounded plan."""
    source: Node
    """The source that is cut."""
    placeholder: Node
    """What stands for it where the plan is only looked at."""
    ordered: bool
    """Whether somebody sees the order of its elements."""

    def over(self, source: Node) -> dict[Node, Node]:
        """The part on unbounded input, behind another source: each operator by that of the bounded plan."""
        *operators, own = _way_up(self.end)
        found, node = {own: source}, source
        for each in reversed(operators):
            found[each] = node = unbounded(each, node)
        return found

    def sink(self, end: Node, directory: str, operator: str) -> KeepPieces:
        """What saves the results of a part whose last operator on unbounded input is `end`."""
        return KeepPieces(
            end, directory, self.ordered, type=end.type, location=end.location, operator=operator, label=end.label
        )

    def saved(self, sink: KeepPieces) -> SavedPieces:
        """What a part has saved, as a bounded source of the remaining plan."""
        end = sink.input
        return SavedPieces(
            directory=sink.directory,
            kind=end.time,
            running=any(gives_running_values(node) for node in walk(end)),
            type=end.type,
            location=end.location,
            operator=self.end.operator,
        )


def _way_up(node: Node) -> list[Node]:
    """A node and what it reads first, up to the source."""
    way = [node]
    while way[-1].inputs:
        way.append(way[-1].inputs[0])
    return way


@dataclass(frozen=True)
class Cut:
    """How a bounded plan runs with snapshots."""

    parts: tuple[ResumablePart, ...]
    """What runs in pieces; nothing if the plan runs as it does without snapshots."""
    problem: str = ""
    """What hinders that, and what begins again after a crash therefore."""

    def sentence(self, *roots: Node) -> str:
        """What a crash costs, for explain."""
        if not self.parts:
            return f"{self.problem} begins again after a crash"
        if {part.end for part in self.parts} == set(roots):
            return "runs in pieces, and a crash costs the one under way"
        ends = " and ".join(part.end.title for part in self.parts)
        return f"runs in pieces up to {ends}, and a crash costs the one under way; what follows begins again"


def cut(roots: Iterable[Node], refuse: Callable[[Node], None], is_partitioned: Callable[[str], bool]) -> Cut:
    """The parts of a bounded plan that run in pieces.

    `refuse` raises for a node that cannot run on unbounded input. `is_partitioned` tells whether the names of the
    directories below a path hold values of columns, which a list of files does not tell.
    """
    roots = tuple(roots)
    nodes = tuple(walk(*roots))
    for node in nodes:
        if isinstance(node, Loop | DeltaIterate):
            return Cut((), f"{node.title} saves its rounds; what is around it")
        if isinstance(node, Cache):
            return Cut((), f"{node.title} keeps its elements for this program alone; the job")
    ordered = order_needed(roots)
    twins: dict[Node, Node] = {}
    for node in nodes:
        twin = _twin(node, twins, is_partitioned)
        by_first = node in ordered and twin is not None and gives_running_values(twin)
        if twin is not None and not by_first and _fits(node, twin, refuse):  # pieces do not tell which key was first
            twins[node] = twin
    ends = [node for node in nodes if node in twins and node.inputs and _is_read(node, nodes, roots, twins)]
    parts = []
    for end in ends:
        source = _way_up(end)[-1]
        parts.append(ResumablePart(end, source, twins[source], _keeps_order(end, twins[end], roots)))
    return Cut(tuple(parts), "" if parts else _problem(nodes, twins))


def _keeps_order(end: Node, twin: Node, roots: tuple[Node, ...]) -> bool:
    """Whether the order of what a part gives is promised: an operator needs it, or it is still that of the source."""
    if gives_running_values(twin):
        return False
    from_source = all(node.keeps_order for node in _way_up(end)[:-1])
    return end in order_needed(roots) or (from_source and end in order_observed(roots))


def _twin(node: Node, twins: Mapping[Node, Node], is_partitioned: Callable[[str], bool]) -> Node | None:
    """The node on unbounded input, if what it reads is there."""
    if isinstance(node, SinkNode) or not node.bounded:
        return None
    if not node.inputs:
        return placeholder(node, is_partitioned)
    first, *others = node.inputs
    if first not in twins or gives_running_values(twins[first]) or (others and not isinstance(node, Join)):
        return None
    return unbounded(node, twins[first])


def placeholder(source: Node, is_partitioned: Callable[[str], bool]) -> Node | None:
    """What stands in the place of a source where a plan is only looked at; None if it cannot be cut."""
    if isinstance(source, PathSource):
        return None if is_partitioned(source.path) else in_pieces_of_files(source, "")
    return copied(source, "") if isinstance(source, _COPIED) else None


def in_pieces_of_files(source: PathSource, listed: str) -> PathSource:
    """A source of files that reads those that a directory lists, in its order."""
    return dataclasses.replace(source, unbounded=True, listed=listed)


def copied(source: Node, listed: str) -> StreamCopied:
    """A source whose elements are copied into files that a directory lists."""
    return StreamCopied(
        listed=listed,
        step=source.range.step if isinstance(source, StreamRange) else None,
        type=source.type,
        location=source.location,
        operator=source.operator,
        label=source.label,
    )


def unbounded(node: Node, first: Node) -> Node:
    """A node behind another first input. What joins with it stays bounded."""
    changes: dict[str, object] = {_name_of_first(node): first}
    if isinstance(node, AddTimestamps):
        changes |= {"delay": _NEVER, "watermark": None, "idle": None}
    return dataclasses.replace(node, **changes)  # type: ignore[arg-type]


def _name_of_first(node: Node) -> str:
    return next(each.name for each in dataclasses.fields(node) if isinstance(getattr(node, each.name), Node))


def _fits(node: Node, twin: Node, refuse: Callable[[Node], None]) -> bool:
    """Whether the node gives in pieces what it gives at once, and files can hold it."""
    if node.leaves_out or any(leaf.type == NONE for leaf in leaves(node.type)):
        return False  # what is left out is counted in one run, and no file holds a part that is always None
    if isinstance(node, Window) and not _ends_alike(node):
        return False
    if not node.inputs:
        return True
    try:
        refuse(twin)
    except PlanError:
        return False
    return True


def _ends_alike(window: Window) -> bool:
    """Whether the end of the stream gives nothing that the watermark does not give, and no clock decides."""
    match window.kind:
        case CountKind(exact=exact):
            return exact
        case TimeKind() | SessionKind():
            return not window.kind.processing
        case _:
            return isinstance(window.kind, LastKind)


def _is_read(node: Node, nodes: Iterable[Node], roots: Iterable[Node], twins: Mapping[Node, Node]) -> bool:
    """Whether somebody outside reads the elements of a node that runs in pieces."""
    readers = (each for each in nodes if node in each.inputs)
    return node in roots or any(reader not in twins for reader in readers)


def _problem(nodes: Iterable[Node], twins: Mapping[Node, Node]) -> str:
    """The first operator that does not run in pieces, in words."""
    for node in nodes:
        if node.leaves_out:
            return f"{node.title} counts what it leaves out of one run; the job"
        if node not in twins:
            return f"{node.title} {'needs' if node.inputs else 'gives'} all elements at once; the job"
    return "there is nothing to do before the sink; the job"


def substituted(roots: Iterable[Node], replaced: Mapping[Node, Node]) -> dict[Node, Node]:
    """The plans with other nodes in the places of some; by the nodes that were there."""
    new: dict[Node, Node] = dict(replaced)
    for node in walk(*roots, known=frozenset(replaced)):
        if node not in new:
            new[node] = _with_inputs(node, new)
    return new


def _with_inputs(node: Node, new: Mapping[Node, Node]) -> Node:
    changes: dict[str, object] = {}
    for each in dataclasses.fields(node):
        value = getattr(node, each.name)
        if isinstance(value, Node) and new.get(value, value) is not value:
            changes[each.name] = new[value]
        elif isinstance(value, tuple) and any(isinstance(part, Node) and new[part] is not part for part in value):
            changes[each.name] = tuple(new[part] if isinstance(part, Node) else part for part in value)
    return dataclasses.replace(node, **changes) if changes else node  # type: ignore[arg-type]

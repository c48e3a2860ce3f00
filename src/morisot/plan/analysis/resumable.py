"""Resumable parts of bounded plans: which part runs as a query over source splits, so that a killed program can resume.

A resumable part has the same operators on unbounded input: each split of its source is a micro-batch, and its output is
stored. The remaining plan is a bounded job over that output.
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
"""Sources whose elements are copied into files before they are read by splits."""
_NEVER = 2**62
"""A delay, in ticks, that exceeds all timestamps: on bounded input the watermark advances at the end only."""


@dataclass(frozen=True, eq=False)
class StreamCopied(Node):
    """The elements of a bounded source, copied into files. A directory lists the files of each split."""

    listed: str = field(repr=False, kw_only=True)
    step: int | None = field(default=None, repr=False, kw_only=True)
    """The step of a range. Its elements are generated in tasks: the files have the bounds of intervals."""

    @functools.cached_property
    def bounded(self) -> bool:
        return False

    @property
    def files_by_age(self) -> bool:
        return False


@dataclass(frozen=True, eq=False)
class StoredSplits(Node):
    """The stored output of a resumable part, as a bounded stream."""

    directory: str = field(repr=False, kw_only=True)
    kind: Type | None = field(repr=False, kw_only=True)
    """The type of the timestamps, if there are any."""
    running: bool = field(repr=False, kw_only=True)
    """Whether values replace those of earlier splits, of the same key if there are keys."""

    @functools.cached_property
    def time(self) -> Type | None:
        return self.kind


@dataclass(frozen=True, eq=False)
class StoreSplits(SinkNode):
    """Stores the output of each split in a directory of its own, in stream order."""

    directory: str = field(repr=False)
    ordered: bool = field(repr=False)
    """Whether a reader depends on the order."""

    @property
    def takes_any_order(self) -> bool:  # type: ignore[override]
        return not self.ordered


@dataclass(frozen=True)
class ResumablePart:
    """A part of a bounded plan that runs as a query over source splits."""

    end: Node
    """The last operator of the part, in the bounded plan."""
    source: Node
    """The source that is split."""
    placeholder: Node
    """A replacement of the source, for plans that are only analysed."""
    ordered: bool
    """Whether a reader depends on the order of its elements."""

    def over(self, source: Node) -> dict[Node, Node]:
        """The part with another source, which is unbounded: each operator by that of the bounded plan."""
        *operators, own = _first_inputs(self.end)
        found, node = {own: source}, source
        for each in reversed(operators):
            found[each] = node = unbounded(each, node)
        return found

    def sink(self, end: Node, directory: str, operator: str) -> StoreSplits:
        """The sink that stores the output of the part, whose last operator on unbounded input is `end`."""
        return StoreSplits(
            end, directory, self.ordered, type=end.type, location=end.location, operator=operator, label=end.label
        )

    def saved(self, sink: StoreSplits) -> StoredSplits:
        """The stored output of the part, as a bounded source of the remaining plan."""
        end = sink.input
        return StoredSplits(
            directory=sink.directory,
            kind=end.time,
            running=any(gives_running_values(node) for node in walk(end)),
            type=end.type,
            location=end.location,
            operator=self.end.operator,
        )


def _first_inputs(node: Node) -> list[Node]:
    """A node, its first input, the first input of that, and so on up to the source."""
    nodes = [node]
    while nodes[-1].inputs:
        nodes.append(nodes[-1].inputs[0])
    return nodes


@dataclass(frozen=True)
class Cut:
    """How a bounded plan runs with snapshots."""

    parts: tuple[ResumablePart, ...]
    """The resumable parts; none if the plan runs as without snapshots."""
    problem: str = ""
    """Why there is none, and what therefore starts from scratch after a failure."""

    def sentence(self, *roots: Node) -> str:
        """What is repeated after a failure, for explain."""
        if not self.parts:
            return f"{self.problem} starts from scratch after a failure"
        if {part.end for part in self.parts} == set(roots):
            return "runs by source splits; a failure repeats one split"
        ends = " and ".join(part.end.title for part in self.parts)
        return f"runs by source splits up to {ends}; a failure repeats one split, and the remaining plan"


def cut(roots: Iterable[Node], refuse: Callable[[Node], None], is_partitioned: Callable[[str], bool]) -> Cut:
    """The resumable parts of a bounded plan.

    `refuse` raises for a node that cannot run on unbounded input. `is_partitioned` returns whether the names of the
    directories below a path contain values of columns, which a list of files does not have.
    """
    roots = tuple(roots)
    nodes = tuple(walk(*roots))
    for node in nodes:
        if isinstance(node, Loop | DeltaIterate):
            return Cut((), f"{node.title} saves its rounds; the remaining plan")
        if isinstance(node, Cache):
            return Cut((), f"{node.title} persists its elements for this program only; the job")
    ordered = order_needed(roots)
    twins: dict[Node, Node] = {}
    for node in nodes:
        twin = _twin(node, twins, is_partitioned)
        by_first = node in ordered and twin is not None and gives_running_values(twin)
        if twin is not None and not by_first and _fits(node, twin, refuse):  # splits lose which key was first
            twins[node] = twin
    ends = [node for node in nodes if node in twins and node.inputs and _is_read(node, nodes, roots, twins)]
    parts = []
    for end in ends:
        source = _first_inputs(end)[-1]
        parts.append(ResumablePart(end, source, twins[source], _is_ordered(end, twins[end], roots)))
    return Cut(tuple(parts), "" if parts else _problem(nodes, twins))


def _is_ordered(end: Node, twin: Node, roots: tuple[Node, ...]) -> bool:
    """Whether the order of a part's output is defined: an operator needs it, or it is that of the source."""
    if gives_running_values(twin):
        return False
    from_source = all(node.keeps_order for node in _first_inputs(end)[:-1])
    return end in order_needed(roots) or (from_source and end in order_observed(roots))


def _twin(node: Node, twins: Mapping[Node, Node], is_partitioned: Callable[[str], bool]) -> Node | None:
    """The node on unbounded input, if its input runs so."""
    if isinstance(node, SinkNode) or not node.bounded:
        return None
    if not node.inputs:
        return placeholder(node, is_partitioned)
    first, *others = node.inputs
    if first not in twins or gives_running_values(twins[first]) or (others and not isinstance(node, Join)):
        return None
    return unbounded(node, twins[first])


def placeholder(source: Node, is_partitioned: Callable[[str], bool]) -> Node | None:
    """A replacement of a source that cannot be read, for analysis only; None if the source cannot be split."""
    if isinstance(source, PathSource):
        return None if is_partitioned(source.path) else with_listed_files(source, "")
    return copied(source, "") if isinstance(source, _COPIED) else None


def with_listed_files(source: PathSource, listed: str) -> PathSource:
    """A source that reads the files that a directory lists, in the order of the list."""
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
    """A node with another first input. Its other inputs stay bounded."""
    changes: dict[str, object] = {_name_of_first(node): first}
    if isinstance(node, AddTimestamps):
        changes |= {"delay": _NEVER, "watermark": None, "idle": None}
    return dataclasses.replace(node, **changes)  # type: ignore[arg-type]


def _name_of_first(node: Node) -> str:
    return next(each.name for each in dataclasses.fields(node) if isinstance(getattr(node, each.name), Node))


def _fits(node: Node, twin: Node, refuse: Callable[[Node], None]) -> bool:
    """Whether the node has the same output by splits as at once, and files can store it."""
    if node.leaves_out or any(leaf.type == NONE for leaf in leaves(node.type)):
        return False  # skipped elements are counted in one run, and files cannot store a part that is always None
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
    """Whether the end of the stream emits no further windows, and processing time is not used."""
    match window.kind:
        case CountKind(exact=exact):
            return exact
        case TimeKind() | SessionKind():
            return not window.kind.processing
        case _:
            return isinstance(window.kind, LastKind)


def _is_read(node: Node, nodes: Iterable[Node], roots: Iterable[Node], twins: Mapping[Node, Node]) -> bool:
    """Whether an operator of the remaining plan reads the elements of a node of a resumable part."""
    readers = (each for each in nodes if node in each.inputs)
    return node in roots or any(reader not in twins for reader in readers)


def _problem(nodes: Iterable[Node], twins: Mapping[Node, Node]) -> str:
    """The first operator that is not resumable, and the reason."""
    for node in nodes:
        if node.leaves_out:
            return f"{node.title} counts the elements that it skips in one run; the job"
        if node not in twins:
            return f"{node.title} {'needs' if node.inputs else 'gives'} all elements at once; the job"
    return "there is no operator before the sink; the job"


def substituted(roots: Iterable[Node], replaced: Mapping[Node, Node]) -> dict[Node, Node]:
    """The plans with some nodes replaced, by their original nodes."""
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

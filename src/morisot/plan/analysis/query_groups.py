"""Query groups: sinks of an unbounded job that share a stream, and are served by one query."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from morisot.plan.analysis.graph import walk
from morisot.plan.nodes.combine import Merge
from morisot.plan.nodes.node import Node
from morisot.plan.nodes.partition import Parallelism, RepartitionBy, Shuffle
from morisot.plan.nodes.rowwise import Rowwise
from morisot.plan.nodes.sink import SinkNode
from morisot.plan.nodes.time import AddTimestamps, DropTimestamps

STATELESS = (AddTimestamps, DropTimestamps, Merge, Parallelism, RepartitionBy, Rowwise, Shuffle, SinkNode)
"""The operators without state between micro-batches."""


@dataclass(frozen=True)
class Group:
    """Sinks that one query serves. It computes their shared stream. The other operators run on each micro-batch."""

    stream: Node
    """The last operator that all sinks share; for a single sink, the sink itself."""
    sinks: tuple[SinkNode, ...]
    named_otherwise: tuple[Node, ...] = ()
    """The same operator with other names, in the plans of some sinks."""

    @property
    def is_shared(self) -> bool:
        return len(self.sinks) > 1

    def by_sink(self) -> list[Group]:
        """A group for each sink."""
        return [Group(sink, (sink,)) for sink in self.sinks]


def groups(sinks: Iterable[SinkNode]) -> list[Group]:
    """The query groups of some sinks, in the order of the first sink of each.

    Operators downstream of the shared stream run on each micro-batch by itself. So two sinks share a stream if all
    their elements pass through it, and no stateful operator is downstream of it.
    """
    sinks = tuple(sinks)
    first = _first_of_the_same(walk(*sinks))
    found: dict[Node, list[SinkNode]] = {}
    possible = {sink: [first[node] for node in _shareable(sink)] for sink in sinks}
    for sink, streams in possible.items():
        found.setdefault(streams[-1], []).append(sink)
    return [_group(members, possible, first) for members in found.values()]


def _group(sinks: list[SinkNode], possible: Mapping[SinkNode, list[Node]], first: Mapping[Node, Node]) -> Group:
    if len(sinks) == 1:
        return Group(sinks[0], tuple(sinks))
    common = set.intersection(*(set(possible[sink]) for sink in sinks))
    stream = next(node for node in possible[sinks[0]] if node in common)
    others = (node for node in walk(*sinks) if first[node] is stream and node is not stream)
    return Group(stream, tuple(sinks), tuple(others))


def _first_of_the_same(nodes: Iterable[Node]) -> dict[Node, Node]:
    """For each node the first one that differs in its name only: `name(…)` creates another node of an operator."""
    known: dict[tuple[Any, ...], Node] = {}
    first: dict[Node, Node] = {}
    for node in nodes:
        values = (getattr(node, field.name) for field in dataclasses.fields(node) if field.name != "label")
        what = (type(node), *(_identities(value, first) for value in values))
        first[node] = known.setdefault(what, node)
    return first


def _identities(value: object, first: Mapping[Node, Node]) -> Any:
    if isinstance(value, tuple):
        return tuple(_identities(part, first) for part in value)
    return id(first[value]) if isinstance(value, Node) else id(value)


def _shareable(sink: SinkNode) -> list[Node]:
    """The operators through which all elements of a sink pass, up to the first stateful one, nearest first.

    Sinks that have one of them in common also have those upstream of it in common.
    """
    index = {node: number for number, node in enumerate(walk(sink))}
    streams: list[Node] = []
    pending: set[Node] = {sink.input}
    while pending:
        node = max(pending, key=index.__getitem__)  # no pending node is downstream of it
        if len(pending) == 1:
            streams.append(node)
        if not _works_on_a_part(node):
            break
        pending.remove(node)
        pending.update(node.inputs)
    return streams


def _works_on_a_part(node: Node) -> bool:
    """Whether an operator has the same output for a single micro-batch as for the stream.

    A bounded stream that is merged with others would be read in every micro-batch.
    """
    from_streams = bool(node.inputs) and not any(each.bounded for each in node.inputs)
    return from_streams and isinstance(node, STATELESS)

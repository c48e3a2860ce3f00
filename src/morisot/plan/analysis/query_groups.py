"""Which sinks of an unbounded job share a stream, and are served by one query."""

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
"""The operators without a state that lasts from one micro-batch to the next."""


@dataclass(frozen=True)
class Group:
    """Sinks that one query serves: it computes the stream that they share, and the rest runs on each micro-batch."""

    stream: Node
    """The last operator that all of them share; of a sink that is alone, the sink itself."""
    sinks: tuple[SinkNode, ...]
    named_otherwise: tuple[Node, ...] = ()
    """The same operator under other names, in the plans of some sinks."""

    @property
    def is_shared(self) -> bool:
        return len(self.sinks) > 1

    def apart(self) -> list[Group]:
        """The same sinks, each by itself."""
        return [Group(sink, (sink,)) for sink in self.sinks]


def groups(sinks: Iterable[SinkNode]) -> list[Group]:
    """The query groups of some sinks, in the order of the first sink of each.

    What follows the shared stream runs on each micro-batch by itself. So two sinks share a stream if all that they read
    comes through it, and neither has a stateful operator behind it.
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
    """For each node the first that differs in nothing but its name: `name(…)` makes another node of an operator."""
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
    """The operators through which everything comes that a sink reads, up to the first stateful one; nearest first.

    Sinks that have one of them in common have all those above it in common, too.
    """
    index = {node: number for number, node in enumerate(walk(sink))}
    streams: list[Node] = []
    waiting: set[Node] = {sink.input}
    while waiting:
        node = max(waiting, key=index.__getitem__)  # nothing that waits leads to it again
        if len(waiting) == 1:
            streams.append(node)
        if not _works_on_a_part(node):
            break
        waiting.remove(node)
        waiting.update(node.inputs)
    return streams


def _works_on_a_part(node: Node) -> bool:
    """Whether an operator gives for a micro-batch by itself what it gives for it in the stream.

    A bounded stream that is merged with others would come with every micro-batch.
    """
    from_streams = bool(node.inputs) and not any(each.bounded for each in node.inputs)
    return from_streams and isinstance(node, STATELESS)

"""The guarantee of an unbounded job that is killed and resumes from its snapshots, by its sources and its sink."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from morisot.plan.analysis.graph import walk
from morisot.plan.endpoints import is_two_phase, overrides
from morisot.plan.nodes.node import Node
from morisot.plan.nodes.sink import CollectChannel, SinkNode, WriteSink, WriteTo
from morisot.plan.nodes.source import StreamSocket

Guarantee = Literal["none", "at most once", "at least once", "exactly once"]
Delivery = Literal["replaces", "repeats", "forgets"]
"""The effect of a replayed micro-batch on a sink: it replaces the first attempt, or repeats its effect. With
`"forgets"` the content of the sink is lost when the program ends."""


def replays(node: Node) -> bool:
    """Whether all unbounded sources of the node can be replayed after a failure."""
    return not any(isinstance(source, StreamSocket) for source in walk(node))


def delivery(sink: SinkNode) -> Delivery:
    """The effect of a replayed micro-batch on a sink."""
    match sink:
        case WriteSink():
            return "replaces"
        case WriteTo():
            return "replaces" if is_two_phase(sink.sink) or overrides(sink.sink, "last_committed") else "repeats"
        case CollectChannel():
            return "forgets"
        case _:
            return "repeats"


def combined(replaying: bool, taken: Delivery) -> Guarantee:
    """The guarantee of a source and a sink."""
    match replaying, taken:
        case True, "replaces":
            return "exactly once"
        case True, "repeats":
            return "at least once"
        case False, "replaces":
            return "at most once"
        case _:
            return "none"


def guarantee(sink: SinkNode) -> Guarantee:
    """The guarantee for the elements of an unbounded sink."""
    return combined(replays(sink), delivery(sink))


def stated(stream: Node, sinks: Iterable[SinkNode], *, snapshots: bool) -> list[str]:
    """The guarantee of each two-phase sink of a stream, as lines: after a crash there is none without snapshots."""
    lines = []
    for sink in sinks:
        if isinstance(sink, WriteTo) and is_two_phase(sink.sink) and stream in walk(sink):
            given = (
                f"with snapshots: {{}} {guarantee(sink)}" if snapshots else "without snapshots: {} none after a crash"
            )
            lines.append(given.format(f"{sink.operator}({type(sink.sink).__name__})"))
    return lines


def offered(stream: Node) -> dict[str, Guarantee]:
    """The guarantee of each kind of sink that may end an unbounded stream."""
    kinds: dict[str, Delivery] = {
        "write_…": "replaces",
        "write_kafka": "repeats",
        "for_each": "repeats",
        "collect_channel": "forgets",
    }
    return {kind: combined(replays(stream), taken) for kind, taken in kinds.items()}

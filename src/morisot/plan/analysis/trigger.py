"""The trigger of the micro-batches of an unbounded job: an interval, and the most elements of a micro-batch."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from morisot.errors import PlanError
from morisot.plan.analysis.graph import walk
from morisot.plan.nodes.node import Node
from morisot.plan.nodes.partition import Batched
from morisot.plan.nodes.source import BufferedSource, PathSource, StreamKafka
from morisot.plan.snapshots import Snapshots

_MILLISECONDS = 1000


@dataclass(frozen=True)
class Trigger:
    """When a query starts a micro-batch, and how many elements it reads."""

    seconds: float | None = None
    """The interval between starts of micro-batches; None: the next starts when one has ended."""
    elements: int | None = None
    """The most elements of a micro-batch, for sources that count them; None: all that there are."""
    by_items: bool = False
    """Whether snapshots are taken by elements: a micro-batch of a file source then has one file."""
    once: bool = False
    """Whether the job ends when it has read all that there is now."""


def trigger_of(sinks: Iterable[Node], snapshots: Snapshots | None) -> Trigger:
    """The trigger that `Snapshots` and the operators `batch_mode` define for the sinks of a query group.

    Of several intervals and numbers it is the smallest, which satisfies all of them.
    """
    nodes = tuple(walk(*sinks))
    modes = [node.mode for node in nodes if isinstance(node, Batched) and not node.bounded]
    waits = [mode.milliseconds / _MILLISECONDS for mode in modes if mode.milliseconds]
    seconds = snapshots.seconds if snapshots is not None else None
    numbers = [mode.size for mode in modes]
    items = snapshots.items if snapshots is not None else None
    if items is not None:
        _refuse_uncounted(nodes, items)
        numbers.append(items)
    seconds = min(waits, default=None) if seconds is None else seconds
    return Trigger(seconds, min(numbers, default=None), by_items=items is not None)


def _refuse_uncounted(nodes: Iterable[Node], items: int) -> None:
    """Raises an error for a number of elements if the source counts neither elements nor files."""
    for node in nodes:
        if not node.inputs and not node.bounded and not isinstance(node, BufferedSource | PathSource | StreamKafka):
            raise PlanError(
                f"{node.operator} cannot read {items} elements at a time, as Snapshots(items=…) requests",
                location=node.location,
                advice="use every=…; a source of your own determines the elements of one call of its read(…)",
            )

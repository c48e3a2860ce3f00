"""What starts the micro-batches of an unbounded job: an interval, and the most elements of one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from morisot.errors import PlanError
from morisot.plan.analysis.graph import walk
from morisot.plan.nodes.node import Node
from morisot.plan.nodes.partition import Batched
from morisot.plan.nodes.source import PathSource, Spooled, StreamKafka
from morisot.plan.snapshots import Snapshots

_MILLISECONDS = 1000


@dataclass(frozen=True)
class Trigger:
    """When a query starts a micro-batch, and how many elements it takes."""

    seconds: float | None = None
    """From the start of one to the start of the next; None: one follows the other."""
    elements: int | None = None
    """The most elements of one, from sources that count them; None: all that are there."""
    by_items: bool = False
    """Whether snapshots are made by elements: where those come in files, there is one file in each micro-batch."""
    once: bool = False
    """Whether the job ends when it has read what is there now."""


def trigger_of(sinks: Iterable[Node], snapshots: Snapshots | None) -> Trigger:
    """What `Snapshots` and the operators `batch_mode` say to sinks that are served together.

    The first of the two times; of several times and numbers the least, with which all of them are kept.
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
    """Refuse a number of elements where the source counts neither them nor files."""
    for node in nodes:
        if not node.inputs and not node.bounded and not isinstance(node, Spooled | PathSource | StreamKafka):
            raise PlanError(
                f"{node.operator} cannot give {items} elements at a time, as Snapshots(items=…) asks",
                location=node.location,
                advice="use every=…; a source of your own gives what one call of its read(…) does",
            )

"""The operators that are computed once for several readers: those with a scan, a shuffle or a pass in Python."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from morisot.physical.ops import Choice, ColumnsOp
from morisot.plan.nodes.iterate import DeltaIterate, Loop
from morisot.plan.nodes.node import Node
from morisot.plan.nodes.partition import Cache
from morisot.plan.nodes.source import StreamArrow, StreamIter, StreamParquet, StreamRange

_CHEAP = (StreamIter, StreamRange, StreamArrow, StreamParquet, Loop, DeltaIterate)
"""Operators that are as fast to read again as persisted ones: of Parquet each reader reads the columns that it needs,
and a loop has run when its frame exists."""


def share(
    nodes: Iterable[Node],
    choices: Mapping[Node, Choice],
    readers: Mapping[Node, int],
    *,
    streaming: bool,
    retains: bool,
) -> frozenset[Node]:
    """The operators that are persisted while a job runs, because they have several readers.

    The rows of a streaming query (`streaming`) cannot be persisted, but those of its bounded inputs can. If the job
    `retains` cached streams, those are persisted already.
    """
    shared: set[Node] = set()
    for node in nodes:
        if node not in choices or readers[node] < 2 or (streaming and not node.bounded):
            continue
        if _is_worth_it(node, choices, shared, retains=retains):
            shared.add(node)
    return frozenset(shared)


def _is_worth_it(node: Node, choices: Mapping[Node, Choice], shared: set[Node], *, retains: bool) -> bool:
    """Whether computing the rows again costs more than reading them from memory. Expressions are cheap."""
    while node in choices and choices[node].kind is ColumnsOp:
        (node,) = node.inputs
        if node in shared:
            return False
    return not isinstance(node, _CHEAP) and not (retains and isinstance(node, Cache))

"""What a streaming query says of itself, in the words of the plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from morisot.plan.combine import Merge
from morisot.plan.node import Node
from morisot.plan.partition import Parallelism, RepartitionBy, Shuffle
from morisot.plan.rowwise import Rowwise
from morisot.plan.sink import Sink

_STATELESS = (Rowwise, Sink, Merge, Parallelism, RepartitionBy, Shuffle)


def state_sizes(progress: Mapping[str, Any], nodes: Sequence[Node]) -> dict[str, dict[str, int]]:
    """The entries and bytes of each operator's state after a micro-batch.

    Spark names its own operators, the last one first. Where it has one for each of the plan's that keeps something,
    they are called as there.
    """
    operators = list(progress["stateOperators"])[::-1]
    keeping = [node for node in nodes if node.inputs and not node.bounded and not isinstance(node, _STATELESS)]
    if len(operators) == len(keeping):
        names = [node.title for node in keeping]
    else:
        names = [f"{each['operatorName']} {place}" for place, each in enumerate(operators, start=1)]
    sizes = [{"entries": int(each["numRowsTotal"]), "bytes": int(each["memoryUsedBytes"])} for each in operators]
    return dict(zip(names, sizes, strict=True))

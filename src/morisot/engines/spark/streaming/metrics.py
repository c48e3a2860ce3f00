"""The metrics of a streaming query, by the operators of the plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from morisot.engines.spark.emit.core.emission import counted_as
from morisot.plan.analysis.query_groups import STATELESS
from morisot.plan.nodes.node import Node
from morisot.plan.nodes.partition import Ordered
from morisot.runtime.metrics import OperatorMetrics, QueryMetrics, StateMetrics

_MILLISECONDS = 1000
_STATELESS = (*STATELESS, Ordered)


def state_sizes(progress: Mapping[str, Any], nodes: Sequence[Node]) -> dict[str, StateMetrics]:
    """The entries and bytes of each operator's state after a micro-batch.

    Spark reports its own operators, the last one first. If there is one for each stateful operator of the plan, they
    get the titles of the plan's operators.
    """
    operators = list(progress["stateOperators"])[::-1]
    keeping = [node for node in nodes if node.inputs and not node.bounded and not isinstance(node, _STATELESS)]
    if len(operators) == len(keeping):
        names = [node.title for node in keeping]
    else:
        names = [f"{each['operatorName']} {number}" for number, each in enumerate(operators, start=1)]
    sizes: list[StateMetrics] = [
        {"entries": int(each["numRowsTotal"]), "bytes": int(each["memoryUsedBytes"])} for each in operators
    ]
    return dict(zip(names, sizes, strict=True))


@dataclass
class Measures:
    """The metrics of the micro-batches of a query."""

    elements_in: int = 0
    batches: int = 0
    arriving: float = 0.0
    """Elements that arrived per second, in the last micro-batch."""
    done: float = 0.0
    """Elements that were processed per second, in the last micro-batch."""
    last: float = 0.0
    """The duration of the last micro-batch in seconds."""
    longest: float = 0.0
    total: float = 0.0
    watermark: str | None = None
    state: dict[str, StateMetrics] = field(default_factory=dict)
    given: dict[Node, int] = field(default_factory=dict)
    """The number of elements that each operator has emitted, if it is counted."""
    behind: dict[str, str] = field(default_factory=dict)
    """Metrics of sources about their backlog, such as Kafka's."""

    def add(self, progress: Mapping[str, Any]) -> None:
        """Adds a micro-batch with elements."""
        self.batches += 1
        self.elements_in += int(progress["numInputRows"])
        self.arriving = float(progress["inputRowsPerSecond"] or 0.0)
        self.done = float(progress["processedRowsPerSecond"] or 0.0)
        self.last = int(progress["batchDuration"]) / _MILLISECONDS
        self.longest = max(self.longest, self.last)
        self.total += self.last
        self.behind = {key: value for each in progress["sources"] for key, value in (each["metrics"] or {}).items()}

    def add_given(self, progress: Mapping[str, Any], in_passes: Mapping[int, int], nodes: Sequence[Node]) -> None:
        """Adds the elements that each operator emitted in a micro-batch, as observed by Spark, or counted by passes."""
        observed = progress["observedMetrics"] or {}
        for number, node in enumerate(nodes):
            seen = observed.get(counted_as(number))
            given = int(seen["elements"]) if seen is not None else in_passes.get(number)
            if given is not None:
                self.given[node] = self.given.get(node, 0) + given

    def operators(self, nodes: Sequence[Node]) -> list[OperatorMetrics]:
        """The elements that operators read and emitted, in the order of the plan. Bounded operators are not counted."""
        return [
            {
                "operator": node.title,
                "in": sum(self.given.get(each, 0) for each in node.inputs),
                "out": self.given[node],
            }
            for node in nodes
            if node in self.given
        ]

    def watch(self, progress: Mapping[str, Any], nodes: Sequence[Node]) -> None:
        """Records the states after a micro-batch, with or without elements."""
        self.watermark = (progress["eventTime"] or {}).get("watermark", self.watermark)
        self.state = state_sizes(progress, nodes)

    def metrics(self, elements_out: int) -> QueryMetrics:
        """The entry of `job.metrics()` for a sink that has got `elements_out` elements."""
        mean = self.total / self.batches if self.batches else 0.0
        return {
            "elements_in": self.elements_in,
            "elements_out": elements_out,
            "batches": self.batches,
            "arriving_per_second": self.arriving,
            "elements_per_second": self.done,
            "batch_seconds": {"last": self.last, "mean": mean, "longest": self.longest},
            "watermark": self.watermark,
            "state": self.state,
            "behind": self.behind,
        }

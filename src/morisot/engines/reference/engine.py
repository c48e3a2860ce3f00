"""The reference engine: the interface of the Spark engine, in plain Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from morisot.config import Config
from morisot.engines.reference import (
    aggregate,
    combine,
    iterate,
    join,
    keyed,
    partition,
    rowwise,
    sink,
    source,
    state,
    time,
    window,
)
from morisot.engines.reference.interpreter import evaluate
from morisot.engines.reference.registry import noting
from morisot.engines.reference.sink import as_table
from morisot.engines.reference.source import refuse_partitions
from morisot.errors import Location, PlanError
from morisot.physical.job import PlannedJob, plan_stream
from morisot.plan.analysis.graph import walk
from morisot.plan.nodes.node import Node
from morisot.plan.nodes.sink import CollectCount, SinkNode
from morisot.runtime.metrics import LoopMetrics
from morisot.runtime.row_types import found_files, row_type_of_files
from morisot.runtime.tally import Tally, divert, say
from morisot.types.element import Record
from morisot.worker.files.format import Kind

FAMILIES = (source, rowwise, keyed, aggregate, state, time, window, combine, join, partition, iterate, sink)
"""The modules of the families. Importing them registers their functions."""


class ReferenceEngine:
    """Runs plans in this process, element by element."""

    demoted: frozenset[Node] = frozenset()

    def job(self, node: Node) -> PlannedJob:
        """The physical plan that Spark would run."""
        return plan_stream(node)

    def __init__(self, config: Config) -> None:
        self._config = config
        self.tally = Tally()
        self._cached: dict[Node, list[Any]] = {}
        """The elements, with their timestamps, of cached streams."""

    def collect(self, node: Node) -> list[Any]:
        return list(self._evaluate(node)[node])

    def _evaluate(self, *roots: Node) -> dict[Node, list[Any]]:
        """Evaluates plans, counts skipped elements, and calls the handlers of diverted ones."""
        with noting() as noted:
            noted.update({node: [] for node in walk(*roots, known=self._cached) if node.leaves_out})
            results = evaluate(*roots, cached=self._cached)
        failures = {node: (len(errors), errors) for node, errors in noted.items()}
        self.tally.replace(failures)
        divert(failures)
        if self._config.report:
            say(self.tally.lines(noted))
        return results

    def to_arrow(self, node: Node) -> Any:
        return as_table(self.collect(node), node.type)

    def to_dataframe(self, node: Node) -> Any:
        raise PlanError(
            "to_dataframe needs Spark", location=node.location, advice='use StreamContext() with engine="spark"'
        )

    def execute(self, receivers: Mapping[SinkNode, Callable[[list[Any]], None] | None]) -> None:
        handed_over = [output.input for output, receiver in receivers.items() if receiver is not None]
        results = self._evaluate(*(output for output, receiver in receivers.items() if receiver is None), *handed_over)
        for output, receiver in receivers.items():
            if receiver is not None:
                elements = results[output.input]
                receiver([len(elements)] if isinstance(output, CollectCount) else list(elements))

    def start(
        self,
        receivers: Mapping[SinkNode, Any],
        closers: Mapping[SinkNode, Callable[[], None]],
        max_retries: int | None = None,
    ) -> Any:
        output = next(iter(receivers))
        raise PlanError(
            "the reference engine runs a plan to its end: it has no running jobs",
            location=output.location,
            advice='use ctx.execute(), or engine="spark"',
        )

    def row_type(self, kind: Kind, path: str, location: Location, *, skips: bool = False) -> Record:
        refuse_partitions(path, f"stream_{kind}", location)
        return row_type_of_files(kind, found_files(path, kind, location), location, skips=skips)

    def frame_type(self, frame: Any) -> Record:
        raise PlanError("stream_dataframe needs Spark", advice='use engine="spark", or stream_arrow(df.toArrow())')

    def loops(self) -> list[LoopMetrics]:
        return []  # this engine does not count rounds

    def spark_plan(self, node: Node) -> str:
        return "(the reference engine has no Spark plan)"

    def saving(self, node: Node) -> str:
        """Nothing is saved."""
        return ""

    def uncache(self, node: Node) -> None:
        self._cached.pop(node, None)

    def close(self) -> None:
        """Removes all cached elements."""
        self._cached.clear()

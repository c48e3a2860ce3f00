"""The reference engine: the same questions as the Spark engine, answered in plain Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from morisot.errors import PlanError
from morisot.plan.files import local_files
from morisot.plan.node import Node
from morisot.plan.sink import CollectCount, Sink, WriteSink
from morisot.plan.source import StreamCsv, StreamJson
from morisot.reference import tables
from morisot.reference.interpreter import evaluate
from morisot.reference.sink import as_table
from morisot.reference.source import misfits
from morisot.types.element import Record


class ReferenceEngine:
    """Runs plans in this process, one element after the other."""

    demoted: frozenset[Node] = frozenset()

    def collect(self, node: Node) -> list[Any]:
        return list(evaluate(node)[node])

    def to_arrow(self, node: Node) -> Any:
        return as_table(self.collect(node), node.type)

    def to_dataframe(self, node: Node) -> Any:
        raise PlanError(
            "to_dataframe needs Spark", location=node.location, advice='use StreamContext() with engine="spark"'
        )

    def execute(self, receivers: Mapping[Sink, Callable[[list[Any]], None] | None]) -> None:
        writes = [sink for sink in receivers if isinstance(sink, WriteSink)]
        results = evaluate(*writes, *(sink.input for sink in receivers if not isinstance(sink, WriteSink)))
        for sink, receiver in receivers.items():
            if receiver is not None:
                elements = results[sink.input]
                receiver([len(elements)] if isinstance(sink, CollectCount) else list(elements))

    def start(self, receivers: Mapping[Sink, Any], closers: Mapping[Sink, Callable[[], None]]) -> Any:
        sink = next(iter(receivers))
        raise PlanError(
            "the reference engine runs a plan to its end: it has nothing to start",
            location=sink.location,
            advice='use ctx.execute(), or engine="spark"',
        )

    def row_type(self, kind: str, path: str) -> Record:
        return tables.row_type(kind, local_files(path), path)

    def frame_type(self, frame: Any) -> Record:
        raise PlanError("stream_dataframe needs Spark", advice='use engine="spark", or stream_arrow(df.toArrow())')

    def skipped(self, node: StreamCsv | StreamJson) -> int:
        return sum(1 for _ in misfits(node))

    def loops(self) -> list[dict[str, Any]]:
        return []  # the reference counts nothing

    def spark_plan(self, node: Node) -> str:
        return "(the reference engine has no Spark plan)"

    def close(self) -> None:
        """Nothing to give back."""

"""One program, every engine: the test says what it gives, the engine is a parameter."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import morisot as mo
from morisot.lower import schema
from morisot.lower.frame import Frame
from morisot.lower.planner import Lowering
from morisot.lower.registry import lowers
from morisot.lower.stages import dumps
from morisot.plan.node import Node
from morisot.types import infer
from morisot.worker.batches import encode, schema_of

Program = Callable[[Any], Any]


@dataclass(frozen=True, eq=False)
class StreamBatches(Node):
    """A followed directory into which a test has put its elements, a file for each micro-batch."""

    directory: str = field(kw_only=True)

    @property
    def bounded(self) -> bool:
        return False


@lowers(StreamBatches, "unbounded")
def lower_stream_batches(node: StreamBatches, lowering: Lowering) -> Frame:
    reader = lowering.spark.readStream.schema(schema.ddl(node.type)).option("maxFilesPerTrigger", 1)
    return Frame(reader.parquet(node.directory), node.type)


@dataclass
class Runner:
    """Runs a program on one engine."""

    engine: str
    make_context: Callable[[str], mo.StreamContext]
    directory: Path
    metrics: dict[str, Any] = field(default_factory=dict)
    """What the last run says of itself."""

    def run(self, program: Program, elements: Sequence[Any]) -> list[Any]:
        """What the program makes of the elements; the last running value of each key on unbounded input."""
        if self.engine == "unbounded":
            return self._unbounded(program, list(elements))
        context = self.make_context(self.engine)
        results = list(program(context.stream_iter(elements)).collect())
        self.metrics = context.metrics()
        return results

    def _unbounded(self, program: Program, elements: list[Any]) -> list[Any]:
        context = self.make_context("spark")
        type_ = infer.of_values(elements)
        middle = (len(elements) + 1) // 2
        for number, batch in enumerate((elements[:middle], elements[middle:])):
            table = pa.Table.from_arrays(encode(batch, type_, dumps), schema=schema_of(type_))
            file = self.directory / f"batch-{number}.parquet"
            pq.write_table(table, file)
            os.utime(file, (number + 1, number + 1))  # a followed directory is read in the order of the files' times
        node = StreamBatches(directory=str(self.directory), type=type_, location=mo.errors.Location(__file__, 1))
        results: list[Any] = []
        stream = program(context.plain(node))
        stream.for_each(lambda *parts: results.append(parts[0] if len(parts) == 1 else parts))
        expected = len(elements) * ways(stream._node, node)
        job = context.start()
        try:
            deadline = time.monotonic() + 60
            while job.metrics()["elements_in"] < expected and time.monotonic() < deadline:
                job.wait(0.1)
        finally:
            job.stop()
        self.metrics = job.metrics()
        return results


def ways(node: Node, source: Node) -> int:
    """On how many ways elements come from a source to a node: Spark reads, and counts, the source for each."""
    return 1 if node is source else sum(ways(value, source) for value in node.inputs)


def last_by_key(pairs: Sequence[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """The last running value of each key: what "the same answer" means for an aggregate without a window."""
    return list(dict(pairs).items())

"""What a context needs of an engine; Spark's and the reference's both have it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from morisot.plan.nodes.node import Node
from morisot.plan.nodes.sink import SinkNode
from morisot.plan.nodes.source import StreamCsv, StreamJson
from morisot.runtime.metrics import LoopMetrics
from morisot.runtime.tally import Tally
from morisot.types.element import Record

if TYPE_CHECKING:
    from morisot.physical.job import PlannedJob

Receiver = Callable[[list[Any]], None]


class Engine(Protocol):
    """Runs plans."""

    @property
    def demoted(self) -> frozenset[Node]:
        """Operators that were moved to Python at run time."""

    def job(self, node: Node) -> PlannedJob:
        """How a stream would run: by what is known of the session, or by assumptions while there is none."""

    @property
    def tally(self) -> Tally:
        """What operators left out because of `on_error`, in the last run of each."""

    def collect(self, node: Node) -> list[Any]:
        """All elements of a bounded stream."""

    def to_arrow(self, node: Node) -> Any:
        """The elements as an Arrow table."""

    def to_dataframe(self, node: Node) -> Any:
        """The elements as a Spark DataFrame."""

    def execute(self, receivers: Mapping[SinkNode, Receiver | None]) -> None:
        """Run bounded sinks to their end, handing each receiver its elements."""

    def start(
        self, receivers: Mapping[SinkNode, Receiver | None], closers: Mapping[SinkNode, Callable[[], None]]
    ) -> Any:
        """Start sinks and return a PlannedJob."""

    def row_type(self, kind: str, path: str) -> Record:
        """The type of the rows of files."""

    def frame_type(self, frame: Any) -> Record:
        """The type of the rows of a DataFrame."""

    def skipped(self, node: StreamCsv | StreamJson) -> int:
        """How many rows of a source did not fit and were left out."""

    def loops(self) -> list[LoopMetrics]:
        """How each loop went, or goes."""

    def spark_plan(self, node: Node) -> str:
        """Spark's own plan, as text."""

    def saving(self, node: Node) -> str:
        """What a crash costs a bounded job that ends with a node, if it is saved while it runs."""

    def uncache(self, node: Node) -> None:
        """Give up what is kept of a stream."""

    def close(self) -> None:
        """Give back what the engine opened."""

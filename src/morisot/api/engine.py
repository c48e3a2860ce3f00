"""The interface of engines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from morisot.errors import Location
from morisot.plan.nodes.node import Node
from morisot.plan.nodes.sink import SinkNode
from morisot.runtime.metrics import LoopMetrics
from morisot.runtime.tally import Tally
from morisot.types.element import Record
from morisot.worker.files.format import Kind

if TYPE_CHECKING:
    from morisot.physical.job import PlannedJob

Receiver = Callable[[list[Any]], None]


class Engine(Protocol):
    """Runs plans."""

    @property
    def demoted(self) -> frozenset[Node]:
        """Operators that were demoted at run time."""

    def job(self, node: Node) -> PlannedJob:
        """The planned job of a stream, with the settings of the session, or with assumptions if there is none yet."""

    @property
    def tally(self) -> Tally:
        """The elements that operators skipped in their last runs."""

    def collect(self, node: Node) -> list[Any]:
        """All elements of a bounded stream."""

    def to_arrow(self, node: Node) -> Any:
        """The elements as an Arrow table."""

    def to_dataframe(self, node: Node) -> Any:
        """The elements as a Spark DataFrame."""

    def execute(self, receivers: Mapping[SinkNode, Receiver | None]) -> None:
        """Runs bounded sinks to their end, and passes each receiver its elements."""

    def start(
        self,
        receivers: Mapping[SinkNode, Receiver | None],
        closers: Mapping[SinkNode, Callable[[], None]],
        max_retries: int | None = None,
    ) -> Any:
        """Starts sinks and returns the running job. `max_retries` overrides the setting."""

    def row_type(self, kind: Kind, path: str, location: Location, *, skips: bool = False) -> Record:
        """The type of the rows of files."""

    def frame_type(self, frame: Any) -> Record:
        """The type of the rows of a DataFrame."""

    def loops(self) -> list[LoopMetrics]:
        """The metrics of each loop."""

    def spark_plan(self, node: Node) -> str:
        """Spark's own plan, as text."""

    def saving(self, node: Node) -> str:
        """What is repeated after a failure of a bounded job with snapshots; None without snapshots."""

    def uncache(self, node: Node) -> None:
        """Removes the cached elements of a stream."""

    def close(self) -> None:
        """Releases the resources of the engine."""

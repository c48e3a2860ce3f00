"""One query as a reader of channels and sockets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from morisot.engines.spark.checkpoints.query import Checkpoint
from morisot.engines.spark.streaming.channel_files import Spool
from morisot.errors import MorisotError
from morisot.plan.nodes.node import Node
from morisot.plan.nodes.source import Spooled


class ChannelReader:
    """The channels that a query reads."""

    def __init__(self, nodes: Iterable[Node], name: str, checkpoint: Checkpoint) -> None:
        self.channels: list[Spool] = [node.inlet for node in nodes if isinstance(node, Spooled)]
        self._name = name
        """What the channels call the query."""
        self._checkpoint = checkpoint

    def limit(self, rows: int | None) -> None:
        """The query takes so many elements at a time, which a frame that reads a channel must know."""
        for channel in self.channels:
            channel.limit(rows)

    def attach(self) -> None:
        """Read from now on, behind what the checkpoint has committed."""
        for channel in self.channels:
            channel.attach(self._name, self._checkpoint.files_read(channel.directory))

    def commit(self, sources: Iterable[Mapping[str, Any]]) -> None:
        """Tell the channels what a committed micro-batch has read."""
        for channel in self.channels:
            channel.take_note(self._name, self._checkpoint.files_read(channel.directory, sources))

    def detach(self) -> None:
        """Read no more."""
        for channel in self.channels:
            channel.detach(self._name)

    @property
    def failure(self) -> MorisotError | None:
        """Why a channel has ended, if that should fail the job."""
        return next((channel.problem for channel in self.channels if channel.problem is not None), None)

    @property
    def is_drained(self) -> bool:
        """Whether all channels are closed, and the query has committed what was sent."""
        return all(channel.is_drained(self._name) for channel in self.channels)

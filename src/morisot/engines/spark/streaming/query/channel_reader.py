"""One query as a reader of channels and sockets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from morisot.engines.spark.checkpoints.query import Checkpoint
from morisot.engines.spark.streaming.channel_files import ChannelFiles
from morisot.errors import MorisotError
from morisot.plan.nodes.node import Node
from morisot.plan.nodes.source import BufferedSource


class ChannelReader:
    """The channels that a query reads."""

    def __init__(self, nodes: Iterable[Node], name: str, checkpoint: Checkpoint) -> None:
        self.channels: list[ChannelFiles] = [node.inlet for node in nodes if isinstance(node, BufferedSource)]
        self._name = name
        """The name of the query in the channels."""
        self._checkpoint = checkpoint

    def limit(self, rows: int | None) -> None:
        """Limits the elements of channel files to those of a micro-batch. Called before the frame is emitted."""
        for channel in self.channels:
            channel.limit(rows)

    def attach(self) -> None:
        """Starts to read, after the elements that are committed in the checkpoint."""
        for channel in self.channels:
            channel.attach(self._name, self._checkpoint.files_read(channel.directory))

    def commit(self, sources: Iterable[Mapping[str, Any]]) -> None:
        """Reports the files of a committed micro-batch to the channels."""
        for channel in self.channels:
            channel.take_note(self._name, self._checkpoint.files_read(channel.directory, sources))

    def add_end(self) -> None:
        """Lets the query run a last micro-batch, without elements."""
        for channel in self.channels:
            channel.add_end()

    def detach(self) -> None:
        """Ends reading."""
        for channel in self.channels:
            channel.detach(self._name)

    @property
    def failure(self) -> MorisotError | None:
        """The error with which a channel has ended, if it should fail the job."""
        return next((channel.problem for channel in self.channels if channel.problem is not None), None)

    @property
    def is_drained(self) -> bool:
        """Whether all channels are closed, and the query has committed all elements."""
        return all(channel.is_drained(self._name) for channel in self.channels)

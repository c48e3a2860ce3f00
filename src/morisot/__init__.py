"""Morisot: the dataflow model of Renoir for Python, on Apache Spark."""

from morisot import testing
from morisot.api import agg
from morisot.api.context import StreamContext
from morisot.api.inlet import Inlet
from morisot.api.keyed_stream import KeyedStream
from morisot.api.output import Channel, Output
from morisot.api.stream import Stream
from morisot.api.windowed_stream import KeyedWindowedStream, WindowedStream
from morisot.api.windows import (
    Accumulator,
    AllWindow,
    Assigned,
    CountWindow,
    CustomWindow,
    EventTimeWindow,
    LastK,
    ProcessingTimeWindow,
    TransactionWindow,
    Tx,
    Windowed,
)
from morisot.config import Config
from morisot.errors import (
    ConfigError,
    ElementError,
    EnvironmentProblem,
    JobError,
    MorisotError,
    PlanError,
    SinkError,
    SnapshotError,
    SourceError,
)
from morisot.plan.endpoints import OffsetSource, Sink, Source
from morisot.plan.nodes.partition import BatchMode
from morisot.plan.snapshots import Snapshot, Snapshots
from morisot.types.kafka import KafkaRecord

__version__ = "0.1.0"

__all__ = [
    "Accumulator",
    "AllWindow",
    "Assigned",
    "BatchMode",
    "Channel",
    "Config",
    "ConfigError",
    "CountWindow",
    "CustomWindow",
    "ElementError",
    "EnvironmentProblem",
    "EventTimeWindow",
    "Inlet",
    "JobError",
    "KafkaRecord",
    "KeyedStream",
    "KeyedWindowedStream",
    "LastK",
    "MorisotError",
    "OffsetSource",
    "Output",
    "PlanError",
    "ProcessingTimeWindow",
    "Sink",
    "SinkError",
    "Snapshot",
    "SnapshotError",
    "Snapshots",
    "Source",
    "SourceError",
    "Stream",
    "StreamContext",
    "TransactionWindow",
    "Tx",
    "Windowed",
    "WindowedStream",
    "__version__",
    "agg",
    "testing",
]

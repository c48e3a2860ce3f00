"""Morisot: the dataflow model of Renoir for Python, on Apache Spark.

A name is imported when it is first used: the command line and Python workers need few of them.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from morisot.errors import MorisotError
from morisot.tracebacks import install

if TYPE_CHECKING:
    from morisot import sinks, testing
    from morisot.annotations.marks import stage, to_stream
    from morisot.annotations.pipeline import pipeline
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
        PlanError,
        SinkError,
        SnapshotError,
        SourceError,
    )
    from morisot.plan.endpoints import OffsetSource, Sink, SinkPart, Source
    from morisot.plan.nodes.partition import BatchMode
    from morisot.plan.operators import Operator
    from morisot.plan.snapshots import Snapshot, Snapshots, StateRow
    from morisot.supervision.attempts import Attempt, SupervisionReport
    from morisot.supervision.launch import supervise
    from morisot.types.kafka import KafkaRecord
    from morisot.types.replicas import Emit, Message, Placement, Replica, Sender

__version__ = "0.1.0"

install(MorisotError)


__all__ = [
    "Accumulator",
    "AllWindow",
    "Assigned",
    "Attempt",
    "BatchMode",
    "Channel",
    "Config",
    "ConfigError",
    "CountWindow",
    "CustomWindow",
    "ElementError",
    "Emit",
    "EnvironmentProblem",
    "EventTimeWindow",
    "Inlet",
    "JobError",
    "KafkaRecord",
    "KeyedStream",
    "KeyedWindowedStream",
    "LastK",
    "Message",
    "MorisotError",
    "OffsetSource",
    "Operator",
    "Output",
    "Placement",
    "PlanError",
    "ProcessingTimeWindow",
    "Replica",
    "Sender",
    "Sink",
    "SinkError",
    "SinkPart",
    "Snapshot",
    "SnapshotError",
    "Snapshots",
    "Source",
    "SourceError",
    "StateRow",
    "Stream",
    "StreamContext",
    "SupervisionReport",
    "TransactionWindow",
    "Tx",
    "Windowed",
    "WindowedStream",
    "__version__",
    "agg",
    "pipeline",
    "sinks",
    "stage",
    "supervise",
    "testing",
    "to_stream",
]

_NAMES: dict[str, tuple[str, ...]] = {
    "morisot": ("sinks", "testing"),
    "morisot.annotations.marks": ("stage", "to_stream"),
    "morisot.annotations.pipeline": ("pipeline",),
    "morisot.supervision.attempts": ("Attempt", "SupervisionReport"),
    "morisot.supervision.launch": ("supervise",),
    "morisot.api": ("agg",),
    "morisot.api.context": ("StreamContext",),
    "morisot.api.inlet": ("Inlet",),
    "morisot.api.keyed_stream": ("KeyedStream",),
    "morisot.api.output": ("Channel", "Output"),
    "morisot.api.stream": ("Stream",),
    "morisot.api.windowed_stream": ("KeyedWindowedStream", "WindowedStream"),
    "morisot.api.windows": (
        "Accumulator",
        "AllWindow",
        "Assigned",
        "CountWindow",
        "CustomWindow",
        "EventTimeWindow",
        "LastK",
        "ProcessingTimeWindow",
        "TransactionWindow",
        "Tx",
        "Windowed",
    ),
    "morisot.config": ("Config",),
    "morisot.errors": (
        "ConfigError",
        "ElementError",
        "EnvironmentProblem",
        "JobError",
        "PlanError",
        "SinkError",
        "SnapshotError",
        "SourceError",
    ),
    "morisot.plan.endpoints": ("OffsetSource", "Sink", "SinkPart", "Source"),
    "morisot.plan.nodes.partition": ("BatchMode",),
    "morisot.plan.operators": ("Operator",),
    "morisot.plan.snapshots": ("Snapshot", "Snapshots", "StateRow"),
    "morisot.types.kafka": ("KafkaRecord",),
    "morisot.types.replicas": ("Emit", "Message", "Placement", "Replica", "Sender"),
}
"""The names of each module. Those of packages are modules."""
_MODULE_OF = {name: module for module, names in _NAMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = _MODULE_OF[name]
    if name in {"agg", "sinks", "testing"}:
        found: Any = importlib.import_module(f"{module}.{name}")
    else:
        found = getattr(importlib.import_module(module), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    """The public names, without the packages behind them."""
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})

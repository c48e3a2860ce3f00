"""Morisot: the dataflow model of Renoir for Python, on Apache Spark."""

from morisot.api.context import StreamContext
from morisot.api.keyed_stream import KeyedStream
from morisot.api.output import Channel, Output
from morisot.api.stream import Stream
from morisot.config import Config
from morisot.errors import (
    ConfigError,
    ElementError,
    EnvironmentProblem,
    JobError,
    MorisotError,
    PlanError,
    SinkError,
    SourceError,
)

__version__ = "0.1.0"

__all__ = [
    "Channel",
    "Config",
    "ConfigError",
    "ElementError",
    "EnvironmentProblem",
    "JobError",
    "KeyedStream",
    "MorisotError",
    "Output",
    "PlanError",
    "SinkError",
    "SourceError",
    "Stream",
    "StreamContext",
    "__version__",
]

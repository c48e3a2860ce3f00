"""The keys of `job.metrics()` and `ctx.metrics()`."""

from __future__ import annotations

from typing import Any, TypedDict


class LeftOutMetrics(TypedDict):
    """Numbers of skipped elements, by the title of the operator."""

    skipped: dict[str, int]
    """Elements on which a function failed, with `on_error="skip"`."""
    diverted: dict[str, int]
    """Elements whose failures a user's handler got."""
    late: dict[str, int]
    """Late elements."""


class BatchSeconds(TypedDict):
    """The duration of micro-batches."""

    last: float
    mean: float
    longest: float


class StateMetrics(TypedDict):
    """The size of an operator's state."""

    entries: int
    bytes: int


OperatorMetrics = TypedDict("OperatorMetrics", {"operator": str, "in": int, "out": int})
"""The numbers of elements that an operator read and emitted."""


class BacklogMetrics(TypedDict):
    """The backlog of a query."""

    waiting: int
    """Elements in channels."""
    waiting_files: int
    """Files in followed directories."""
    lag_seconds: float
    """The age of its oldest element."""


class QueryMetrics(TypedDict):
    """The micro-batches of a sink's query."""

    elements_in: int
    elements_out: int
    batches: int
    arriving_per_second: float
    elements_per_second: float
    batch_seconds: BatchSeconds
    watermark: str | None
    state: dict[str, StateMetrics]
    """By the title of the operator."""
    behind: dict[str, str]
    """Metrics of sources about their backlog, such as Kafka's."""


class BoundedSinkMetrics(LeftOutMetrics):
    """A bounded run inside a job."""

    sink: str


class SinkMetrics(LeftOutMetrics, BacklogMetrics, QueryMetrics):
    """A sink of an unbounded job."""

    sink: str
    """The name of its stream, or its operator."""
    silent: list[str]
    """The idle inputs."""


class CountedSinkMetrics(SinkMetrics):
    """The same with `operator_metrics`."""

    operators: list[OperatorMetrics]


class JobMetrics(LeftOutMetrics):
    """A job or a part of one, in total and for each sink."""

    elements_in: int
    elements_out: int
    batches: int
    sinks: list[Any]
    """`SinkMetrics` (or `CountedSinkMetrics`) of unbounded sinks, `BoundedSinkMetrics` of bounded ones."""


class LoopMetrics(TypedDict):
    """A loop, so far."""

    loop: str
    rounds: int
    first_round: int
    """The number of rounds of the run that wrote the snapshot."""
    condition: bool | None
    """The last result of the loop's condition."""
    elements: int
    """The number of elements that the body emitted in the last round."""
    seconds: float
    seconds_per_round: float
    last_round_seconds: float


class ContextMetrics(LeftOutMetrics):
    """The runs of a context."""

    moved_to_python: list[str]
    """The operators whose native form failed on an unsupported value."""
    loops: list[LoopMetrics]

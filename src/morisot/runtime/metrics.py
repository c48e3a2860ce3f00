"""What `job.metrics()` and `ctx.metrics()` tell, key by key."""

from __future__ import annotations

from typing import Any, TypedDict


class LeftOutMetrics(TypedDict):
    """Elements that were left out, by the title of the operator."""

    skipped: dict[str, int]
    """On which a function failed, with `on_error="skip"`."""
    diverted: dict[str, int]
    """Which a handler of the user's was given."""
    late: dict[str, int]
    """Which came after the watermark had passed them."""


class BatchSeconds(TypedDict):
    """How long micro-batches took."""

    last: float
    mean: float
    longest: float


class StateMetrics(TypedDict):
    """The size of an operator's state."""

    entries: int
    bytes: int


OperatorMetrics = TypedDict("OperatorMetrics", {"operator": str, "in": int, "out": int})
"""How many elements an operator took and gave."""


class BacklogMetrics(TypedDict):
    """What a query has not read yet."""

    waiting: int
    """Elements in channels."""
    waiting_files: int
    """Files in followed directories."""
    lag_seconds: float
    """For how long the oldest of it has been there."""


class QueryMetrics(TypedDict):
    """How the micro-batches of a sink's query went."""

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
    """What sources say of how far they are behind, such as Kafka's."""


class BoundedSinkMetrics(LeftOutMetrics):
    """A bounded run inside a job."""

    sink: str


class SinkMetrics(LeftOutMetrics, BacklogMetrics, QueryMetrics):
    """A sink of an unbounded job."""

    sink: str
    """The name of its stream, or its operator."""
    silent: list[str]
    """The inputs that hold no other one up, because they have been idle."""


class CountedSinkMetrics(SinkMetrics):
    """The same with `operator_metrics`."""

    operators: list[OperatorMetrics]


class JobMetrics(LeftOutMetrics):
    """A job or a part of one, in all and per sink."""

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
    """How many rounds the run had done that left the snapshot."""
    condition: bool | None
    """What it gave last."""
    elements: int
    """How many left the body in the last round."""
    seconds: float
    seconds_per_round: float
    last_round_seconds: float


class ContextMetrics(LeftOutMetrics):
    """The runs of a context."""

    moved_to_python: list[str]
    """The operators whose native form met a value that it cannot do."""
    loops: list[LoopMetrics]

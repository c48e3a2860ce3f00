"""The operators of a physical plan: one class for each way of running."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from morisot.compile.verdict import ColumnForm, Form, Refusal
from morisot.plan.nodes.closure import Closure
from morisot.plan.nodes.node import Node
from morisot.worker.rowwise.kernels import Kernel


@dataclass(frozen=True)
class Reason:
    """The form of one function, and why it has no faster one."""

    form: Form
    reason: str = ""
    advice: str = ""
    line: int | None = None
    """The line of the function that the reason is about, if there is one."""

    @classmethod
    def of(cls, form: Form, refusal: Refusal, reason: str = "") -> Reason:
        """The reason that a refusal gives; `reason` replaces its words."""
        return cls(form, reason or str(refusal), refusal.advice, refusal.line)


COLUMN = Reason("column")


@dataclass(frozen=True, eq=False)
class Physical:
    """One operator of a physical plan. Operators are compared by identity: a plan is a graph, not a tree.

    `logical` are the user's operators that it does, in the order of the stream; several where they are fused.
    """

    logical: tuple[Node, ...]
    inputs: tuple[Physical, ...] = ()
    reasons: Mapping[Closure, Reason] = field(default_factory=dict)
    may_fail: bool = False
    """Whether it is optimistic: it may fail on a value that only Python can do."""
    columns: Mapping[Closure, ColumnForm] = field(default_factory=dict)
    """The functions that are expressions over columns."""

    @property
    def node(self) -> Node:
        """The last of the user's operators, whose elements it gives."""
        return self.logical[-1]


@dataclass(frozen=True, eq=False)
class ReadOp(Physical):
    """A source."""


@dataclass(frozen=True, eq=False)
class Given(Physical):
    """A slot for what an earlier step of the job has made: a micro-batch, the input of a round, a cached stream.

    The runner binds it to a frame.
    """


@dataclass(frozen=True, eq=False)
class ColumnsOp(Physical):
    """A row-wise operator as expressions over columns."""


@dataclass(frozen=True, eq=False)
class StageOp(Physical):
    """Neighbouring row-wise operators in Python, fused into one pass over Arrow batches."""


@dataclass(frozen=True, eq=False)
class KernelOp(Physical):
    """Neighbouring row-wise operators as machine code, fused into one pass over Arrow batches."""

    kernels: tuple[Kernel, ...] = ()


@dataclass(frozen=True, eq=False)
class TimestampsOp(Physical):
    """Timestamps in a column beside the element."""


@dataclass(frozen=True, eq=False)
class WatermarkOp(Physical):
    """Timestamps of an unbounded stream, and the watermark that follows from them."""


@dataclass(frozen=True, eq=False)
class NativeAggregateOp(Physical):
    """Aggregates that Spark has itself, of a key, of a window or of the whole stream."""

    detail: Any = None
    """The fold that was recognised, if it is one."""


@dataclass(frozen=True, eq=False)
class SortOp(Physical):
    """A sort by columns, perhaps with a limit."""


@dataclass(frozen=True, eq=False)
class FusingOp(Physical):
    """An operator that takes the stage before it into its own pass over the rows: `steps` are its operators."""

    steps: tuple[Node, ...] = ()


@dataclass(frozen=True, eq=False)
class TwoPhaseFoldOp(FusingOp):
    """A fold in Python: partial results where the data is, a shuffle of those, and a merge in order."""


@dataclass(frozen=True, eq=False)
class TimestampsInPythonOp(FusingOp):
    """Timestamps that a function in Python gives."""


@dataclass(frozen=True, eq=False)
class InOrderOp(Physical):
    """A state machine in Python that is given the elements of a key one after the other, in row order."""


@dataclass(frozen=True, eq=False)
class KeyedStateOp(Physical):
    """A state machine in Python whose states are held in Spark's state store between micro-batches."""


@dataclass(frozen=True, eq=False)
class TimersOp(Physical):
    """A state machine in Python that waits for the watermark, or for the clock, with timers."""


@dataclass(frozen=True, eq=False)
class NativeJoinOp(Physical):
    """A join of Spark's own."""


@dataclass(frozen=True, eq=False)
class TableJoinOp(Physical):
    """A join of each micro-batch with a bounded stream, which is computed once and persisted."""


@dataclass(frozen=True, eq=False)
class UnionOp(Physical):
    """Several streams one after the other."""


@dataclass(frozen=True, eq=False)
class ExchangeOp(Physical):
    """Elements moved between partitions; the stream is the same."""


@dataclass(frozen=True, eq=False)
class CacheOp(Physical):
    """A stream that is retained from run to run."""


@dataclass(frozen=True, eq=False)
class LoopOp(FusingOp):
    """A loop: one barrier stage whose tasks stay, or a job for each round."""

    detail: Any = None
    """How it runs: see `choose.iterate`."""


@dataclass(frozen=True, eq=False)
class LoopResultOp(Physical):
    """The state or the elements that a loop left."""


@dataclass(frozen=True, eq=False)
class WriteOp(Physical):
    """A sink."""


@dataclass(frozen=True, eq=False)
class Choice:
    """How one of the user's operators runs by itself, before neighbours are looked at."""

    kind: type[Physical]
    reasons: Mapping[Closure, Reason] = field(default_factory=dict)
    columns: Mapping[Closure, ColumnForm] = field(default_factory=dict)
    may_fail: bool = False
    kernel: Kernel | None = None
    """The machine code of an operator that is a kernel by itself."""
    detail: Any = None

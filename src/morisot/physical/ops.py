"""The operators of a physical plan, with one class for each kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from morisot.compile.verdict import ColumnForm, Form, Refusal
from morisot.plan.nodes.closure import Closure
from morisot.plan.nodes.node import Node
from morisot.worker.rowwise.kernels import Kernel


@dataclass(frozen=True)
class Reason:
    """The form of one function, and the reason why it has no faster one."""

    form: Form
    reason: str = ""
    advice: str = ""
    line: int | None = None
    """The line of the function that the reason is about, if there is one."""

    @classmethod
    def of(cls, form: Form, refusal: Refusal, reason: str = "") -> Reason:
        """The reason of a refusal; `reason` replaces its text."""
        return cls(form, reason or str(refusal), refusal.advice, refusal.line)


COLUMN = Reason("column")


@dataclass(frozen=True)
class SelectedLeaf:
    """How an aggregate that selects an element computes one leaf of it."""

    how: Literal["unread", "compared", "key", "guarded", "selected"]
    """Not at all; as the extreme itself; as a leaf of the key; as the value of all elements; with the element."""
    index: int = 0
    """The index of the key's leaf."""


UNREAD, COMPARED = SelectedLeaf("unread"), SelectedLeaf("compared")
GUARDED, SELECTED = SelectedLeaf("guarded"), SelectedLeaf("selected")


@dataclass(frozen=True)
class Selection:
    """How an aggregate selects an element with an extreme value.

    The rungs, in the order in which they are tried: `value`, if no later operator can see which of several elements it
    is; `guard`, which fails unless all elements of a group agree in the leaves that are read; `packed`, which compares
    the value and the row order as one int, and fails if they are too large; `struct`, which compares them as a struct,
    and takes the first in row order. `candidates` is `struct` over the elements with the extreme value, which another
    scan finds.
    """

    rung: Literal["value", "guard", "packed", "candidates", "struct"]
    parts: Mapping[tuple[int, ...], SelectedLeaf]
    """By the path of the leaf in the element."""

    @property
    def observes_order(self) -> bool:
        return self.rung in ("packed", "candidates", "struct")

    @property
    def may_fail(self) -> bool:
        """Whether the next rung is used if this one fails."""
        return self.rung in ("guard", "packed")


@dataclass(frozen=True, eq=False)
class Physical:
    """One operator of a physical plan. Operators are compared by identity: a plan is a graph, not a tree.

    `logical` are the user's operators that it runs, in the order of the stream; several if they are fused.
    """

    logical: tuple[Node, ...]
    inputs: tuple[Physical, ...] = ()
    reasons: Mapping[Closure, Reason] = field(default_factory=dict)
    may_fail: bool = False
    """Whether it is optimistic: it may fail on a value that it does not support."""
    columns: Mapping[Closure, ColumnForm] = field(default_factory=dict)
    """The functions that have column forms."""

    @property
    def node(self) -> Node:
        """The last of the user's operators, whose elements it computes."""
        return self.logical[-1]


@dataclass(frozen=True, eq=False)
class ReadOp(Physical):
    """A source."""


@dataclass(frozen=True, eq=False)
class ParseOp(Physical):
    """A source of files that workers read in Python."""


@dataclass(frozen=True, eq=False)
class Given(Physical):
    """A slot for the result of an earlier step of the job: a micro-batch, the input of a round, a cached stream.

    The runner binds it to a frame.
    """


@dataclass(frozen=True, eq=False)
class ColumnsOp(Physical):
    """A row-wise operator as expressions over columns."""


@dataclass(frozen=True, eq=False)
class StageOp(Physical):
    """Adjacent row-wise operators in Python, fused into one pass over Arrow batches."""


@dataclass(frozen=True, eq=False)
class KernelOp(Physical):
    """Adjacent row-wise operators as machine code, fused into one pass over Arrow batches."""

    kernels: tuple[Kernel, ...] = ()


@dataclass(frozen=True, eq=False)
class TimestampsOp(Physical):
    """Timestamps in a hidden column."""


@dataclass(frozen=True, eq=False)
class WatermarkOp(Physical):
    """Timestamps of an unbounded stream, and the watermark derived from them."""


@dataclass(frozen=True, eq=False)
class NativeAggregateOp(Physical):
    """Native aggregates of Spark, of a key, of a window or of the whole stream."""

    detail: Any = None
    """The recognised fold, if it is one."""
    selection: Selection | None = None
    """How it selects an element, if it does."""


@dataclass(frozen=True, eq=False)
class SortOp(Physical):
    """A sort by columns, perhaps with a limit."""


@dataclass(frozen=True, eq=False)
class FusingOp(Physical):
    """An operator that runs the stage before it in its own pass over the rows: `steps` are the stage's operators."""

    steps: tuple[Node, ...] = ()


@dataclass(frozen=True, eq=False)
class TwoPhaseFoldOp(FusingOp):
    """A fold in Python: partial results of each partition, a shuffle, and a merge in row order."""


@dataclass(frozen=True, eq=False)
class CountTokensOp(FusingOp):
    """A count whose steps are called once for each distinct token of the texts of a partition."""

    detail: Any = None
    """The tokens of a text."""


@dataclass(frozen=True, eq=False)
class TimestampsInPythonOp(FusingOp):
    """Timestamps from a function in Python."""


@dataclass(frozen=True, eq=False)
class InOrderOp(Physical):
    """A machine in Python that processes the elements of a key in row order."""


@dataclass(frozen=True, eq=False)
class KeyedStateOp(Physical):
    """A machine in Python whose states are in Spark's state store."""


@dataclass(frozen=True, eq=False)
class NumberOp(Physical):
    """Numbers of the elements in stream order, in one partition."""


@dataclass(frozen=True, eq=False)
class OnDemandOp(Physical):
    """A user's operator in Python: a free replica processes the next block of elements."""


@dataclass(frozen=True, eq=False)
class TimersOp(Physical):
    """A machine in Python with timers of event time or processing time."""


@dataclass(frozen=True, eq=False)
class NativeJoinOp(Physical):
    """A native join of Spark."""


@dataclass(frozen=True, eq=False)
class TableJoinOp(Physical):
    """A join of each micro-batch with a bounded stream, which is computed once and persisted."""


@dataclass(frozen=True, eq=False)
class UnionOp(Physical):
    """A union of several streams, in their order."""


@dataclass(frozen=True, eq=False)
class ExchangeOp(Physical):
    """Elements are moved between partitions; the stream is unchanged."""


@dataclass(frozen=True, eq=False)
class CacheOp(Physical):
    """A stream that is retained from run to run."""


@dataclass(frozen=True, eq=False)
class OrderedOp(Physical):
    """The rows of its input, which restores their order because this operator requires it."""


@dataclass(frozen=True, eq=False)
class LoopOp(FusingOp):
    """A loop: one barrier stage whose tasks run all rounds, or a job for each round."""

    detail: Any = None
    """How it runs: see `choose.iterate`."""


@dataclass(frozen=True, eq=False)
class LoopResultOp(Physical):
    """The state or the elements of a loop, after its last round."""


@dataclass(frozen=True, eq=False)
class WriteOp(Physical):
    """A sink."""


@dataclass(frozen=True, eq=False)
class Choice:
    """How one of the user's operators runs by itself, before the passes over adjacent operators."""

    kind: type[Physical]
    reasons: Mapping[Closure, Reason] = field(default_factory=dict)
    columns: Mapping[Closure, ColumnForm] = field(default_factory=dict)
    may_fail: bool = False
    kernel: Kernel | None = None
    """The machine code of an operator that is a kernel by itself."""
    detail: Any = None
    selection: Selection | None = None
    """How an aggregate selects an element, if it does: computed by the pass `select_rungs`."""
    unique_keys: bool = False
    """Whether a sort compares keys of which no two are equal: computed by the pass `select_rungs`."""

"""Sinks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from morisot.plan.endpoints import Sink as UsersSink
from morisot.plan.nodes.closure import Closure
from morisot.plan.nodes.node import Node
from morisot.types.element import Type, arguments

AT_THE_END = "its result is complete when the stream has ended"
WriteMode = Literal["error", "overwrite", "append"]


@dataclass(frozen=True, eq=False)
class SinkNode(Node):
    """The base class of the sinks, which `ctx.execute()` and `ctx.start()` run."""

    input: Node
    observes_order: ClassVar[bool] = True
    takes_any_order: ClassVar[bool] = True
    """Whether it takes elements in any order, so that row order is not restored after a shuffle."""

    @property
    def shown_name(self) -> str:
        """The name of the sink in metrics: that of its stream, if it has one, else the operator."""
        return self.label or self.input.label or self.operator

    def signature(self, closure: str) -> tuple[Type, ...]:
        return arguments(self.input.type)


@dataclass(frozen=True, eq=False)
class CollectVec(SinkNode):
    """All elements, as a list in the user's program."""

    only_bounded: ClassVar[str] = AT_THE_END


@dataclass(frozen=True, eq=False)
class CollectCount(SinkNode):
    """The number of elements."""

    only_bounded: ClassVar[str] = AT_THE_END
    observes_order: ClassVar[bool] = False
    keeps_order: ClassVar[bool] = False


@dataclass(frozen=True, eq=False)
class CollectChannel(SinkNode):
    """A queue in the user's program, filled while the job runs."""


@dataclass(frozen=True, eq=False)
class ForEach(SinkNode):
    """Calls `function` on each element, in the user's program."""

    function: Closure
    with_batch: bool = False
    """Whether the function gets the number of the micro-batch before the element."""


@dataclass(frozen=True, eq=False)
class WriteTo(SinkNode):
    """A user-defined sink."""

    sink: UsersSink[Any]


@dataclass(frozen=True, eq=False)
class WriteSink(SinkNode):
    """A directory of files."""

    path: str
    mode: WriteMode = field(default="error", kw_only=True)


@dataclass(frozen=True, eq=False)
class WriteText(WriteSink):
    """Lines of text."""


@dataclass(frozen=True, eq=False)
class WriteCsv(WriteSink):
    """CSV files."""

    header: bool = field(default=True, kw_only=True)
    delimiter: str = field(default=",", kw_only=True)


@dataclass(frozen=True, eq=False)
class WriteJson(WriteSink):
    """One JSON object a line."""


@dataclass(frozen=True, eq=False)
class WriteParquet(WriteSink):
    """Parquet files."""


@dataclass(frozen=True, eq=False)
class WriteKafka(SinkNode):
    """Records of a Kafka topic: an element is the value, or its last two parts are the key and the value."""

    servers: str
    topic: str
    settings: Mapping[str, str] = field(repr=False, kw_only=True)
    """Settings of the Kafka client. They may contain secrets, so they are not among the shown parameters."""

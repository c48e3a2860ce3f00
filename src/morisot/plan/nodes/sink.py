"""Where elements go."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from morisot.plan.endpoints import Sink as UsersSink
from morisot.plan.nodes.closure import Closure
from morisot.plan.nodes.node import Node
from morisot.types.element import Type, arguments

AT_THE_END = "its result is there when the stream has ended"
WriteMode = Literal["error", "overwrite", "append"]


@dataclass(frozen=True, eq=False)
class SinkNode(Node):
    """The root of the sinks: they are what `ctx.execute()` and `ctx.start()` run."""

    input: Node
    observes_order: ClassVar[bool] = True
    takes_any_order: ClassVar[bool] = True
    """Whether the order of a shuffle's results need not be restored for it."""

    def signature(self, closure: str) -> tuple[Type, ...]:
        return arguments(self.input.type)


@dataclass(frozen=True, eq=False)
class CollectVec(SinkNode):
    """All elements, as a list in the user's program."""

    only_bounded: ClassVar[str] = AT_THE_END


@dataclass(frozen=True, eq=False)
class CollectCount(SinkNode):
    """How many elements arrived."""

    only_bounded: ClassVar[str] = AT_THE_END
    observes_order: ClassVar[bool] = False
    keeps_order: ClassVar[bool] = False


@dataclass(frozen=True, eq=False)
class CollectChannel(SinkNode):
    """A queue in the user's program, filled while the job runs."""


@dataclass(frozen=True, eq=False)
class ForEach(SinkNode):
    """Call `function` on each element, in the user's program."""

    function: Closure
    with_batch: bool = False
    """Whether it is told the number of the micro-batch before the element."""


@dataclass(frozen=True, eq=False)
class WriteTo(SinkNode):
    """A sink of the user's own."""

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
    """Records of a topic of Kafka's: an element is the value, or its last two parts are the key and the value."""

    servers: str
    topic: str
    settings: Mapping[str, str] = field(repr=False, kw_only=True)
    """What Kafka's client is set to: secrets, perhaps, and so no parameter that anybody is shown."""

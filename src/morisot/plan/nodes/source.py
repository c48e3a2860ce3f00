"""Where elements come from."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from morisot.plan.endpoints import OffsetSource
from morisot.plan.nodes.closure import Closure
from morisot.plan.nodes.node import Node
from morisot.types.element import INT, Type

IN_MEMORY = "what is in memory has an end"
OnError = Literal["raise", "skip"]
Starting = Literal["earliest", "latest"]


@dataclass(frozen=True, eq=False)
class StreamIter(Node):
    """The items of a Python iterable, read once when the stream is made."""

    values: Sequence[Any] = field(repr=False)
    only_bounded: ClassVar[str] = IN_MEMORY


@dataclass(frozen=True, eq=False)
class StreamRange(Node):
    """The integers of a range, generated where they are used."""

    range: range
    only_bounded: ClassVar[str] = IN_MEMORY


@dataclass(frozen=True, eq=False)
class StreamParIter(Node):
    """What `generator(instance, instances)` yields, each instance on its own worker."""

    generator: Closure
    only_bounded: ClassVar[str] = "each of its instances is run to its end"

    def signature(self, closure: str) -> tuple[Type, ...]:
        return (INT, INT)


@dataclass(frozen=True, eq=False)
class PathSource(Node):
    """Files under a path: a file, a directory or a glob; with `unbounded`, files that arrive later too."""

    path: str
    unbounded: bool = field(default=False, kw_only=True)
    files_per_batch: int | None = field(default=None, kw_only=True)
    """So many files at most in a micro-batch; None: all that are there."""
    listed: str | None = field(default=None, repr=False, kw_only=True)
    """A directory that lists the files in the pieces in which a bounded job with snapshots reads them."""

    @functools.cached_property
    def bounded(self) -> bool:
        return not self.unbounded

    @property
    def files_by_age(self) -> bool:
        return self.listed is None


@dataclass(frozen=True, eq=False)
class StreamFile(PathSource):
    """The lines of text files, without their newline."""


@dataclass(frozen=True, eq=False)
class StreamCsv(PathSource):
    """The rows of CSV files, as records."""

    header: bool = field(default=True, kw_only=True)
    delimiter: str = field(default=",", kw_only=True)
    quote: str = field(default='"', kw_only=True)
    multiline: bool = field(default=False, kw_only=True)
    on_error: OnError = field(default="raise", kw_only=True)


@dataclass(frozen=True, eq=False)
class StreamJson(PathSource):
    """The objects of files with one JSON object a line, as records."""

    on_error: OnError = field(default="raise", kw_only=True)


@dataclass(frozen=True, eq=False)
class StreamParquet(PathSource):
    """The rows of Parquet files, as records."""


@dataclass(frozen=True, eq=False)
class StreamKafka(Node):
    """The records of Kafka's topics, those of each partition in their order; with `unbounded`, later ones too."""

    servers: str
    topics: tuple[str, ...]
    settings: Mapping[str, str] = field(repr=False, kw_only=True)
    """What Kafka's client is set to: secrets, perhaps, and so no parameter that anybody is shown."""
    starting: Starting = field(default="earliest", kw_only=True)
    unbounded: bool = field(default=False, kw_only=True)
    records_per_batch: int | None = field(default=None, kw_only=True)
    """So many records at most in a micro-batch; None: all that are there."""

    @functools.cached_property
    def bounded(self) -> bool:
        return not self.unbounded


@dataclass(frozen=True, eq=False)
class StreamDataframe(Node):
    """The rows of a Spark DataFrame of the user's, as records."""

    frame: Any = field(repr=False)
    unbounded: bool = field(default=False, kw_only=True)

    @functools.cached_property
    def bounded(self) -> bool:
        return not self.unbounded


@dataclass(frozen=True, eq=False)
class StreamArrow(Node):
    """The rows of a pyarrow Table, as records."""

    table: Any = field(repr=False)
    only_bounded: ClassVar[str] = IN_MEMORY


@dataclass(frozen=True, eq=False)
class StreamRate(Node):
    """The integers 0, 1, 2, … at a steady rate, unbounded."""

    per_second: int
    only_unbounded: ClassVar[str] = "it never ends"

    @functools.cached_property
    def bounded(self) -> bool:
        return False


@dataclass(frozen=True, eq=False)
class Spooled(Node):
    """The root of the sources that come into this process, and wait until every query of a job has read them."""

    inlet: Any = field(repr=False)
    """Where they wait: `elements` in memory, or files in a `directory`."""


@dataclass(frozen=True, eq=False)
class StreamSocket(Spooled):
    """The lines that a server sends, until it has no more or the job is stopped."""

    host: str
    port: int
    only_unbounded: ClassVar[str] = "the server says when it ends"

    @functools.cached_property
    def bounded(self) -> bool:
        return False


@dataclass(frozen=True, eq=False)
class StreamChannel(Spooled):
    """What threads of the user's program send."""

    unbounded: bool = field(default=True, repr=False, kw_only=True)
    only_unbounded: ClassVar[str] = "whoever sends says when it ends"

    @functools.cached_property
    def bounded(self) -> bool:
        return not self.unbounded


@dataclass(frozen=True, eq=False)
class StreamOffsets(Node):
    """A source of the user's that is read from offset to offset: unbounded."""

    source: OffsetSource[Any]
    only_unbounded: ClassVar[str] = "it never ends"

    @functools.cached_property
    def bounded(self) -> bool:
        return False

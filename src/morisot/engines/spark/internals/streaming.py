"""What a streaming query says of its sources and micro-batches beyond PySpark's interface."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

_INITIALIZING = "Initializing"
"""How the status message of a query begins until it has made its sources."""


def source_numbers(df: DataFrame) -> list[int]:
    """The number of each source that a frame reads, in the order of its offsets; one that is read twice has one number.

    The numbers are those of the directories below `sources` in the query's checkpoint.
    """
    leaves = df._jdf.queryExecution().analyzed().collectLeaves()
    sources = [leaf for leaf in map(leaves.apply, range(leaves.size())) if leaf.isStreaming()]
    different: list[Any] = []
    for source in sources:
        if not any(source.equals(each) for each in different):
            different.append(source)
    return [next(number for number, each in enumerate(different) if source.equals(each)) for source in sources]


def has_sources(query: StreamingQuery) -> bool:
    """Whether a query has made its sources; until then its status says that it initializes them."""
    return not str(query.status["message"]).startswith(_INITIALIZING)


def newest_reports(query: StreamingQuery) -> Iterator[str]:
    """The progress reports that Spark keeps of a query, as JSON, the newest first, each fetched when asked for."""
    if not hasattr(query, "_jsq"):  # a client of a Spark server, which sends all of them anyway
        yield from (report.json for report in reversed(query.recentProgress))
        return
    kept = query._jsq.recentProgress()
    yield from (str(kept[index].json()) for index in reversed(range(len(kept))))

"""Sources and progress reports of a streaming query, beyond PySpark's interface."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

_INITIALIZING = "Initializing"
"""The prefix of the status message of a query before it has created its sources."""


def source_numbers(df: DataFrame) -> list[int]:
    """The number of each source of a frame, in the order of offsets. A source that is read twice has one number.

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
    """Whether a query has created its sources. Before, its status is that it initializes them."""
    return not str(query.status["message"]).startswith(_INITIALIZING)


def newest_reports(query: StreamingQuery) -> Iterator[str]:
    """The recent progress reports of a query as JSON, the newest first, fetched one by one."""
    if not hasattr(query, "_jsq"):  # on Spark Connect the server sends all of them
        yield from (report.json for report in reversed(query.recentProgress))
        return
    reports = query._jsq.recentProgress()
    yield from (str(reports[index].json()) for index in reversed(range(len(reports))))

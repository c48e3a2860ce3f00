"""Spark's progress reports of the micro-batches of a query, each of them once."""

from __future__ import annotations

import json
from typing import Any

from pyspark.sql.streaming.listener import StreamingQueryProgress
from pyspark.sql.streaming.query import StreamingQuery

from morisot.engines.spark.internals.streaming import newest_reports


class Reports:
    """The reports of one query.

    Spark retains the last hundred, and PySpark fetches and parses all of them on each call: with several micro-batches
    a second that took a fifth of a core. Here only new ones are fetched, beginning with the newest.
    """

    def __init__(self, query: StreamingQuery) -> None:
        self._query = query
        self._newest: str | None = None

    def new(self) -> list[StreamingQueryProgress]:
        """The new reports, in the order of micro-batches."""
        found = []
        for text in newest_reports(self._query):
            if text == self._newest:
                break
            found.append(text)
        self._newest = found[0] if found else self._newest
        return [StreamingQueryProgress.fromJson(as_classic(json.loads(text))) for text in reversed(found)]


def as_classic(report: dict[str, Any]) -> dict[str, Any]:
    """A report in the form of a classic session. A Spark Connect server omits sums, and writes a row as its values.

    >>> row = {"values": [2], "schema": {"type": "struct", "fields": [{"name": "elements"}]}}
    >>> as_classic({"sources": [{"numInputRows": 3}], "observedMetrics": {"morisot": row}})
    {'sources': [{'numInputRows': 3}], 'observedMetrics': {'morisot': {'elements': 2}}, 'numInputRows': 3}
    """
    rows = sum(each["numInputRows"] for each in report["sources"])
    observed = {name: _row(value) for name, value in (report.get("observedMetrics") or {}).items()}
    return {**report, "observedMetrics": observed, "numInputRows": report.get("numInputRows", rows)}


def _row(value: dict[str, Any]) -> dict[str, Any]:
    if value.keys() != {"values", "schema"}:
        return value
    return dict(zip((field["name"] for field in value["schema"]["fields"]), value["values"], strict=True))

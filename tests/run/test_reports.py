"""Reports of micro-batches: each is read once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from morisot.engines.spark.streaming.progress import Reports

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_each_report_comes_once_and_in_order(spark: SparkSession, tmp_path: Path) -> None:
    inbox = tmp_path / "in"
    inbox.mkdir()
    for number in range(3):
        (inbox / f"{number}.txt").write_text("a line\n")
    lines = spark.readStream.option("maxFilesPerTrigger", 1).text(str(inbox))
    query = lines.writeStream.format("noop").option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    try:
        reports = Reports(query)
        query.processAllAvailable()
        first = [report.batchId for report in reports.new() if report.numInputRows]
        assert first == [0, 1, 2]
        assert [report for report in reports.new() if report.numInputRows] == []
        (inbox / "3.txt").write_text("a line\n")
        query.processAllAvailable()
        assert [report.batchId for report in reports.new() if report.numInputRows] == [3]
    finally:
        query.stop()

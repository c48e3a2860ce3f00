"""The files that Spark keeps of a streaming query, as it writes them."""

from __future__ import annotations

import datetime
import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql.streaming.listener import StreamingQueryProgress

from morisot.engines.spark.internals import file_sink_log, names, query_log, restore_failures, spark_log, streaming
from morisot.errors import SnapshotError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

STATES = "spark.sql.streaming.stateStore.providerClass"


@dataclass(frozen=True)
class Saved:
    """The directories of a query that has read two files, a micro-batch for each, and one for the last watermark."""

    spark: SparkSession
    root: Path
    reports: tuple[str, ...] = ()

    @property
    def query(self) -> Path:
        return self.root / "checkpoint"

    def run(self) -> StreamingQuery:
        lines = self.spark.readStream.option("maxFilesPerTrigger", 1).text(str(self.root / "in"))
        timed = lines.selectExpr("timestamp_seconds(CAST(value AS BIGINT)) AS t").withWatermark("t", "1 second")
        writer = timed.dropDuplicates(["t"]).coalesce(1).writeStream.format("parquet")
        started = writer.option("checkpointLocation", str(self.query)).trigger(availableNow=True)
        query = started.start(str(self.root / "out"))
        query.awaitTermination()
        return query

    def files(self, offsets: Any) -> list[tuple[Path, int]]:
        last = query_log.file_offset(offsets[0])
        assert last is not None
        return [(query_log.source_log(self.query, 0), last)]

    def check(self) -> None:
        query_log.check(self.query, self.files, ignored=self.root / "ignored", replays_input=True)


@pytest.fixture(scope="module")
def made(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Saved:
    root = tmp_path_factory.mktemp("query")
    (root / "in").mkdir()
    (root / "in" / "a file").write_text("10\n10\n20\n")
    (root / "in" / "later").write_text("30\n")
    before = spark.conf.get(STATES), spark.conf.get("spark.sql.shuffle.partitions")
    spark.conf.set(STATES, names.ROCKS_DB)
    spark.conf.set("spark.sql.shuffle.partitions", "1")
    try:
        query = Saved(spark, root).run()
    finally:
        spark.conf.set(STATES, str(before[0]))
        spark.conf.set("spark.sql.shuffle.partitions", str(before[1]))
    return Saved(spark, root, tuple(streaming.newest_reports(query)))


@pytest.fixture
def saved(made: Saved, tmp_path: Path) -> Saved:
    """A copy of what the query keeps, which a test may change."""
    shutil.copytree(made.query, tmp_path / "checkpoint")
    return Saved(made.spark, tmp_path)


def test_micro_batches(made: Saved) -> None:
    assert query_log.started(made.query) == query_log.done(made.query) == [0, 1, 2]
    assert [query_log.watermark(made.query, number) for number in range(3)] == [0, 19_000, 29_000]
    age = datetime.datetime.now(datetime.UTC) - query_log.started_at(made.query, 0)
    assert datetime.timedelta(0) <= age < datetime.timedelta(hours=1)


def test_offsets_of_a_source_of_files(made: Saved) -> None:
    offsets = [query_log.offsets(made.query, number) for number in range(3)]
    assert [list(map(query_log.file_offset, each)) for each in offsets] == [[0], [1], [1]]
    assert query_log.file_offset(None) is query_log.file_offset({"topic": {"0": 1}}) is None


def test_the_log_of_a_source_of_files(made: Saved) -> None:
    log = query_log.source_log(made.query, 0)
    read = [query_log.files_read(log, number, number) for number in range(2)]
    assert [list(map(Path, each)) for each in read] == [[made.root / "in" / "a file"], [made.root / "in" / "later"]]
    assert query_log.number_of_files(log) == 2
    assert spark_log.reaching(log, 1) == [log / "0", log / "1"]


def test_reports_say_what_was_read(made: Saved) -> None:
    reports = [StreamingQueryProgress.fromJson(json.loads(each)) for each in reversed(made.reports)]
    read = {report.batchId: query_log.range_read(report["sources"][0]) for report in reports}
    assert {number: read[number] for number in (0, 1)} == {0: (0, 0), 1: (1, 1)}


def test_a_whole_checkpoint_passes_the_check(made: Saved) -> None:
    made.check()


def test_files_of_states_are_numbered(saved: Saved) -> None:
    query_log.cut(saved.query, 0)
    assert query_log.started(saved.query) == query_log.done(saved.query) == [0]
    versions = {query_log._state_version(file) for file in (saved.query / "state").rglob("*") if file.is_file()}
    assert max(versions) == 1


def test_an_empty_micro_batch_is_planned_as_spark_plans_it(saved: Saved) -> None:
    spark_log.cut(saved.query / "commits", 1)
    spark_log.cut(saved.query / "offsets", 1)
    theirs = json.loads((saved.query / "offsets" / "1").read_text().splitlines()[1])
    query_log.plan_empty_batch(saved.query)
    planned = json.loads((saved.query / "offsets" / "2").read_text().splitlines()[1])
    assert planned.keys() == theirs.keys()
    assert (query_log.watermark(saved.query, 2), query_log.offsets(saved.query, 2)) == (
        29_000,
        query_log.offsets(saved.query, 1),
    )


def test_spark_resumes_from_what_is_left(made: Saved, tmp_path: Path) -> None:
    """With the watermark that was written into its log."""
    directory = tmp_path / "query"
    shutil.copytree(made.root, directory)
    copy = Saved(made.spark, directory)
    query_log.cut(copy.query, 1)
    spark_log.cut(file_sink_log.log_in(directory / "out"), 1)
    query_log.set_next_watermark(copy.query, 1, 40_000)
    query_log.plan_empty_batch(copy.query)
    reports = map(json.loads, streaming.newest_reports(copy.run()))
    marks = {report["batchId"]: report["eventTime"].get("watermark") for report in reports}
    assert (min(marks), marks[2]) == (2, "1970-01-01T00:00:40.000Z")
    assert 2 in query_log.done(copy.query)


def test_a_checkpoint_that_spark_cannot_read(saved: Saved) -> None:
    (saved.root / "in").mkdir()
    (saved.query / "offsets" / "2").write_text("v99\n")
    with pytest.raises(PySparkException) as failure:
        saved.run()
    with pytest.raises(SnapshotError, match=r"^Spark cannot resume from the checkpoint in here: "):
        restore_failures.refuse_unreadable(failure.value, "here")

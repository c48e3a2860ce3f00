"""Each private call into Spark's JVM, once."""

from __future__ import annotations

import gzip
import shutil
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark program uses

from morisot.engines.spark.internals import (
    file_sink,
    file_sink_log,
    gateway,
    hadoop,
    kafka,
    plans,
    query_log,
    sessions,
    streaming,
)
from morisot.engines.spark.internals.causes import causes, first_cause
from morisot.physical.scan_layout import ScanLayout


def _slow(frames: Iterable[Any]) -> Iterator[Any]:
    time.sleep(0.5)
    yield from frames


if TYPE_CHECKING:
    from pyarrow import RecordBatch
    from pyspark.sql import SparkSession


# --- sessions and the gateway ---


def test_the_stages_that_run(spark: SparkSession) -> None:
    """While a job runs, its stage is listed with the rows that its tasks have read."""
    assert sessions.running_stages(spark) == []
    found: list[list[tuple[int, ...]]] = []
    over = threading.Event()

    def look() -> None:
        while not over.is_set():
            found.append(sessions.running_stages(spark))

    looking = threading.Thread(target=look)
    looking.start()
    spark.range(2).mapInPandas(_slow, "id BIGINT").collect()
    over.set()
    looking.join()
    assert any(stages and len(stages[0]) == 6 for stages in found)


def test_a_classic_session(spark: SparkSession) -> None:
    assert sessions.is_classic(spark)
    assert not sessions.is_connect(spark.range(1))
    assert not sessions.is_stopped(spark)
    assert sessions.active() is not None
    assert sessions.task_slots(spark) == 2
    assert gateway.jvm_process() is not None


def test_the_gateway_of_a_session(spark: SparkSession) -> None:
    found = gateway.current()
    assert found is not None
    assert gateway.client_of(found) is gateway.client_of_session(spark)
    assert gateway.client_of(found).gateway_parameters.port > 0
    assert found.proc.poll() is None


def test_kafka_without_its_connector(spark: SparkSession) -> None:
    """With it: tests/kafka."""
    assert kafka.end_offsets(spark, {"bootstrap.servers": "localhost:1"}, ["topic"]) is None


# --- plans ---


def test_plans_of_a_frame(spark: SparkSession) -> None:
    df = spark.range(0, 10, 1, 2).filter("id > 3")
    assert plans.text(df).count("== ") == 4
    assert plans.size_in_bytes(df) == 80
    assert plans.broadcast_threshold(df) == 2**30 // 64, "a part of the memory of the session"


def test_rows_without_their_plan(spark: SparkSession) -> None:
    df = plans.without_plan(spark.range(3).persist())
    assert (df.schema, [row.id for row in df.collect()]) == (spark.range(0).schema, [0, 1, 2])
    assert "Range" not in plans.text(df)


def test_what_a_job_observed(spark: SparkSession) -> None:
    df = spark.range(5).observe("seen", F.expr("count(1) AS n"), F.expr("max(id) AS most"))
    df.collect()
    row = plans.observed(df, "seen")
    assert [row.get(0), row.getLong(1)] == [5, 4]
    assert plans.observed(df, "other") is None


def test_first_rows_of_each_partition(spark: SparkSession) -> None:
    df = plans.first_of_each_partition(spark.range(0, 10, 1, 2), 2)
    assert [row.id for row in df.collect()] == [0, 1, 5, 6]


def test_partitions_that_stay(spark: SparkSession) -> None:
    df = spark.range(0, 10, 1, 3)
    assert plans.fixed_partitions(df) == 3
    assert plans.fixed_partitions(df.coalesce(2)) is None
    assert plans.fixed_partitions(df.groupBy("id").count()) is None, "an adaptive plan tells nothing"


# --- files ---


def test_a_file_system(spark: SparkSession, tmp_path: Path) -> None:
    old, new = tmp_path / "old one", tmp_path / "new"
    (old / "inside").mkdir(parents=True)
    assert hadoop.exists(spark, str(old))
    hadoop.rename(spark, str(old), str(new))
    assert (hadoop.exists(spark, str(old)), (new / "inside").is_dir()) == (False, True)
    hadoop.delete(spark, new.as_uri())
    hadoop.delete(spark, str(new))
    assert list(tmp_path.iterdir()) == []


def test_files_have_no_checksums_beside_them(spark: SparkSession, tmp_path: Path) -> None:
    spark.range(0, 25, 1, 2).write.option("maxRecordsPerFile", 10).parquet(str(tmp_path / "out"))
    assert {file.suffix for file in (tmp_path / "out").iterdir()} == {".parquet", ""}
    files = file_sink.in_row_order(tmp_path / "out")
    assert [spark.read.parquet(str(file)).first() for file in files] == [(0,), (10,), (12,), (22,)]


@pytest.mark.parametrize("format_", ["text", "csv", "json", "parquet"])
def test_micro_batches_in_files(format_: file_sink.Format, spark: SparkSession, tmp_path: Path) -> None:
    out = tmp_path / "out"
    df = spark.range(0, 2, 1, 1).selectExpr("CAST(id AS STRING) AS value")
    for batch in (0, 1, 1):  # the last one is in the log
        file_sink.add_batch(df, str(out), format_, {"header": True} if format_ == "csv" else {}, batch)
    files = list(file_sink.part_files(out))
    listed = list(file_sink_log.listed(file_sink_log.log_in(out), 1, advice=""))
    assert sorted(listed) == sorted((file.name, file.stat().st_size, True) for file in files)
    if format_ == "csv":
        assert [file.read_text() for file in files] == ["value\n0\n1\n"] * 2


def test_spark_reads_what_a_log_lists(spark: SparkSession, tmp_path: Path) -> None:
    spark.range(0, 4, 1, 2).write.parquet(str(tmp_path / "files"))
    files = file_sink.in_row_order(tmp_path / "files")
    directory = tmp_path / "listed"
    file_sink_log.prepare(directory)
    file_sink_log.write(directory, [(file.as_uri(), 2**20) for file in files[::-1]], block_size=2**20)
    batches: list[list[int]] = []
    reader = spark.readStream.schema("id BIGINT").option("recursiveFileLookup", True)
    listed = reader.option("maxFileAge", "1000000d").option("maxFilesPerTrigger", 1).parquet(str(directory))
    writer = listed.writeStream.foreachBatch(lambda df, _: batches.append([row.id for row in df.collect()]))
    query = writer.option("checkpointLocation", str(tmp_path / "query")).trigger(availableNow=True).start()
    query.awaitTermination()
    assert batches == [[2, 3], [0, 1]], "in the order of the list"


def test_a_scan_of_a_list_splits_and_packs_by_its_own_limits(spark: SparkSession, tmp_path: Path) -> None:
    """Whatever sizes are listed, and whatever the session's own limits are later."""
    texts = {"a b": "0\n" * 40, "c": "1\n", "d%.gz": "2\n", "e": "3\n" * 10}
    for name, text in texts.items():
        content = text.encode()
        (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    plain = spark.read.text(str(tmp_path))
    files = plans.files_of(plain)
    sizes = plans.file_sizes(plain, files)
    assert {Path(unquote(urlsplit(file).path)).name: size for file, size in zip(files, sizes, strict=True)} == {
        "a b": 80,
        "c": 2,
        "d%.gz": (tmp_path / "d%.gz").stat().st_size,
        "e": 20,
    }
    assert [plans.is_split(plain, file) for file in sorted(files)] == [True, True, False, True]
    assert plans.is_plain_scan(plain)
    (tmp_path / "k=1").mkdir()
    (tmp_path / "k=1" / "f").write_text("0\n")
    assert not plans.is_plain_scan(spark.read.text(str(tmp_path)))
    assert plans.scan_limits(spark) == (128 * 2**20, 4 * 2**20, 2)
    directory = tmp_path / "listed"
    file_sink_log.prepare(directory)
    listed = [(file, size) for file, size in zip(sorted(files), (100, 30, 30, 30), strict=True)]
    file_sink_log.write(directory, listed, block_size=2**20)
    df = plans.scan_of_list(
        spark,
        lambda reader: reader.schema("value STRING").option("recursiveFileLookup", True).text(str(directory)),
        ScanLayout((100, 30, 30, 30), split_bytes=50, open_bytes=1, partitions=None),
        factor=0.1,
    )
    shutil.rmtree(directory)  # it has been read
    assert plans.size_in_bytes(df) == 19
    rows = df.selectExpr("value", "spark_partition_id()").distinct().collect()
    assert sorted(map(tuple, rows)) == [("0", 0), ("0", 1), ("1", 2), ("2", 3), ("3", 4)]
    session: Any = df.sparkSession
    assert session is spark
    assert spark.conf.get("spark.sql.files.maxPartitionBytes") == "134217728b"


# --- streams ---


def test_numbers_of_sources(spark: SparkSession, tmp_path: Path) -> None:
    one, other = (spark.readStream.text(str(tmp_path)) for _ in range(2))
    assert streaming.source_numbers(one.unionAll(other).unionAll(one)) == [0, 1, 0]


@pytest.mark.thorough
def test_other_state_partitions(spark: SparkSession, tmp_path: Path) -> None:
    """Spark adds a micro-batch, refuses the same number again, and refuses a query without states."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "one.txt").write_text("a\nb\na\n")
    lines = spark.readStream.text(str(tmp_path / "in"))
    for name, df in (("counts", lines.groupBy("value").count()), ("lines", lines)):
        location = {"checkpointLocation": str(tmp_path / name)}
        writer = df.writeStream.format("noop").outputMode("update").options(**location).trigger(availableNow=True)
        writer.start().awaitTermination()
    counts = tmp_path / "counts"
    before = query_log.partitions(counts, 0)
    assert before is not None
    streaming.repartition(spark, counts, before + 1)
    last = query_log.done(counts)[-1]
    assert query_log.started(counts)[-1] == last > 0
    assert query_log.partitions(counts, last) == before + 1
    with pytest.raises(streaming.NotRepartitioned, match="number of shuffle partitions"):
        streaming.repartition(spark, counts, before + 1)
    assert query_log.partitions(tmp_path / "lines", 0) is None


@pytest.mark.thorough
def test_an_empty_entry_of_the_log_of_a_file_sink(spark: SparkSession, tmp_path: Path) -> None:
    log = file_sink_log.log_in(tmp_path)
    log.mkdir()
    for number in range(12):
        streaming.add_nothing(spark, log, number)
    assert list(file_sink_log.listed(log, 11, advice="")) == []


def test_the_state_partition_of_a_bucket(spark: SparkSession) -> None:
    rows = spark.range(200).selectExpr("CAST(id AS INT) AS id", "pmod(hash(CAST(id AS INT)), 7) AS found").collect()
    assert [streaming.state_partition(row.id, 7) for row in rows] == [row.found for row in rows]


# --- errors ---


def same(batches: Iterable[RecordBatch]) -> Iterator[RecordBatch]:
    yield from batches


@pytest.mark.parametrize("barrier", [False, True])
def test_the_chain_of_causes(spark: SparkSession, barrier: bool) -> None:
    divided = spark.range(0, 2, 1, 1).selectExpr("1 div id AS n")
    df = divided.mapInArrow(same, "n BIGINT", barrier=barrier)
    with pytest.raises((PySparkException, Py4JJavaError)) as failure:
        df.collect()
    last = causes(failure.value)[-1]
    assert (last.condition, last.is_a("org.apache.spark.SparkArithmeticException")) == ("DIVIDE_BY_ZERO", True)
    if not barrier:  # of a barrier stage only the text is known
        assert (last.state, last.parameters) == ("22012", {"config": '"spark.sql.ansi.enabled"'})


def test_the_first_cause_of_what_java_threw(spark: SparkSession) -> None:
    context = spark.sparkContext
    with pytest.raises(Py4JJavaError) as failure:
        context._jvm.java.util.ArrayList().get(3)  # type: ignore[union-attr]
    assert first_cause(failure.value).startswith("IndexOutOfBoundsException: Index 3 out of bounds")

"""Going back in the files of a streaming query, without Spark."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

import pytest

import morisot as mo
from morisot.engines.spark.checkpoints.query import Checkpoint, was_alone
from morisot.engines.spark.checkpoints.snapshot_files import write_record
from morisot.engines.spark.internals import query_log, spark_log
from morisot.engines.spark.io.output_directory import OutputDirectory
from morisot.errors import Location
from morisot.plan.analysis.fingerprint import describe
from morisot.plan.nodes.sink import WriteText
from morisot.plan.nodes.source import StreamFile
from morisot.private import private_file
from morisot.runtime import atomic_files
from morisot.types.element import STR


def put(file: Path, *values: Any) -> None:
    """An entry of a log, with the checksum beside it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("\n".join(["v1", *map(json.dumps, values)]))
    (file.parent / f".{file.name}.crc").write_text("sum")


def started(number: int) -> dict[str, int]:
    return {"batchTimestampMs": 1000 * number, "batchWatermarkMs": 0}


def read(number: int, directory: str = "/in") -> dict[str, Any]:
    return {"path": f"hdfs:{directory}/{number}", "timestamp": number, "batchId": number}


def sink(directory: Path) -> WriteText:
    location = Location("program.py", 3)
    source = StreamFile(str(directory), unbounded=True, type=STR, location=location)
    return WriteText(source, str(directory / "out"), type=STR, location=location)


@pytest.fixture
def checkpoint(tmp_path: Path) -> Checkpoint:
    """Twelve micro-batches of a file source and a file sink, the tenth of which was compacted, and one under way."""
    made = Checkpoint({sink(tmp_path): tmp_path / "saves"}, keep=100)
    made.begin(describe(sink(tmp_path)))
    made.note_sources([0])
    spark, out = tmp_path / "saves" / "spark", tmp_path / "out"
    spark.mkdir()
    (spark / "metadata").write_text('{"id": "a query"}')
    files: list[Any] = []
    for number in range(13):
        put(spark / "offsets" / str(number), started(number), {"logOffset": number})
        name = f"{number}.compact" if number == 9 else str(number)
        put(spark / "sources" / "0" / name, read(number))
        for partition in range(2):
            put(spark / "state" / "0" / str(partition) / f"{number + 1}.changelog")
        written = out / f"part-{number}"
        out.mkdir(exist_ok=True)
        written.write_text(f"{number}\n")
        entry = {"path": f"file://{written}", "action": "add"}
        files.append(entry)
        if number < 12:
            put(spark / "commits" / str(number), {"nextBatchWatermarkMs": 0})
            put(out / "_spark_metadata" / name, *(files if number == 9 else [entry]))
    return made


def numbers_in(directory: Path) -> list[int]:
    return sorted(int(file.name.split("-")[1]) for file in directory.glob("part-*"))


def test_snapshots_are_the_micro_batches_that_are_done(checkpoint: Checkpoint) -> None:
    found = checkpoint.snapshots()
    assert [record.id for record in found] == list(range(12))
    assert found[3].offsets == ({"logOffset": 3},)
    assert found[3].time.timestamp() == 3
    assert found[3].of == "saves"


def test_the_sizes_of_states_can_be_read_while_they_are_written(
    checkpoint: Checkpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reader before each step of the writing finds the old content or the new content."""
    checkpoint.note_sizes(3, {"count": {"entries": 1, "bytes": 8}})
    seen: list[Any] = []
    opened = private_file

    def look_first(file: Path) -> Any:
        writing = opened(file)  # as it is when it was opened, and nothing was written
        seen.append(checkpoint.snapshots()[3].state)
        return writing

    monkeypatch.setattr(atomic_files, "private_file", look_first)
    checkpoint.note_sizes(3, {"count": {"entries": 2, "bytes": 8}})
    assert seen == [{"count": {"entries": 1, "bytes": 8}}]
    assert checkpoint.snapshots()[3].state == {"count": {"entries": 2, "bytes": 8}}


def test_snapshots_that_go_while_they_are_listed_are_left_out(
    checkpoint: Checkpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A job that runs drops its oldest ones."""
    read = spark_log.lines
    for times_read_before in (0, 1):  # by who asks whether it is whole, and by who makes the record of it
        reads = 0

        def gone(file: Path, *, before: int = times_read_before) -> list[Any]:
            nonlocal reads
            if file.parent.name == "offsets" and file.name == "2":
                reads += 1
                if reads > before:
                    raise FileNotFoundError(file)
            return read(file)

        monkeypatch.setattr(spark_log, "lines", gone)
        assert [record.id for record in checkpoint.snapshots()] == [0, 1, *range(3, 12)]


def test_a_program_that_was_killed_as_it_began_to_go_back_does_not_go_back(
    checkpoint: Checkpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(file: Path) -> Any:
        file.touch()
        raise KeyboardInterrupt(file.name)

    plan = describe(sink(tmp_path))
    with monkeypatch.context() as patch:
        patch.setattr(atomic_files, "private_file", killed)
        with pytest.raises(KeyboardInterrupt, match="going-back"):
            checkpoint.resume(plan, 4)
    checkpoint.resume(plan, "latest")
    assert checkpoint.numbers() == list(range(12))


def test_latest_removes_what_no_finished_micro_batch_wrote(checkpoint: Checkpoint, tmp_path: Path) -> None:
    checkpoint.resume(describe(sink(tmp_path)), "latest")
    assert numbers_in(tmp_path / "out") == list(range(12))
    assert spark_log.numbers(tmp_path / "saves" / "spark" / "offsets")[-1] == 12


def test_a_source_that_is_read_twice_has_one_log(checkpoint: Checkpoint, tmp_path: Path) -> None:
    spark = tmp_path / "saves" / "spark"
    for number in range(13):
        offsets = [{"logOffset": number}, {"logOffset": number}, {"logOffset": 0}]
        put(spark / "offsets" / str(number), started(number), *offsets)
    put(spark / "sources" / "1" / "0", read(0, "/other"))
    checkpoint.note_sources([0, 1, 2])
    assert checkpoint.numbers() == [], "there is no third log"
    checkpoint.note_sources([0, 0, 1])
    assert checkpoint.numbers() == list(range(12))
    assert checkpoint.files_read("/other") == {"0"}


@pytest.mark.parametrize("number", [10, 9, 4, 0])
def test_going_back(checkpoint: Checkpoint, tmp_path: Path, number: int) -> None:
    checkpoint.resume(describe(sink(tmp_path)), number)
    spark = tmp_path / "saves" / "spark"
    assert checkpoint.numbers() == list(range(number + 1))
    for log in (spark / "offsets", spark / "commits", spark / "sources" / "0", tmp_path / "out" / "_spark_metadata"):
        assert spark_log.numbers(log)[-1] == number
        assert {file.name for file in log.glob(".*.crc")} == {f".{file.name}.crc" for file in log.glob("[0-9]*")}
    versions = sorted(int(file.stem) for file in (spark / "state" / "0" / "1").glob("*.changelog"))
    assert versions == list(range(1, number + 2))
    assert numbers_in(tmp_path / "out") == list(range(number + 1))


def test_restoring_removes_the_directories_of_later_and_of_unfinished_micro_batches(tmp_path: Path) -> None:
    """Running values have a directory for each micro-batch, and Spark lists none of them."""
    names = ["batch=0", "batch=1", "batch=2", "batch=10", "batch=mine", "_writing-11"]
    for name in names:
        (tmp_path / "out" / name).mkdir(parents=True)
        (tmp_path / "out" / name / "part-0").touch()
    OutputDirectory(sink(tmp_path)).restore(1)
    assert {file.name for file in (tmp_path / "out").iterdir()} == {"batch=0", "batch=1", "batch=mine"}


def test_going_back_is_finished_when_it_was_broken_off(checkpoint: Checkpoint, tmp_path: Path) -> None:
    write_record(tmp_path / "saves" / "going-back", "restore", 5)
    spark_log.cut(tmp_path / "out" / "_spark_metadata", 5)
    checkpoint.resume(describe(sink(tmp_path)), "latest")
    assert checkpoint.numbers() == list(range(6))
    assert numbers_in(tmp_path / "out") == list(range(6))


def test_a_snapshot_whose_files_are_unknown_is_none(checkpoint: Checkpoint, tmp_path: Path) -> None:
    for number in range(9):  # Spark drops them some minutes after it has compacted them
        spark_log.remove(tmp_path / "out" / "_spark_metadata" / str(number))
    assert checkpoint.numbers() == [9, 10, 11]
    with pytest.raises(mo.ConfigError, match=r"restart is 4: saves has no such snapshot in .*; there are 9, 10, 11"):
        checkpoint.resume(describe(sink(tmp_path)), 4)


def test_results_that_are_gone_are_missed(checkpoint: Checkpoint, tmp_path: Path) -> None:
    (tmp_path / "out").rename(tmp_path / "elsewhere")
    with pytest.raises(
        mo.SinkError, match=r"write_text \(program.py:3\): .*out', which the job has written before, is"
    ):
        checkpoint.resume(describe(sink(tmp_path)), "latest")


def test_another_program_is_refused(checkpoint: Checkpoint, tmp_path: Path) -> None:
    other = describe(sink(tmp_path / "other"))
    with pytest.raises(mo.PlanError, match=r"because the program has changed: stream_file \(.*\): path was .* and is"):
        checkpoint.resume(other, "latest")
    assert checkpoint.can_resume("latest")
    assert not checkpoint.can_resume(None)


def test_an_empty_micro_batch_starts_now(tmp_path: Path) -> None:
    put(tmp_path / "offsets" / "3", started(3), {"logOffset": 7})
    put(tmp_path / "commits" / "3", {"nextBatchWatermarkMs": 5000})
    before = datetime.datetime.now(datetime.UTC) - datetime.timedelta(
        milliseconds=1
    )  # of which Spark counts whole ones
    query_log.plan_empty_batch(tmp_path)
    assert query_log.started(tmp_path) == [3, 4]
    assert before <= query_log.started_at(tmp_path, 4) <= datetime.datetime.now(datetime.UTC)
    assert (query_log.watermark(tmp_path, 4), query_log.offsets(tmp_path, 4)) == (5000, [{"logOffset": 7}])


def test_a_sink_was_alone_if_the_saved_plan_has_no_other(tmp_path: Path) -> None:
    for name, plan in {"alone": {"sinks": ["alone"]}, "old": {}, "shared": {"sinks": ["shared", "other"]}}.items():
        (tmp_path / name).mkdir()
        write_record(tmp_path / name / "plan.json", "plan", plan)
    assert [name for name in ("alone", "old", "shared", "new") if was_alone(tmp_path / name)] == ["alone", "old"]


def test_a_fresh_start_forgets_everything(checkpoint: Checkpoint, tmp_path: Path) -> None:
    checkpoint.begin(describe(sink(tmp_path / "other")))
    assert checkpoint.numbers() == []
    checkpoint.resume(describe(sink(tmp_path / "other")), "latest")


def test_sizes_of_states_stay_as_long_as_their_snapshots(checkpoint: Checkpoint) -> None:
    checkpoint.keep = 3
    for number in range(8, 12):
        checkpoint.note_sizes(number, {"fold (p.py:1)": {"entries": number, "bytes": 10}})
    sizes = {record.id: record.state for record in checkpoint.snapshots() if record.state}
    assert sizes[11] == {"fold (p.py:1)": {"entries": 11, "bytes": 10}}
    assert 7 not in sizes


def test_a_checkpoint_without_snapshots_goes_with_its_job(tmp_path: Path) -> None:
    temporary = Checkpoint({sink(tmp_path): tmp_path / "saves"})
    temporary.begin(describe(sink(tmp_path)))
    temporary.close()
    assert not (tmp_path / "saves").exists()


def test_the_end_of_the_sources_is_planned_once_and_then_committed(checkpoint: Checkpoint, tmp_path: Path) -> None:
    spark = tmp_path / "saves" / "spark"
    assert (checkpoint.has_begun, checkpoint.planned_end, checkpoint.has_ended) == (True, None, False)
    assert checkpoint.plan_end() == 13  # the micro-batch that is under way is replayed before
    assert (checkpoint.planned_end, checkpoint.has_ended) == (13, False)
    put(spark / "commits" / "12", {"nextBatchWatermarkMs": 0})
    put(spark / "offsets" / "13", started(13), {"logOffset": 13})
    assert (checkpoint.planned_end, checkpoint.has_ended) == (13, False)
    put(spark / "commits" / "13", {"nextBatchWatermarkMs": 0})
    assert (checkpoint.planned_end, checkpoint.has_ended) == (None, True)
    put(spark / "offsets" / "14", started(14), {"logOffset": 13})
    put(spark / "commits" / "14", {"nextBatchWatermarkMs": 0})
    assert checkpoint.has_ended  # a micro-batch without elements
    put(spark / "offsets" / "15", started(15), {"logOffset": 14})
    put(spark / "commits" / "15", {"nextBatchWatermarkMs": 0})
    assert (checkpoint.planned_end, checkpoint.has_ended) == (None, False)  # there are elements after it


def test_an_earlier_snapshot_is_before_the_end(checkpoint: Checkpoint, tmp_path: Path) -> None:
    checkpoint.plan_end()
    checkpoint.resume(describe(sink(tmp_path)), 11)
    assert checkpoint.planned_end is None
    checkpoint.plan_end()
    checkpoint.begin(describe(sink(tmp_path)))
    assert (checkpoint.planned_end, checkpoint.has_begun) == (None, False)

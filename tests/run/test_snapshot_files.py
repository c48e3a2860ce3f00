"""Files of snapshots: what is damaged, missing or foreign is refused before anything is made of it."""

from __future__ import annotations

import json
import os
import pickle
import re
from pathlib import Path
from typing import Any

import pytest

import morisot as mo
from morisot.engines.spark.checkpoints.loops import SnapshotStore
from morisot.engines.spark.checkpoints.snapshot_files import (
    FORMATS,
    check_manifest,
    read_record,
    write_manifest,
    write_record,
)
from morisot.engines.spark.internals import query_log, spark_log
from morisot.worker.report.signature import Seal
from tests.run.test_checkpoint import put, started
from tests.run.test_loop_task import loop_of


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    file = tmp_path / "record.json"
    content: dict[str, Any] = {"numbers": [1, 2.5, None, True], "text": "ä\n", "nested": [{"a": []}]}
    for kind, number in FORMATS.items():
        write_record(file, kind, content)
        assert read_record(file, kind) == content
        assert json.loads(file.read_text())["format"] == number
    assert read_record(tmp_path / "other.json", "plan", list) == []


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is damaged: it is empty"),
        (b"\xff\xfe\x00", "is damaged: it is not text"),
        (b"{", "is damaged: it is not JSON"),
        (b"[" * 100_000, "is damaged: it is not JSON"),
        (b"[1]", "is damaged: Morisot did not write it"),
        (b'{"sinks": []}', "is damaged: Morisot did not write it"),
        (b'{"format": 7, "content": 1}', "cannot be read: it has the format 7, and this version of Morisot reads 1"),
        (b'{"format": 1, "sha256": "", "content": 1}', "is damaged: its content does not have its digest"),
    ],
)
def test_other_records_are_refused(content: bytes, said: str, tmp_path: Path) -> None:
    file = tmp_path / "record.json"
    file.write_bytes(content)
    with pytest.raises(mo.SnapshotError, match=f"{file} {said}") as caught:
        read_record(file, "sources")
    assert "What to do: " in str(caught.value)
    with pytest.raises(mo.SnapshotError, match=f"{tmp_path / 'none'} is missing"):
        read_record(tmp_path / "none", "sources")
    with pytest.raises(mo.SnapshotError, match=f"{tmp_path} cannot be read: Is a directory"):
        read_record(tmp_path, "sources")


def test_a_manifest_tells_every_change(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    first, second = tmp_path / "first", tmp_path / "inner" / "second"
    first.write_bytes(b"one")
    second.write_bytes(b"two")
    write_manifest(tmp_path, "part")
    check_manifest(tmp_path, "part")
    second.write_bytes(b"owt")
    with pytest.raises(mo.SnapshotError, match=f"{second} is damaged: its content does not have its digest"):
        check_manifest(tmp_path, "part")
    second.write_bytes(b"tw")
    with pytest.raises(mo.SnapshotError, match=f"{second} is damaged: it does not have its 3 bytes"):
        check_manifest(tmp_path, "part")
    second.unlink()
    with pytest.raises(mo.SnapshotError, match=f"{second} is missing"):
        check_manifest(tmp_path, "part")
    second.write_bytes(b"two")
    (tmp_path / "third").touch()
    with pytest.raises(mo.SnapshotError, match=f"{tmp_path / 'third'} is damaged: it does not belong to the snapshot"):
        check_manifest(tmp_path, "part")


@pytest.mark.parametrize("kind", FORMATS)
def test_a_record_of_another_format_is_refused(kind: Any, tmp_path: Path) -> None:
    file = tmp_path / "record.json"
    write_record(file, kind, [1])
    record = json.loads(file.read_text())
    for other in (FORMATS[kind] + 1, "1", None):
        file.write_text(json.dumps({**record, "format": other}))
        said = f"{file} cannot be read: it has the format {other!r}, and this version of Morisot reads {FORMATS[kind]}"
        with pytest.raises(mo.SnapshotError, match=re.escape(said)) as caught:
            read_record(file, kind)
        assert "What to do: resume with the version that wrote it, or start from scratch" in str(caught.value)


def test_a_plan_of_the_format_before_is_read(tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    write_record(file, "plan", {"operators": []})
    record = json.loads(file.read_text())
    assert record["format"] == 3
    file.write_text(json.dumps({**record, "format": 2}))
    assert read_record(file, "plan") == {"operators": []}
    write_record(file, "part", {})
    file.write_text(json.dumps({**json.loads(file.read_text()), "format": 2}))
    with pytest.raises(mo.SnapshotError, match="it has the format 2"):
        read_record(file, "part")


class Trap:
    """What runs when it is unpickled."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def __reduce__(self) -> Any:
        return Path.touch, (self.file,)


def test_a_state_that_was_exchanged_is_not_unpickled(tmp_path: Path) -> None:
    saves = SnapshotStore(mo.Snapshots(tmp_path)).of_loop(loop_of(), Seal())
    saves.commit(saves.begin(1), 1, False, 5)
    (state,) = tmp_path.rglob("state")
    state.write_bytes(pickle.dumps((False, Trap(tmp_path / "sprung"))))
    with pytest.raises(mo.SnapshotError, match=f"{state} is damaged"):
        saves.latest()
    assert not (tmp_path / "sprung").exists()


class Gone:
    """A class that the program does not have when it runs again."""


def test_a_state_of_a_class_that_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    saves = SnapshotStore(mo.Snapshots(tmp_path)).of_loop(loop_of(), Seal())
    saves.commit(saves.begin(1), 1, False, Gone())
    monkeypatch.delitem(globals(), "Gone")
    with pytest.raises(
        mo.SnapshotError, match="cannot be read by this program: AttributeError.*\n.*run the program that"
    ):
        saves.latest()


# -- the input of a micro-batch that is replayed -----------------------------------------------------------------------


@pytest.fixture
def spark_files(tmp_path: Path) -> Path:
    """Two micro-batches, a file each, of which the second is not committed."""
    spark = tmp_path / "spark"
    spark.mkdir()
    (spark / "metadata").write_text('{"id": "a query"}')
    for number in range(2):
        file = tmp_path / f"{number} ä.txt"
        file.write_text("1\n")
        os.utime(file, ns=(0, 123_456_789))
        put(spark / "offsets" / str(number), started(number), {"logOffset": number})
        put(spark / "sources" / "0" / str(number), {"path": file.as_uri(), "timestamp": 123, "batchId": number})
    put(spark / "commits" / "0", {"nextBatchWatermarkMs": 0})
    return spark


def check(spark: Path, **options: Any) -> None:
    def logs_of_files(offsets: Any) -> list[tuple[Path, int]]:
        return [(spark / "sources" / str(number), each["logOffset"]) for number, each in enumerate(offsets)]

    settings = {"ignored": spark / "none", "replays_input": True, **options}
    query_log.check(spark, logs_of_files, **settings)


def test_input_that_is_read_again_must_be_as_it_was(spark_files: Path, tmp_path: Path) -> None:
    check(spark_files)
    (tmp_path / "0 ä.txt").unlink()
    check(spark_files)  # its micro-batch is committed: it is not read again
    os.utime(tmp_path / "1 ä.txt")
    with pytest.raises(mo.SnapshotError, match=r"1 ä.txt, an input of a micro-batch that is not committed, was chang"):
        check(spark_files)
    (tmp_path / "1 ä.txt").unlink()
    with pytest.raises(mo.SnapshotError, match=r"1 ä.txt, an input of a micro-batch that is not committed, is missing"):
        check(spark_files)
    check(spark_files, ignored=tmp_path)
    check(spark_files, replays_input=False)
    put(spark_files / "commits" / "1", {"nextBatchWatermarkMs": 0})
    check(spark_files)


@pytest.mark.parametrize(
    ("gone", "named"),
    [
        (["offsets/0"], "offsets/0"),
        (["offsets/1", "offsets/0"], "offsets/0"),
        (["sources/0/0"], "sources/0/0"),
        (["sources/0/1"], "sources/0/1"),
        (["metadata"], "metadata"),
    ],
)
def test_gaps_are_refused(gone: list[str], named: str, spark_files: Path) -> None:
    for name in gone:
        (spark_files / name).unlink()
    with pytest.raises(mo.SnapshotError, match=f"{spark_files / named} is missing"):
        check(spark_files)


def test_what_is_not_needed_may_be_gone(spark_files: Path) -> None:
    (spark_files / "commits" / "0").unlink()  # the second one has not begun for Spark, either: it does both again
    check(spark_files)
    (spark_files / "offsets" / "1").unlink()
    check(spark_files)
    spark_log.cut(spark_files / "offsets", -1)
    check(spark_files)

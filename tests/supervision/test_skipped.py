"""Elements that fail each time: they are skipped, and others still stop the job."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

import morisot as mo
from morisot.engines.spark.checkpoints.loops import SnapshotStore
from morisot.engines.spark.emit.python.skipped import forget
from morisot.errors import Location
from morisot.overrides import OVERRIDES
from morisot.runtime.snapshot_lag import SnapshotLag
from morisot.supervision.task import add_skipped
from morisot.worker.report.left_out import Notes, Policy
from morisot.worker.rowwise.stage import Segment
from morisot.worker.rowwise.steps import Kind, Step

HERE = Location("program.py", 3)


def divide(n: int) -> int:
    return 12 // (n - 2) // (n - 5)


@pytest.mark.parametrize("kind", ["map", "filter", "flat_map"])
def test_only_the_named_elements_are_skipped(kind: Kind) -> None:
    policy = Policy("map", HERE, 0, False, only=frozenset({"2"}))
    function: Any = (lambda n: [divide(n)]) if kind == "flat_map" else divide
    notes = Notes(pickle.dumps)
    segment = Segment([Step(kind, "map", HERE, function=function, policy=policy)], notes)
    found: list[int] = []
    segment([1, 2, 3], found.append)
    assert len(found) == 2
    assert notes.by_operator[0].count == 1
    with pytest.raises(mo.ElementError, match=r"map at program.py:3 failed on the element 5") as caught:
        segment([5], found.append)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


@pytest.mark.jvm
def test_a_job_skips_the_elements_in_the_file(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On every form of the function: the native one fails first."""
    monkeypatch.setattr(OVERRIDES, "poison", None)
    numbers = mo.StreamContext(spark, snapshots=tmp_path / "saves").stream_iter([1, 2, 3])
    divided = numbers.map(lambda n: 12 // (n - 2))
    with pytest.raises(mo.ElementError) as caught:
        divided.collect()
    error = caught.value
    add_skipped(tmp_path / "saves" / "skipped.jsonl", (error.operator, str(error.location), error.element))
    assert OVERRIDES.poison == str(tmp_path / "saves" / "skipped.jsonl")
    forget()  # a later program reads the file
    assert divided.collect() == [-12, 12]


class Divide(mo.Operator[int, int]):
    def process(self, n: int, message: mo.Message) -> Any:
        yield 12 // (n - 2)


@pytest.mark.jvm
def test_an_operator_with_replicas_skips_the_elements_in_the_file(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(OVERRIDES, "poison", None)
    numbers = mo.StreamContext(spark, snapshots=tmp_path / "saves").stream_iter([1, 2, 3])
    divided = numbers.apply(Divide(), replicate=1, ordered=True)
    with pytest.raises(mo.ElementError, match="on the element 2") as caught:
        divided.collect()
    error = caught.value
    file = tmp_path / "saves" / "skipped.jsonl"
    add_skipped(file, (error.operator, str(error.location), "9"))
    forget()
    with pytest.raises(mo.ElementError, match="on the element 2"):  # another element is in the file
        divided.collect()
    add_skipped(file, (error.operator, str(error.location), error.element))
    forget()
    assert divided.collect() == [-12, 12]


def test_a_restart_of_a_loop_that_is_not_there_names_those_that_are(tmp_path: Path) -> None:
    for number in (1, 2):
        (tmp_path / "loops" / "replay" / f"snapshot-{number:06}-round-{number:06}").mkdir(parents=True)
    with pytest.raises(mo.ConfigError, match=r"restart is 7: the loops have no such snapshot in .*; there are 1, 2\."):
        SnapshotStore(mo.Snapshots(tmp_path, restart=7)).prepare()
    assert SnapshotStore(mo.Snapshots(tmp_path, restart=2)).numbers() == [1, 2]
    with pytest.raises(mo.ConfigError, match="there is none yet"):
        SnapshotStore(mo.Snapshots(tmp_path / "empty", restart=7)).prepare()


def test_late_snapshots_are_warned_of_once(capsys: pytest.CaptureFixture[str]) -> None:
    lag = SnapshotLag("replay", 10.0)
    for seconds in (11.0, 19.0, 21.0, 50.0):
        lag.note(seconds)
    assert capsys.readouterr().err == "replay: 21.0 s between two snapshots; every=10 s was requested\n"
    SnapshotLag("replay", None).note(1e9)

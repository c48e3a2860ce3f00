"""Checkpoints that earlier versions have made are resumed, and give what an undisturbed run gives.

A test that fails here says that a change makes users' checkpoints unreadable. See make_fixtures.py.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import morisot as mo
from morisot.engines.spark.bounded.part_sink import check_splits
from morisot.engines.spark.checkpoints.snapshot_files import FORMATS
from morisot.engines.spark.emit.python.in_order import origin
from morisot.engines.spark.emit.stateful import running_aggregates as running
from morisot.worker.aggregate.accumulators import FoldAccumulator
from morisot.worker.codec.stored import Layout
from morisot.worker.stateful.state import FoldMachine
from tests.pickles import own_globals_in
from tests.recovery.fixture_programs import (
    BOUNDED,
    STREAMS,
    expected,
    expected_of_bounded,
    run_bounded,
    run_stream,
    written,
)
from tests.recovery.make_fixtures import FIXTURES, ROOT, archive, files_in, text_of, unpacked

KINDS = [*STREAMS, *BOUNDED]
_LARGEST = 40 * 1024


def test_every_kind_has_a_small_archive() -> None:
    assert sorted(file.name for file in FIXTURES.iterdir()) == sorted(archive(kind).name for kind in KINDS)
    assert max(file.stat().st_size for file in FIXTURES.iterdir()) < _LARGEST


@pytest.mark.parametrize("kind", KINDS)
def test_paths_are_those_of_the_directory_and_no_pickle_names_a_class_of_ours(kind: str, tmp_path: Path) -> None:
    unpacked(kind, tmp_path)
    found = files_in(tmp_path)
    assert not [file for file in found if str(ROOT) in (text_of(file) or "")]
    assert {file: names for file in found if (names := own_globals_in(file.read_bytes()))} == {}


def test_the_output_of_earlier_splits_is_accepted(tmp_path: Path) -> None:
    unpacked("resumable", tmp_path)
    splits = tmp_path / "saves" / "bounded" / "collect" / "part-0" / "pieces"
    check_splits(splits, 3)
    with pytest.raises(mo.SnapshotError, match="piece-00000003"):
        check_splits(splits, 4)


@pytest.mark.unbounded
@pytest.mark.parametrize("kind", STREAMS)
def test_streams_resume(kind: str, spark: Any, tmp_path: Path) -> None:
    """Each by itself: queries that start together cost more than one after the other."""
    unpacked(kind, tmp_path)
    before = written(tmp_path, kind)
    run_stream(spark, tmp_path, kind)
    assert written(tmp_path, kind) == expected(kind)
    assert before != expected(kind), "nothing was left to do"


@pytest.mark.parametrize("kind", BOUNDED)
def test_bounded_jobs_resume(kind: str, spark: Any, tmp_path: Path) -> None:
    unpacked(kind, tmp_path)
    saved = sum(1 for _ in tmp_path.rglob("_manifest.json"))
    assert saved > 0
    assert run_bounded(spark, tmp_path, kind) == expected_of_bounded(kind)


STATEFUL = {
    "running_aggregate": "states",
    "session_window": "state",
    "transaction_window": "states",
    "join": "state",
    "resumable": "state",
}
"""The names of the values that Spark keeps."""


@pytest.mark.parametrize("kind", STATEFUL)
def test_states_in_sparks_store_hold_no_class_of_ours(kind: str, spark: Any, tmp_path: Path) -> None:
    unpacked(kind, tmp_path)
    (checkpoint,) = (tmp_path / "saves").rglob("spark")
    reader = spark.read.format("statestore").option("stateVarName", STATEFUL[kind])
    rows = reader.load(str(checkpoint)).selectExpr("value.*").collect()
    states = [bytes(row[0]) for row in rows]
    assert states
    assert [own_globals_in(state) for state in states] == [[]] * len(states)


@pytest.mark.unbounded
def test_a_state_of_a_later_version_is_refused(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The version that reads knows one format less."""

    class Earlier(FoldMachine):  # here, so that it travels to the workers
        layout = Layout("fold", 0)

    def machine(node: Any, emission: Any) -> Any:
        return Earlier("fold", FoldAccumulator(node.init, node.function.function), origin(node, emission))

    unpacked("running_aggregate", tmp_path)
    monkeypatch.setattr(running, "machine", machine)
    where = tmp_path / "saves" / "streams" / "running_aggregate" / "spark"
    with pytest.raises(mo.SnapshotError) as caught:
        run_stream(spark, tmp_path, "running_aggregate")
    said = "a state is 'fold' in the format 1, and this version of Morisot reads 'fold' in the format 0"
    assert str(caught.value).startswith(f"the states in {where} cannot be used: {said}")
    assert "What to do: resume with the version that wrote it, or start from scratch with" in str(caught.value)


def test_a_plan_of_a_later_version_is_refused(spark: Any, tmp_path: Path) -> None:
    unpacked("count_window", tmp_path)
    plan = tmp_path / "saves" / "streams" / "count_window" / "plan.json"
    record = json.loads(plan.read_text())
    plan.write_text(json.dumps({**record, "format": FORMATS["plan"] + 1}))
    with pytest.raises(mo.SnapshotError, match=f"{plan} cannot be read: it has the format"):
        run_stream(spark, tmp_path, "count_window")

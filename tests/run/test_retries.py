"""Jobs that run again in the same session after a failure, from their latest snapshot."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import morisot as mo
from morisot.runtime.retries import JobFailure, Retries

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def failing_on(marker: Path, bad: int) -> Any:
    """A function that fails once on an element."""

    def double(n: int) -> int:
        if n == bad and not marker.exists():
            marker.touch()
            raise ConnectionError("the service does not answer")
        return 2 * n

    return double


def retrying(spark: SparkSession, times: int, **settings: Any) -> mo.StreamContext:
    return mo.StreamContext(spark, config=mo.Config(max_retries=times, progress=False), **settings)


def test_retries_are_counted_since_the_last_snapshot() -> None:
    retries, failure = Retries(2), JobFailure("the disk is full")
    assert [retries.after(failure, snapshot) for snapshot in (1, 1, 2, 2, 2)] == [1, 2, 1, 2, None]


def test_a_final_error_is_not_retried() -> None:
    for error in (mo.PlanError("no"), mo.ConfigError("no"), mo.SnapshotError("no"), mo.EnvironmentProblem("no")):
        assert Retries(9).after(JobFailure.of(error), None) is None


def test_an_element_that_fails_twice_is_final_without_a_new_snapshot() -> None:
    on_one, on_two = (JobFailure.of(mo.ElementError("map", None, each, "ValueError: no")) for each in ("1", "2"))
    retries = Retries(9)
    assert [retries.after(failure, 0) for failure in (on_one, on_two, on_one)] == [1, 2, None]
    assert retries.after(on_one, 1) == 1


def test_a_bounded_job_is_retried(spark: SparkSession, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    ctx = retrying(spark, 1)
    doubled = ctx.stream_iter(range(5)).map(failing_on(tmp_path / "failed", 3))
    assert doubled.collect() == [0, 2, 4, 6, 8]
    assert "retry 1 of 1" in capfd.readouterr().err


def test_a_bounded_job_whose_function_always_fails_is_not_retried_for_ever(spark: SparkSession) -> None:
    ctx = retrying(spark, 9)
    with pytest.raises(mo.ElementError, match="failed on the element 2"):
        ctx.stream_iter(range(5)).map(lambda n: 1 // (n - 2)).collect()


def test_a_sink_in_the_driver_gets_its_elements_again(spark: SparkSession, tmp_path: Path) -> None:
    ctx = retrying(spark, 1)
    seen: list[int] = []
    fails = failing_on(tmp_path / "failed", 3)
    ctx.stream_iter(range(5)).for_each(lambda n: seen.append(fails(n)))
    ctx.execute()
    assert sorted(set(seen)) == [0, 2, 4, 6, 8]


def test_a_loop_resumes_from_its_last_round(spark: SparkSession, tmp_path: Path) -> None:
    ctx = retrying(spark, 1, snapshots=mo.Snapshots(tmp_path / "saves", rounds=1))
    rounds = tmp_path / "rounds"

    def condition(state: int) -> bool:
        with rounds.open("a") as log:
            log.write(f"{state}\n")
        if state == 9 and not (tmp_path / "failed").exists():
            (tmp_path / "failed").touch()
            raise ConnectionError("the service does not answer")
        return True

    state = ctx.stream_iter([1, 2]).replay(
        5, 0, lambda s, _: s, lambda delta, n: delta + n, lambda state, delta: state + delta, condition, delta=0
    )
    assert state.collect() == [15]
    assert [int(line) for line in rounds.read_text().split()] == [3, 6, 9, 9, 12, 15]


@pytest.mark.unbounded
@pytest.mark.parametrize("times", [0, 1])
def test_a_query_is_restarted(spark: SparkSession, tmp_path: Path, times: int) -> None:
    ctx = retrying(spark, 0)
    seen: list[int] = []
    inlet, numbers = ctx.stream_channel(int)
    numbers.map(failing_on(tmp_path / "failed", 1)).for_each(seen.append)
    job = ctx.start(max_retries=times)
    with inlet:
        inlet.send_all(range(4))
    if times:
        assert job.wait(60)
        assert sorted(set(seen)) == [0, 2, 4, 6]
    else:
        with pytest.raises(mo.ElementError):
            job.wait(60)


@pytest.mark.unbounded
def test_a_replayed_batch_is_delivered_once_to_sinks_that_did_not_fail(spark: SparkSession, tmp_path: Path) -> None:
    ctx = retrying(spark, 1)
    seen: list[int] = []
    fails = failing_on(tmp_path / "failed", 3)
    inlet, numbers = ctx.stream_channel(int)
    numbers.for_each(seen.append)
    received = numbers.collect_channel()
    numbers.for_each(fails)
    job = ctx.start()
    with inlet:
        inlet.send_all(range(4))
    assert list(received) == [0, 1, 2, 3]
    assert job.wait(60)
    assert seen == [0, 1, 2, 3]

"""Exceptions of Spark: which jobs are retried, and which message the user reads."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

import morisot as mo
from morisot.engines.spark.failures import is_data_error, is_lost_worker, job_error
from morisot.engines.spark.internals.causes import Cause, causes

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.parametrize(
    ("said", "again"),
    [
        ("Python worker exited unexpectedly (crashed): Fatal Python error", True),
        ("Python worker failed to connect back.", True),
        ("EOF reached before Python server acknowledged", True),
        ("EOFException occurred while reading the port number from a.b's stdout and terminated with code: 137.", True),
        ("EOFException occurred while reading the port number from a.b's stdout and terminated with code: 1.", False),
        ("EOFException occurred while reading the port number from a.b's stdout.", True),
        ("java.lang.OutOfMemoryError: Java heap space", False),
        ("ValueError: Python worker exited unexpectedly (crashed)", False),
    ],
)
def test_work_is_done_again_where_a_python_process_died(said: str, again: bool) -> None:
    assert is_lost_worker(RuntimeError(said)) == again


def test_a_text_that_quotes_a_condition_is_no_data_error() -> None:
    assert not is_data_error(RuntimeError("[DIVIDE_BY_ZERO] Division by zero. SQLSTATE: 22012"))


BARRIER = (
    "Job aborted due to stage failure: Could not recover from a failed barrier ResultStage. "
    "Most recent failure reason: Stage failed because barrier task ResultTask(0, 0) finished unsuccessfully.\n"
)
LOST = (
    "Job aborted due to stage failure: Task 0 in stage 1.0 failed 1 times, most recent failure: "
    "Lost task 0.0 in stage 1.0 (TID 3) (localhost executor driver): "
)


@pytest.mark.parametrize("begin", [BARRIER, LOST])
def test_the_cause_that_a_message_quotes_is_read_from_sparks_own_words(begin: str) -> None:
    said = "org.apache.spark.SparkRuntimeException: [USER_RAISED_EXCEPTION] morisot: x SQLSTATE: P0001\n\tat a.b(c)"
    *_, quoted = causes(RuntimeError(begin + said))
    expected = ("org.apache.spark.SparkRuntimeException",)
    assert (quoted.classes, quoted.condition, quoted.message) == (expected, "USER_RAISED_EXCEPTION", "morisot: x")
    assert is_data_error(RuntimeError(begin + said))
    assert is_lost_worker(RuntimeError(begin + "org.apache.spark.SparkException: Python worker exited unexpectedly"))
    for forged in (f"ValueError: {begin}{said}", f"{begin}ValueError: {said}", f"{begin}a.B: [DIVIDE_BY_ZERO] x"):
        assert not is_data_error(RuntimeError(forged)), forged


def test_a_condition_has_more_special_ones() -> None:
    cause = Cause(condition="MALFORMED_RECORD_IN_PARSING.WITHOUT_SUGGESTION")
    assert cause.has("MALFORMED_RECORD_IN_PARSING")
    assert not cause.has("MALFORMED_RECORD")


def test_what_is_said_has_no_stack() -> None:
    said = str(job_error(RuntimeError("something\n\tat org.apache.spark.A.b(A.scala:1)\n")))
    assert said == "Spark stopped the job: something"


class Row(NamedTuple):
    number: int


class Dying:
    """A function whose first calls end their process; a file says how many that were."""

    def __init__(self, directory: Path, times: int, element: int = 3, after: Path | None = None) -> None:
        self.directory = directory
        self.times = times
        self.element = element
        self.after = after
        """A file for which it waits before it dies."""

    def __call__(self, element: int | Row) -> int:
        number = element.number if isinstance(element, Row) else element
        if number == self.element and len(list(self.directory.iterdir())) < self.times:
            patience = time.monotonic() + 10
            while self.after is not None and not self.after.exists() and time.monotonic() < patience:
                time.sleep(0.01)
            (self.directory / str(os.getpid())).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return number


@pytest.fixture
def ctx(spark: SparkSession) -> mo.StreamContext:
    return mo.StreamContext(spark, config=mo.Config(progress=False))


@pytest.fixture
def deaths(tmp_path: Path) -> Path:
    directory = tmp_path / "deaths"
    directory.mkdir()
    return directory


def test_a_bounded_job_is_tried_again_when_a_worker_died(ctx: mo.StreamContext, deaths: Path) -> None:
    assert ctx.stream_iter(range(6)).map(Dying(deaths, 2), returns=int).collect() == list(range(6))
    assert len(list(deaths.iterdir())) == 2


def test_receivers_get_nothing_twice_when_a_worker_died(ctx: mo.StreamContext, deaths: Path, tmp_path: Path) -> None:
    got: list[int] = []
    delivered = tmp_path / "delivered"

    def take(number: int) -> None:
        got.append(number)
        delivered.touch()

    numbers = ctx.stream_par_iter(range(400)).map(Dying(deaths, 1, 390, delivered), returns=int)
    numbers.for_each(take)
    numbers.write_parquet(str(tmp_path / "out"))
    ctx.execute()
    assert got == list(range(400))
    assert sorted(row.value for row in ctx.stream_parquet(str(tmp_path / "out")).collect()) == list(range(400))
    assert len(list(deaths.iterdir())) == 1


def test_a_job_whose_workers_die_again_and_again_says_so(ctx: mo.StreamContext, deaths: Path) -> None:
    with pytest.raises(mo.JobError, match=r"A Python worker of Spark died, several times\.\n  What to do") as raised:
        ctx.stream_iter([1, 3]).map(Dying(deaths, 100), returns=int).collect()
    assert "org.apache" not in str(raised.value)


def test_a_second_try_that_computes_other_elements_is_refused(
    ctx: mo.StreamContext, deaths: Path, tmp_path: Path
) -> None:
    delivered, directory = tmp_path / "delivered", deaths
    dies = Dying(deaths, 1, 390, delivered)

    def changing(number: int) -> int:
        return dies(number) + 1000 * len(list(directory.iterdir()))

    ctx.stream_par_iter(range(400)).map(changing).for_each(lambda n: delivered.touch())
    with pytest.raises(mo.JobError, match=r"for_each .* had got a part of its elements"):
        ctx.execute()


@pytest.mark.parametrize("kind", ["csv", pytest.param("json", marks=pytest.mark.thorough)])
def test_a_failure_behind_followed_files_is_not_taken_for_a_bad_row(
    kind: str, ctx: mo.StreamContext, tmp_path: Path
) -> None:
    read = write_rows(kind, ctx, tmp_path / "in", 4)
    read().map(lambda row: 1 // (row.number - 3)).for_each(print)
    with pytest.raises(mo.ElementError, match="ZeroDivisionError"):
        ctx.start().wait(60)


@pytest.mark.parametrize(
    "kind", ["csv", *(pytest.param(kind, marks=pytest.mark.thorough) for kind in ("json", "parquet"))]
)
def test_a_lost_worker_behind_followed_files_is_replaced(
    kind: str, ctx: mo.StreamContext, deaths: Path, tmp_path: Path
) -> None:
    read = write_rows(kind, ctx, tmp_path / "in", 5)
    got: list[int] = []
    read().map(Dying(deaths, 1), returns=int).for_each(got.append)
    job = ctx.start()
    try:
        job.catch_up()
    finally:
        job.stop()
    assert got == list(range(5))
    assert len(list(deaths.iterdir())) == 1


def write_rows(kind: str, ctx: mo.StreamContext, directory: Path, number: int) -> Callable[[], mo.Stream[Row]]:
    """Write rows into a directory; a function that follows it."""
    directory.mkdir()
    if kind == "csv":
        (directory / "a.csv").write_text("number\n" + "".join(f"{n}\n" for n in range(number)))
        return lambda: ctx.stream_csv(directory, Row, unbounded=True)
    if kind == "json":
        (directory / "a.json").write_text("".join(f'{{"number": {n}}}\n' for n in range(number)))
        return lambda: ctx.stream_json(directory, Row, unbounded=True)
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"number": list(range(number))}), directory / "a.parquet")
    return lambda: ctx.stream_parquet(directory, Row, unbounded=True)

"""The parts of the driver by themselves."""

from __future__ import annotations

import datetime
import random
from typing import Any

import pyarrow as pa
import pytest

import morisot as mo
from morisot.testing.script import Batches
from tests.driver.frames import MicroBatch, Source, recut
from tests.driver.run import Drive, drive
from tests.driver.sql import UnknownSql, condition, named
from tests.driver.store import Checkpoint, Handle, OperatorStore

ROWS = pa.RecordBatch.from_pydict({"a": [1, None, -3], "b`": [b"x", b"", None]})


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("`a` AS c", [1, None, -3]),
        ("`a` + 2L * 3L AS c", [7, None, 3]),
        ("(greatest(`a`, 2L) - 2L) AS c", [0, 0, 0]),
        ("CASE WHEN `a` > 0L THEN least(`a`, 9L) END AS c", [1, None, None]),
        ("CAST(`a` < 0 AS BIGINT) AS c", [0, None, 1]),
        ("`b``` IS NOT NULL AS c", [True, True, False]),
        ("`a` <=> NULL AS c", [False, True, False]),
        ("`a` = 1L AND `b``` = X'78' AS c", [True, False, False]),
        ("CAST(pmod(-5, 4L) AS INT) AS c", [3, 3, 3]),
        ("struct(`a` AS x, struct(X'' AS `y z`) AS w) AS c", [{"x": a, "w": {"y z": b""}} for a in (1, None, -3)]),
        ("coalesce(unhex(lpad(hex(19), 4, '0')), X'') AS c", [b"\x00\x13"] * 3),
        ("concat(`b```, X'21') AS c", [b"x!", b"!", None]),
        ("timestamp_millis(1001L) AS c", [datetime.datetime(1970, 1, 1, 0, 0, 1, 1000)] * 3),
        (
            ("bigint(CAST(TIMESTAMP_NTZ '1970-01-01 00:00:09' - timestamp_micros(10500000L) AS INTERVAL SECOND)) AS c"),
            [-1] * 3,
        ),
    ],
)
def test_expressions(text: str, values: Any) -> None:
    assert named(text).name == "c"
    assert named(text).expression(ROWS).to_pylist() == values


@pytest.mark.parametrize("text", ["`a` || `b`", "md5(`a`) AS c", "CAST(`a` AS STRING) AS c", "`a` + 1L", "`a` AS"])
def test_other_expressions_are_an_error(text: str) -> None:
    with pytest.raises(UnknownSql):
        named(text)


def test_a_condition_that_is_null_does_not_hold() -> None:
    assert ROWS.filter(condition("`a` < 2L")(ROWS)).column("a").to_pylist() == [1, -3]


def test_a_checkpoint_is_bytes() -> None:
    store = OperatorStore()
    handle = Handle(store)
    handle.bucket = 3
    state = handle.getValueState("state", "state BINARY, timer BIGINT")
    assert state.get() is None
    state.update((b"content", 7))
    handle.registerTimer(7)
    again = Checkpoint.from_bytes(Checkpoint(2, 5, {0: store}).to_bytes())
    assert (again.batch, again.watermark, again.operators) == (2, 5, {0: store})
    with pytest.raises(AssertionError, match="a state of"):
        state.update(([1], None))
    with pytest.raises(AssertionError, match="there is no timer for 8"):
        handle.deleteTimer(8)
    with pytest.raises(ValueError, match="unmarshallable"):
        Checkpoint(operators={0: OperatorStore({"s": {0: (object(),)}})}).to_bytes()


def test_a_file_is_read_in_order_and_rows_without_row_order_are_not(chance: random.Random) -> None:
    files = [pa.RecordBatch.from_pydict({"n": list(range(begin, begin + 40))}) for begin in (0, 40)]

    def tasks(*, has_row_order: bool) -> list[list[int]]:
        batch = MicroBatch(0, [files], True, 0, Checkpoint(), chance, 1)
        found = Source(0, ["n"], has_row_order=has_row_order).run(batch)
        numbers: list[list[Any]] = [[n for rows in task for n in rows.column("n").to_pylist()] for task in found]
        return numbers

    for read in (tasks(has_row_order=True) for _ in range(20)):
        assert all(sorted(part) == part for task in read for part in (by(task, 0, 40), by(task, 40, 80)))
        assert sorted(n for task in read for n in task) == list(range(80))
    assert any(sorted(task) != task for _ in range(20) for task in tasks(has_row_order=False))
    assert {len(recut(files[0], chance)) for _ in range(50)} == {1, 2, 3}


def by(task: list[int], begin: int, end: int) -> list[int]:
    return [n for n in task if begin <= n < end]


def test_a_job_restarts_and_replays(chance: random.Random) -> None:
    """Over many runs; the answer is the same in each."""
    starts = set()
    for _ in range(30):
        job = Drive(lambda s: s.rich_map(0, lambda total, n: (total + n, total + n)), [[[1], [2, 3], [4]]], chance)
        assert job.run().results == [1, 3, 6, 10]
        starts.add(len(job._tallies))
    assert len(starts) > 1


def test_a_crash_has_no_effect(chance: random.Random) -> None:
    events: Batches = [[1, 2], mo.testing.CRASH, [3], mo.testing.CRASH]
    outcome = drive(lambda s: s.rich_map(0, lambda total, n: (total + n, total + n)), [events], chance)
    assert outcome.results == [1, 3, 6]


def test_a_failure_is_the_users(chance: random.Random) -> None:
    with pytest.raises(mo.ElementError, match="failed on the element 0: ZeroDivisionError") as raised:
        drive(lambda s: s.rich_map(0, lambda total, n: (n, 1 // n)), [[[1], [0]]], chance)
    assert isinstance(raised.value.__cause__, ZeroDivisionError)

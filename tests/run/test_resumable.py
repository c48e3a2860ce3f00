"""Resumable parts of bounded jobs: which part of a plan runs as a query over source splits."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import morisot as mo
from morisot.engines.spark.bounded.file_list import Listing, group_files
from morisot.engines.spark.bounded.resumable import ResumableJobs, refuse_unread
from morisot.engines.spark.bounded.runner import BatchRunner
from morisot.physical.job import PlannedJob
from morisot.physical.refusals import refuse_unbounded
from morisot.physical.text import text_of
from morisot.plan.analysis.resumable import cut
from morisot.runtime.local_files import is_partitioned

Program = Callable[[mo.StreamContext], Any]


def numbers(ctx: mo.StreamContext) -> mo.Stream[int]:
    return ctx.stream_iter(list(range(10)))


PARTS: dict[str, tuple[Program, list[str]]] = {
    "rows": (lambda ctx: numbers(ctx).map(lambda n: n + 1).filter(lambda n: n > 2), ["filter"]),
    "sort": (lambda ctx: numbers(ctx).map(lambda n: n + 1).sorted_by(lambda n: n), ["map"]),
    "sort at once": (lambda ctx: numbers(ctx).sorted_by(lambda n: n), []),
    "nothing": (numbers, []),
    "aggregate": (lambda ctx: numbers(ctx).group_by_count(lambda n: n % 2).filter(lambda k, n: n > 1), ["count"]),
    "first keys": (lambda ctx: numbers(ctx).group_by_count(lambda n: n % 2).unkey().limit(1), ["key_by"]),
    "count window": (lambda ctx: numbers(ctx).window_all(mo.CountWindow.tumbling(3)).sum(), ["window"]),
    "rest of windows": (lambda ctx: numbers(ctx).window_all(mo.CountWindow.sliding(3, 3, exact=False)).sum(), []),
    "clock": (lambda ctx: numbers(ctx).window_all(mo.ProcessingTimeWindow.tumbling("1s")).count(), []),
    "time": (
        lambda ctx: numbers(ctx).add_timestamps(lambda n: n).window_all(mo.EventTimeWindow.tumbling(3)).sum(),
        ["window"],
    ),
    "join": (lambda ctx: numbers(ctx).join(numbers(ctx), lambda n: n, lambda n: n), ["join"]),
    "outer join": (lambda ctx: numbers(ctx).outer_join(numbers(ctx), lambda n: n, lambda n: n), ["key_by", "key_by"]),
    "merge": (lambda ctx: numbers(ctx).map(lambda n: n).merge(numbers(ctx)), ["map"]),
    "left out": (lambda ctx: numbers(ctx).map(lambda n: n).map(lambda n: 1 // n, on_error="skip"), ["map"]),
    "left out of windows": (
        lambda ctx: (
            numbers(ctx).window_all(mo.CountWindow.tumbling(3)).fold(0, lambda a, n: a + 1 // n, on_error="skip")
        ),
        ["window"],
    ),
    "loop": (
        lambda ctx: (
            numbers(ctx)
            .map(lambda n: n)
            .replay(2, 0, lambda s, state: s, lambda d, n: d, lambda s, d: s, lambda s: True, delta=0)
        ),
        [],
    ),
    "cache": (lambda ctx: numbers(ctx).map(lambda n: n).cache().map(lambda n: n), []),
}


def kinds(text: str) -> list[str]:
    """The kinds of the operators in the text of a plan, but for how the last one leaves it."""
    return [kind for kind in re.findall(r"#\d+ (\w+)", text) if kind != "Write"]


@pytest.mark.jvm
def test_explain_shows_the_plans_that_run(
    spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With snapshots a part runs as a query, with other operators than without; a demotion in it is shown, too."""
    emitted: list[str] = []
    emission = BatchRunner.emission

    def recorded(runner: BatchRunner, job: PlannedJob, **given: Any) -> Any:
        emitted.append(text_of(job))
        return emission(runner, job, **given)

    monkeypatch.setattr(BatchRunner, "emission", recorded)
    ctx = mo.StreamContext(spark, snapshots=mo.Snapshots(tmp_path), config=mo.Config(progress=False, report=False))
    large = numbers(ctx).map(lambda n: (n + 2**62) * 4 // 4 - 2**62)  # Spark's ints overflow on the way
    sums = large.group_by_sum(lambda n: n % 2, lambda n: n).unkey()
    last = sums.map(lambda pair: pair[1] - hash(pair[0]))
    assert sorted(last.collect()) == sorted(sum(range(k, 10, 2)) - hash(k) for k in (0, 1))
    monkeypatch.undo()
    capsys.readouterr()
    last.explain()
    _, plan = capsys.readouterr().out.split("physical plan")
    assert "resumable part, up to group_by_sum" in plan
    assert kinds(plan) == [kind for text in dict.fromkeys(emitted) for kind in kinds(text)][-len(kinds(plan)) :]
    assert "KeyedState" in plan


@pytest.mark.parametrize("name", PARTS)
def test_what_runs_in_pieces(name: str) -> None:
    program, expected = PARTS[name]
    found = cut([program(mo.StreamContext(engine="reference"))._node], refuse_unbounded, is_partitioned)
    assert [type(part.end).__name__ for part in found.parts] == [
        "".join(word.title() for word in each.split("_")) for each in expected
    ]
    assert bool(found.problem) is not bool(found.parts)


def test_explain_says_what_a_crash_costs(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    ctx = mo.StreamContext(engine="spark", snapshots=mo.Snapshots(tmp_path))
    mapped = numbers(ctx).map(lambda n: n + 1)
    for stream in (mapped, mapped.sorted_by(lambda n: n), numbers(ctx).sorted_by(lambda n: n)):
        stream.explain()
    said = [line for line in capsys.readouterr().out.splitlines() if line.startswith("with snapshots: ")]
    here = r"tests/run/test_resumable.py:\d+"
    assert said[0] == "with snapshots: runs by source splits; a failure repeats one split"
    assert re.fullmatch(
        rf"with snapshots: runs by source splits up to map \(.*{here}\); a failure repeats one split, "
        "and the remaining plan",
        said[1],
    )
    assert re.fullmatch(
        rf"with snapshots: sorted_by \(.*{here}\) needs all elements at once; "
        "the job starts from scratch after a failure",
        said[2],
    )


def test_files_gather_in_pieces() -> None:
    assert group_files([], largest=None, number=20) == []
    assert group_files([0, 0], largest=None, number=20) == [range(2)]
    assert len(group_files([7] * 1000, largest=None, number=20)) == 20
    assert group_files([5, 5, 5], largest=0, number=20) == [range(1), range(1, 2), range(2, 3)]


def test_small_pieces_are_listed_one_after_the_other(tmp_path: Path) -> None:
    listing = Listing(tmp_path)
    listing.write([], [["a", "b"], ["c"], ["d"]])
    assert listing.splits() == []
    assert listing.list_more(2)
    assert listing.splits() == [["a", "b", "c"]]
    assert Listing(tmp_path).unlisted() == [["d"]]
    assert listing.list_more(9)
    assert not listing.list_more(1)
    log = (tmp_path / "_spark_metadata" / "0").read_text().splitlines()[1:]
    assert [json.loads(line)["path"] for line in log] == ["a", "b", "c", "d"]


class Session:
    """What is asked of a session before it runs anything."""

    _jsparkSession = None  # noqa: N815 - Spark's name; a session of Spark Connect has none

    def __init__(self, **settings: str) -> None:
        self.conf = {f"spark.sql.streaming.{name.replace('_', '.')}": value for name, value in settings.items()}


def ends_on(session: Any, tmp_path: Path) -> list[str]:
    ctx = mo.StreamContext(engine="reference")
    summed = numbers(ctx).map(lambda n: n + 1).rich_map(0, lambda total, n: (total + n, total + n))
    found = ResumableJobs(mo.Snapshots(tmp_path), refuse_unbounded).cut([summed._node], session)
    assert found is not None
    return [part.end.operator for part in found.parts]


def test_which_sessions_run_a_job_in_pieces(tmp_path: Path) -> None:
    assert ends_on(Session(), tmp_path) == ["rich_map"]  # the store of states is set for the query
    assert ends_on(Session(fileStreamSink_ignoreMetadata="true"), tmp_path) == []
    assert ends_on(object(), tmp_path) == []


def test_without_snapshots_nothing_is_cut() -> None:
    assert ResumableJobs(None, refuse_unbounded).cut([], None) is None


def test_a_file_that_was_not_read_stops_the_job(tmp_path: Path) -> None:
    (tmp_path / "0").write_text('v1\n{"path":"file:///a","timestamp":1,"batchId":0}\n')
    refuse_unread(tmp_path, 1)
    with pytest.raises(mo.JobError, match="read 1 of the 2 files"):
        refuse_unread(tmp_path, 2)

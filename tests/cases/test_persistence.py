"""What Noir with persistence gives: jobs run to their end, then again from each of their snapshots.

A snapshot of a bounded job is the end of a source split. Splits are numbered from 0, Noir's markers from 1. The last
split is a snapshot also if it is not full: what Noir calls snapshot 1 is the one with the number 0 here.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import morisot as mo
from tests.recovery import programs
from tests.recovery.programs import added

pytestmark = pytest.mark.jvm

HERE = Path(__file__).parent
SHARED = HERE.parents[2] / "shared" / "cases" / "persistence.jsonl"
CASES = {case["name"]: case for case in map(json.loads, (HERE / "persistence.jsonl").read_text().splitlines())}


def in_pieces(spark: Any, path: Path, **settings: Any) -> mo.StreamContext:
    config = mo.Config(progress=False, report=False)
    return mo.StreamContext(spark, config=config, snapshots=mo.Snapshots(path, **settings))


def joined(text: str, n: int) -> str:
    return text + str(n)


def appended(seen: list[int], n: int) -> list[int]:
    return [*seen, n]


def odd(n: int) -> int:
    return n % 2


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "persist_fold": lambda s: s.fold("", joined),
    "persist_fold_assoc_shuffled": lambda s: s.shuffle().fold_assoc([], appended, lambda a, b: a + b).map(sorted),
    "persist_fold_keyed": lambda s: s.group_by(odd).fold("", joined),
    "persist_fold_keyed_shuffled": lambda s: s.shuffle().group_by(odd).fold([], appended),
    "persist_group_by_count": lambda s: s.group_by_count(odd),
    "persist_filter_map_keyed": lambda s: (
        s.group_by(odd).filter_map(lambda _, n: 2 * n + 1 if n < 6 else None).drop_key()
    ),
    "persist_count_window_first": lambda s: s.group_by(odd).window(mo.CountWindow.sliding(3, 2)).first(),
}


SHORT = ("persist_group_by_count", "persist_iterate_primes", "persist_replay_nested x4")
"""An aggregate and two loops; the others are for `make thorough`."""


def marked(name: str, *more: Any) -> Any:
    return pytest.param(name, *more, marks=() if name in SHORT else pytest.mark.thorough)


def numbers_of_runs(case: dict[str, Any]) -> list[int]:
    """The snapshots from which a case starts again, as they are numbered here."""
    texts = [run.removeprefix("restart from snapshot ") for run in case["params"]["runs"]]
    return [int(text) - 1 for text in texts if text.isdigit()]


def plain(elements: list[Any]) -> Any:
    """As JSON says it, in any order."""
    return sorted(json.loads(json.dumps(elements)))


@pytest.mark.parametrize("name", [marked(name) for name in PROGRAMS])
def test_a_job_gives_the_same_from_each_of_its_snapshots(name: str, spark: Any, tmp_path: Path) -> None:
    case = CASES[name]
    items = case["params"]["snapshot_every_items"]

    def run(**settings: Any) -> list[int]:
        """Run it, see that the result is right, and give the numbers of its snapshots."""
        with in_pieces(spark, tmp_path / "saves", items=items, **settings) as ctx:
            result = PROGRAMS[name](ctx.stream_iter(case["input"])).collect_vec()
            job = ctx.start()
            assert job.wait(120)
            assert plain(result.get()) == plain(case["expected"]), settings
            return [snapshot.id for snapshot in job.snapshots()]

    pieces = list(range(-(-len(case["input"]) // items)))
    for restart in ("latest", *numbers_of_runs(case)):
        assert run(restart=restart) == pieces, restart
    run(restart="latest", clean_on_exit=True)
    assert not list((tmp_path / "saves" / "bounded").glob("*")), "everything that was saved is gone"


@pytest.mark.thorough
def test_windows_of_the_clock(spark: Any, tmp_path: Path) -> None:
    """Which window an element is in depends on the run; that it is in one, and in no other, does not."""
    case = CASES["persist_processing_window_sum"]
    (tmp_path / "in").mkdir()
    for number in range(10):
        lines = (f"{n}\n" for n in range(100 * number + 1, 100 * number + 101))
        (tmp_path / "in" / f"{number}.txt").write_text("".join(lines))
    files = case["params"]["snapshot_every_items"] // 100

    def run(restart: str | int) -> list[int]:
        with in_pieces(spark, tmp_path / "saves", restart=restart, keep=1000) as ctx:
            lines = ctx.stream_file(tmp_path / "in", unbounded=True, files_per_batch=files)
            windows = lines.map(lambda line: int(line)).group_by(odd).window(mo.ProcessingTimeWindow.tumbling("100ms"))
            windows.fold(0, lambda total, n: total + n).drop_key().write_parquet(str(tmp_path / "out"))
            job = ctx.start()
            deadline = time.monotonic() + 60
            while not job.wait(0.2) and written() != case["expected"]["sum_of_results"]:
                assert time.monotonic() < deadline, f"{written()} from {restart}"
            job.stop()
            assert written() == case["expected"]["sum_of_results"]
            return [snapshot.id for snapshot in job.snapshots()]

    def written() -> int:
        exists = (tmp_path / "out" / "_spark_metadata").exists()
        rows = spark.read.schema("value BIGINT").parquet(str(tmp_path / "out")).collect() if exists else []
        return sum(row.value for row in rows)

    assert run("latest")[:4] == [0, 1, 2, 3]
    for restart in numbers_of_runs(case):
        run(restart)


def primes(ctx: mo.StreamContext) -> Any:
    return programs.primes(ctx, None)


def in_parallel(ctx: mo.StreamContext) -> Any:
    """Two loops over one stream."""
    numbers = ctx.stream_iter(range(10))
    loops = [
        numbers.iterate(rounds, 0, lambda s, state: s.map(lambda n: n + 1), added, added, lambda _: True, delta=0)
        for rounds in (5, 7)
    ]
    results = [stream.collect_vec() for loop in loops for stream in loop]
    ctx.execute()
    return [result.get() for result in results]


def nested(ctx: mo.StreamContext) -> Any:
    """As Renoir's replay_nested: two rounds of two rounds, with a shuffle in both."""
    once = lambda s, state: s.shuffle().reduce(added)  # noqa: E731
    return (
        ctx.stream_iter(range(10))
        .replay(
            2,
            0,
            lambda s, _: s.shuffle().replay(2, 0, once, added, added, lambda _: True, delta=0),
            added,
            added,
            lambda _: True,
            delta=0,
        )
        .collect()
    )


LOOPS: dict[str, list[tuple[Callable[[mo.StreamContext], Any], dict[str, int]]]] = {
    "persist_iterate_primes": [(primes, {"items": 20})],
    "persist_iterate_not_aligned / sequential / parallel flows": [
        (primes, {"items": 1234}),  # in the middle of a round, which is then done
        (lambda ctx: programs.sequence(ctx, None), {"rounds": 2}),
        (in_parallel, {"rounds": 2}),
    ],
    "persist_replay_nested x4": [(nested, {"rounds": 1})],
}


@pytest.mark.parametrize(
    ("name", "place"), [marked(name, place) for name in LOOPS for place in range(len(LOOPS[name]))]
)
def test_a_loop_gives_the_same_from_each_of_its_snapshots(name: str, place: int, spark: Any, tmp_path: Path) -> None:
    """The snapshots of loops have Noir's numbers."""
    case, (program, settings) = CASES[name], LOOPS[name][place]

    def run(**more: Any) -> Any:
        with in_pieces(spark, tmp_path, keep=100, **settings, **more) as ctx:
            return program(ctx)

    expected = program(mo.StreamContext(engine="reference"))
    assert isinstance(case["expected"], str) or plain(expected) == plain(case["expected"])
    assert run() == expected
    for number in numbers_of_runs(case):
        if program is nested and number + 1 < 3:  # of the inner loop, removed when the outer one saves its round
            with pytest.raises(mo.ConfigError, match="there are 3, 4"):
                run(restart=number + 1)
        else:
            assert run(restart=number + 1) == expected, number + 1
    assert run(restart="latest", clean_on_exit=True) == expected
    assert not list(tmp_path.rglob("snapshot-*"))


def test_a_marker_comes_after_so_many_elements(spark: Any, tmp_path: Path) -> None:
    """Noir's second marker comes after six of eight elements; here the other two are a split, too: all are retained."""
    case = CASES["snapshot_generator_every_3"]
    items = case["params"]["item_interval"]
    calls = len(case["expected"])
    with in_pieces(spark, tmp_path, items=items) as ctx:
        ctx.stream_iter(range(calls - 2)).map(lambda n: n + 1).collect_vec()
        job = ctx.start()
        job.wait(120)
        markers = [snapshot.id + 1 for snapshot in job.snapshots()]
    assert markers == [marker for marker in case["expected"] if marker is not None]


def test_what_is_there_can_be_started_from(spark: Any, tmp_path: Path) -> None:
    """Two snapshots are saved, a third is not there, and what was removed can be removed again."""
    assert CASES["snapshot_store_roundtrip"]["expected"][-1] == "no error"

    def run(**settings: Any) -> list[int]:
        with in_pieces(spark, tmp_path, items=3, **settings) as ctx:
            result = ctx.stream_iter(range(6)).map(lambda n: -n).collect_vec()
            job = ctx.start()
            job.wait(120)
            assert result.get() == [-n for n in range(6)]
            return [snapshot.id for snapshot in job.snapshots()]

    assert run() == [0, 1]
    with pytest.raises(mo.ConfigError, match="restart is 2: .* has no such snapshot .*; there are 0, 1"):
        run(restart=2)
    for _ in range(2):
        run(clean_on_exit=True)
        assert not list((tmp_path / "bounded").glob("*"))


def test_every_case_is_run() -> None:
    elsewhere = {"persist_processing_window_sum", "snapshot_generator_every_3", "snapshot_store_roundtrip"}
    assert set(CASES) == {*PROGRAMS, *LOOPS} | elsewhere


def test_the_cases_are_the_shared_ones() -> None:
    if not SHARED.exists():
        pytest.skip(f"the shared cases do not lie beside the project ({SHARED}); the copy is what the tests use")
    shared = [json.loads(line) for line in SHARED.read_text().splitlines()]
    assert [{field: case[field] for field in CASES[case["name"]]} for case in shared] == list(CASES.values())

"""`job.state(…)`: the states of operators in the last complete snapshot, of running and of stopped jobs."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import morisot as mo
from tests.run.test_rescaling_on_spark import LINES, Seen, add_file

pytestmark = [pytest.mark.jvm, pytest.mark.unbounded, pytest.mark.thorough]


def totals(state: int, key: tuple[str, int], value: int) -> tuple[int, int]:
    return state + value, state + value


PROGRAMS: dict[str, tuple[Callable[[Any], Any], list[Any]]] = {
    "rich_map": (
        lambda s: s.group_by(lambda n: ("k", n % 2)).rich_map(0, totals),
        [(("k", 0), sum(range(0, LINES, 2))), (("k", 1), sum(range(1, LINES, 2)))],
    ),
    "total": (
        lambda s: s.rich_map(0, lambda state, n: (state + n, n)).name("total").map(lambda n: n + 1),
        [(None, sum(range(LINES)))],
    ),
    "fold": (lambda s: s.group_by(lambda n: n % 2).fold(0, lambda state, n: state + 1), [(0, 45), (1, 45)]),
    "apply": (lambda s: s.apply(Seen(), replicate=2), [(0, {"seen": 45}), (1, {"seen": 45})]),
    "window": (
        lambda s: (
            s.add_timestamps(lambda n: n, delay=0).group_by(lambda n: n % 2).window(_tumbling()).count().name("window")
        ),
        [(0, [(80, 120, 5)]), (1, [(80, 120, 5)])],
    ),
    "sessions": (
        lambda s: (
            s.add_timestamps(lambda n: n, delay=0).window_all(mo.EventTimeWindow.session(5)).sum().name("sessions")
        ),
        [(None, [(0, LINES + 4, sum(range(LINES)))])],
    ),
    "counted": (
        lambda s: s.group_by(lambda n: n % 2).window(mo.CountWindow.tumbling(7)).sum().name("counted"),
        [(0, [(42, 45, 84 + 86 + 88)]), (1, [(42, 45, 85 + 87 + 89)])],
    ),
    "second": (
        lambda s: (
            s.rich_map(0, lambda state, n: (state + 1, n))
            .name("first")
            .rich_map("", lambda _, n: (str(n), n))
            .name("second")
        ),
        [(None, str(LINES - 1))],
    ),
}


def _tumbling() -> Any:
    return mo.EventTimeWindow.tumbling(40)


def test_states(spark: Any, tmp_path: Path) -> None:
    add_file(tmp_path, 0)
    with mo.StreamContext(spark, config=mo.Config(progress=False), snapshots=tmp_path / "saves") as ctx:
        numbers = ctx.stream_file(tmp_path / "in", unbounded=True).map(int, returns=int)
        for program, _ in PROGRAMS.values():
            program(numbers).for_each(lambda *_: None)
        job = ctx.start()
        job.catch_up()
        states = {name: job.state(name) for name in PROGRAMS if name != "rich_map"}
        job.stop()
        for name, (_, expected) in PROGRAMS.items():
            found = job.state(name) if name in states else expected
            assert sorted(found, key=repr) == sorted(expected, key=repr), name
            assert sorted(states.get(name, expected), key=repr) == sorted(expected, key=repr), name
        with pytest.raises(mo.PlanError, match="has no operator 'nothing' with a state"):
            job.state("nothing")


def test_the_command_line(spark: Any, tmp_path: Path) -> None:
    add_file(tmp_path, 0)
    with mo.StreamContext(spark, config=mo.Config(progress=False), snapshots=tmp_path / "saves") as ctx:
        numbers = ctx.stream_file(tmp_path / "in", unbounded=True).map(int, returns=int)
        numbers.group_by(lambda n: ("k", n % 2)).rich_map(0, totals).for_each(lambda *_: None)
        job = ctx.start()
        job.catch_up()
        assert sorted(job.state("rich_map")) == PROGRAMS["rich_map"][1]
        job.stop()
    command = [sys.executable, "-m", "morisot.cli.main", "snapshots", str(tmp_path / "saves"), "--state", "rich_map"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout
    assert [line.split("  ") for line in sorted(shown.splitlines()[1:])] == [
        ["('k', 0)", str(sum(range(0, LINES, 2)))],
        ["('k', 1)", str(sum(range(1, LINES, 2)))],
    ]

"""A pipeline resumes in the middle: after a failure, and after its process was killed."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import pytest

import morisot as mo
from morisot.annotations.pipeline import PipelineFunction

P = ParamSpec("P")
R = TypeVar("R")


def pipeline_in(directory: Path, **options: Any) -> Callable[[Callable[P, R]], PipelineFunction[P, R]]:
    return mo.pipeline(engine="reference", snapshots=mo.Snapshots(directory, items=3, **options))


class Crash(Exception):  # noqa: N818 - it is no error of a program
    """Ends a run."""


@pytest.mark.parametrize("source", ["items", "generator"])
@pytest.mark.parametrize("crash_at", range(1, 11))
def test_kept_names_are_exact_after_a_crash_anywhere(tmp_path: Path, source: str, crash_at: int) -> None:
    armed = True
    calls: list[int] = []

    @pipeline_in(tmp_path)
    def run(n: int) -> tuple[int, list[int]]:
        total = 0
        out: list[int] = []
        items = list(range(n)) if source == "items" else (x for x in range(n))
        for x in mo.to_stream(items):
            with mo.stage():
                y = x * 2
            with mo.stage():
                calls.append(x)
                if armed and y == crash_at * 2 - 2:
                    raise Crash
            with mo.stage():
                total += y
                out.append(y)
        return total, out

    with pytest.raises(mo.ElementError):
        run(10)
    armed = False
    again = mo.pipeline(engine="reference", snapshots=mo.Snapshots(tmp_path, items=3))(run.sequential)
    assert again(10) == (90, list(range(0, 20, 2)))
    assert calls[-10:] == list(range(10)), "a list from around the function is restored, too"
    assert not any(tmp_path.glob("pipelines/*")), "nothing is left to resume"


def test_a_loop_that_reads_for_itself_continues(tmp_path: Path) -> None:
    source: queue.Queue[int | None] = queue.Queue()
    written: list[tuple[int, int]] = []
    armed = True

    def define() -> Any:
        @pipeline_in(tmp_path)
        def run() -> tuple[int, int]:
            seen = total = 0
            while mo.to_stream(resume="continue"):
                event = source.get()
                if event is None:
                    break
                seen += 1
                with mo.stage():
                    doubled = event * 2
                with mo.stage():
                    if armed and doubled == 14:
                        raise Crash
                    total += doubled
                    written.append((seen, doubled))
            return seen, total

        return run

    for each in range(12):
        source.put(each)
    source.put(None)
    with pytest.raises(mo.ElementError):
        define()()
    armed = False
    source.put(None)
    assert define()() == (12, 132)
    assert written == [(n + 1, 2 * n) for n in range(12)]


def test_exactly_once_by_the_number_of_the_snapshot(tmp_path: Path) -> None:
    class Table:
        """A store that commits rows with the number of the snapshot."""

        def __init__(self) -> None:
            self.rows: list[int] = []
            self.open: list[int] = []
            self.number = -1

        def commit(self, snapshot: int) -> None:
            self.rows += self.open
            self.open.clear()
            self.number = snapshot
            if self.failing and snapshot == 1:
                raise Crash

        def roll_back(self) -> None:
            self.open.clear()

        failing = True

    table = Table()

    def define() -> Any:
        @pipeline_in(tmp_path)
        def run() -> int:
            total = 0
            for x in mo.to_stream(iter(range(8))):
                with mo.stage():
                    total += x
                with mo.stage(on_snapshot=table.commit, on_error=table.roll_back, last_committed=lambda: table.number):
                    table.open.append(x)
            return total

        return run

    with pytest.raises(Crash):
        define()()
    table.failing = False
    assert define()() == 28
    assert table.rows == list(range(8))


def test_another_loop_is_refused(tmp_path: Path) -> None:
    def fails(x: int) -> int:
        raise Crash if x > 5 else LookupError

    @pipeline_in(tmp_path)
    def run(n: int) -> int:
        total = 0
        for x in mo.to_stream(range(n)):
            with mo.stage():
                y = x if x < 5 else fails(x)
            with mo.stage():
                total += y
        return total

    with pytest.raises(mo.ElementError):
        run(8)
    again = mo.pipeline(engine="reference", snapshots=mo.Snapshots(tmp_path, items=3))(run.sequential)
    with pytest.raises(mo.SnapshotError, match="is of another program"):
        again(9)
    (saved,) = tmp_path.glob("pipelines/*/snapshot-00000000")
    saved.write_bytes(saved.read_bytes()[:-1] + b"?")
    with pytest.raises(mo.SnapshotError, match="is damaged"):
        mo.pipeline(engine="reference", snapshots=mo.Snapshots(tmp_path, items=3))(run.sequential)(8)


def test_snapshots_are_private(tmp_path: Path) -> None:
    @pipeline_in(tmp_path)
    def run(xs: Iterator[int]) -> None:
        for x in mo.to_stream(xs):
            with mo.stage():
                print(1 // x)

    with pytest.raises(mo.ElementError):
        run(iter([1, 1, 1, 0]))
    (saved,) = tmp_path.glob("pipelines/*/snapshot-*")
    assert saved.stat().st_mode & 0o777 == 0o600
    assert saved.parent.stat().st_mode & 0o777 == 0o700


PROGRAM = """
    import os, signal, sys
    import morisot as mo

    @mo.pipeline(engine="reference", snapshots=mo.Snapshots("saves", items=50))
    def run(n: int, killed_at: int) -> int:
        total = 0
        with open("out.txt", "a") as out:
            for x in mo.to_stream(range(n)):
                with mo.stage():
                    y = x * x
                with mo.stage():
                    if x == killed_at:
                        os.kill(os.getpid(), signal.SIGKILL)
                    total += y
                with mo.stage(on_snapshot=out.flush):
                    out.write(f"{x} {total}\\n")
        return total

    print(run(500, int(sys.argv[1])))
"""


def test_killed_and_started_again(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(textwrap.dedent(PROGRAM))
    results = []
    for killed_at in (120, 333, -1):
        command = [sys.executable, "program.py", str(killed_at)]
        environment = {**os.environ, "PYTHONPATH": str(Path(mo.__file__).parents[1])}
        results.append(
            subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        )
    assert [each.returncode for each in results] == [-signal.SIGKILL, -signal.SIGKILL, 0], results[-1].stderr
    assert int(results[-1].stdout) == sum(x * x for x in range(500))
    lines = [(int(line.split()[0]), int(line.split()[1])) for line in (tmp_path / "out.txt").read_text().splitlines()]
    totals = dict(lines)
    assert sorted(totals) == list(range(500))
    assert totals[499] == sum(x * x for x in range(500)), "a line that is written again has the same content"
    assert len(set(lines)) == 500

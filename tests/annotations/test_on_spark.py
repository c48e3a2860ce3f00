"""Pipelines on Spark, with replicas, random loops, and a program that is killed."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import morisot as mo
from tests.annotations import test_pipeline as programs
from tests.annotations.test_random_loops import check

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.thorough, pytest.mark.jvm]


def numbers(n: int) -> Iterator[int]:
    yield from range(n)


XS = [0, 1, 2, 3, 4, 5, 6, 7]
CASES: dict[str, tuple[Any, Callable[[], tuple[Any, ...]]]] = {
    "primes": (programs.count_primes, lambda: (2000, 2)),
    "an empty range": (programs.count_primes, lambda: (1, 2)),
    "drops of a list": (programs.drops, lambda: (XS * 5, [])),
    "drops of a generator": (programs.drops, lambda: (numbers(40), [])),
    "None": (programs.optional, lambda: ([None, 1, 2, None],)),
    "two loops": (programs.two_loops, lambda: ([3, 1, 2],)),
    "a kept name that travels": (programs.travelling, lambda: ([1, 2, 3],)),
    "names that the head updates": (programs.updates_in_the_head, lambda: ([5, 6, -1, 7],)),
    "some paths": (programs.some_paths, lambda: ([1, 2, 0],)),
    "affinity": (programs.by_key, lambda: (XS, 2)),
}


@pytest.mark.parametrize("name", CASES)
def test_the_result_is_the_sequential_one(spark: SparkSession, name: str) -> None:
    program, arguments = CASES[name]
    given, expected = arguments(), arguments()
    assert mo.pipeline(program.__wrapped__)(*given) == program.sequential(*expected)
    assert [each for each in given if isinstance(each, list)] == [each for each in expected if isinstance(each, list)]


def test_broadcast(spark: SparkSession) -> None:
    assert sorted(mo.pipeline(programs.copied.__wrapped__)([1, 2])) == [2, 2, 3, 3]  # type: ignore[attr-defined]


def test_events_of_replicas(spark: SparkSession) -> None:
    run: Any = mo.pipeline(programs.with_events.__wrapped__)  # type: ignore[attr-defined]
    assert run([1, 2, 3], programs.Store()) == [6, 3, 2]


def test_a_failing_stage(spark: SparkSession) -> None:
    run: Any = mo.pipeline(programs.fails.__wrapped__)  # type: ignore[attr-defined]
    seen: list[int] = []
    with pytest.raises(mo.ElementError) as caught:
        run([10, 2, 1], seen)
    assert isinstance(caught.value.__cause__, LookupError)
    with pytest.raises(mo.ElementError) as caught:
        run([5, 0], [])
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    line = programs.fails.sequential.__code__.co_firstlineno
    assert caught.value.location is not None
    assert caught.value.location.line == line + 3


@pytest.mark.seeded
def test_random_loops(spark: SparkSession, chance: random.Random, tmp_path: Path) -> None:
    for number in range(8):
        check(chance, tmp_path / str(number), "spark")


PROGRAM = """
    import os, signal, sys
    import morisot as mo

    @mo.pipeline(snapshots=mo.Snapshots("saves", items=40))
    def run(n: int, killed_at: int) -> int:
        total = 0
        with open("out.txt", "a") as out:
            for x in mo.to_stream(range(n)):
                with mo.stage(replicate=2):
                    y = x * x
                with mo.stage():
                    if x == killed_at:
                        os.kill(os.getpid(), signal.SIGKILL)
                    total += y
                with mo.stage(on_snapshot=out.flush):
                    out.write(f"{x} {total}\\n")
        return total

    print(run(200, int(sys.argv[1])))
"""


def run(directory: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A program that runs in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": str(Path(mo.__file__).parents[1])}
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.program
def test_killed_and_started_again(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(textwrap.dedent(PROGRAM))
    results = [run(tmp_path, "program.py", str(killed_at)) for killed_at in (100, -1)]
    assert [each.returncode for each in results] == [-signal.SIGKILL, 0], results[-1].stderr
    assert int(results[-1].stdout) == sum(x * x for x in range(200))
    lines = {(int(line.split()[0]), int(line.split()[1])) for line in (tmp_path / "out.txt").read_text().splitlines()}
    assert len(lines) == 200


@pytest.mark.program
def test_a_supervised_pipeline(tmp_path: Path) -> None:
    text = textwrap.dedent(PROGRAM).replace("int(sys.argv[1])", "-1 if os.path.exists('died') else 100")
    text = text.replace("os.kill(", "open('died', 'w').close() or os.kill(").replace(
        'snapshots=mo.Snapshots("saves", items=40)', ""
    )
    (tmp_path / "program.py").write_text(text)
    command = ("-m", "morisot.cli.main", "run", "--snapshots", "saves", "--items", "40", "program.py")
    done = run(tmp_path, *command)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == sum(x * x for x in range(200))
    assert (tmp_path / "died").exists()

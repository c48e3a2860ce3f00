"""The testing kit gives what the program gives, and says what it cannot test."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import morisot as mo

Run = Callable[..., list[Any]]


@pytest.mark.unbounded_thorough
def test_run_gives_the_results_in_order(morisot_run: Run) -> None:
    def program(numbers: Any) -> Any:
        return numbers.filter(lambda n: n != 2).rich_map(0, lambda total, n: (total + n, total + n))

    assert morisot_run(program, [[1, 2], [3], [], [4]]) == [1, 4, 8]


@pytest.mark.unbounded_thorough
def test_the_answer_of_running_values_is_the_last_of_each_key(morisot_run: Run) -> None:
    words = [["a", "b", "a"], ["b", "a"]]
    assert sorted(morisot_run(lambda stream: stream.group_by_count(lambda word: word), words)) == [("a", 3), ("b", 2)]
    assert sorted(morisot_run(lambda stream: stream.key_by(len).count().unkey(), words)) == [(1, 5)]
    assert morisot_run(lambda stream: stream.fold("", lambda text, word: text + word), words) == ["ababa"]


@pytest.mark.unbounded_thorough
def test_several_inputs(morisot_run: Run) -> None:
    results = morisot_run(lambda left, right: left.merge(right.map(len)), [[1], [2]], [["a", "bb"], ["ccc"], ["dddd"]])
    assert sorted(results) == [1, 1, 2, 2, 3, 4]


@pytest.mark.unbounded_thorough
def test_elements_that_are_always_none(morisot_run: Run) -> None:
    assert morisot_run(lambda stream: stream, [[(1, None)], [(2, None)]]) == [(1, None), (2, None)]
    assert morisot_run(lambda stream: stream, [[None], []]) == [None]
    assert morisot_run(lambda stream: stream, [[], []]) == []


def test_a_failing_program_raises_what_the_user_would_see(morisot_run: Run) -> None:
    with pytest.raises(mo.ElementError, match="failed on the element 0: ZeroDivisionError"):
        morisot_run(lambda stream: stream.map(lambda n: 1 // n), [[1], [0]])


@pytest.mark.jvm
def test_observe_tells_every_change(spark: Any) -> None:
    outcome = mo.testing.observe(lambda s: s.count(), [[1, 2], [3]], engine="unbounded", spark=spark)
    assert list(outcome.changes) == [2, 3]
    assert list(outcome.results) == [3]
    assert outcome.metrics["elements_in"] == 3


def test_a_crash_changes_nothing(morisot_run: Run) -> None:
    def program(numbers: Any) -> Any:
        return numbers.rich_map(0, lambda total, n: (total + n, total + n))

    crash = mo.testing.CRASH
    assert morisot_run(program, [[1, 2], crash, [3], [4], crash, [5], crash]) == [1, 3, 6, 10, 15]


@pytest.mark.unbounded_thorough
def test_a_crash_before_the_first_batch(morisot_run: Run) -> None:
    results = morisot_run(lambda a, b: a.zip(b), [mo.testing.CRASH, [1], [2]], [["a", "b"]])
    assert results == [(1, "a"), (2, "b")]


def test_what_is_no_program_or_no_batch_is_refused() -> None:
    with pytest.raises(mo.PlanError, match=r"a tested program returns a stream, not \[1\].*\n.*return the stream"):
        mo.testing.run(lambda stream: stream.collect(), [[1]])
    with pytest.raises(
        mo.PlanError, match=r"a micro-batch is a list of elements, not 1 .*test_run.py:\d+.*\n.*\[\[1, 2"
    ):
        mo.testing.run(lambda stream: stream, [1, 2])  # type: ignore[list-item]
    with pytest.raises(mo.PlanError, match="there is no engine 'flink' to test on"):
        mo.testing.run(lambda stream: stream, [[1]], engine="flink")  # type: ignore[arg-type]
    with pytest.raises(mo.PlanError, match=r"the watermark cannot advance to '10s' .*\n.*milliseconds or a datetime"):
        mo.testing.advance_time("10s")  # type: ignore[arg-type]


PROGRAM = """
def test_doubles(morisot_run, morisot_engine):
    assert morisot_engine == "reference"
    assert morisot_run(lambda numbers: numbers.map(lambda n: n * 2), [[1], [2]]) == [2, 4]
"""


def test_the_plugin_gives_its_fixtures_by_name(tmp_path: Path) -> None:
    (tmp_path / "test_program.py").write_text(PROGRAM)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "morisot.testing.plugin",
        "-k",
        "reference",
        "-p",
        "no:cacheprovider",
    ]
    alone = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run([*command, tmp_path], capture_output=True, text=True, check=False, cwd=tmp_path, env=alone)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed, 2 deselected" in done.stdout

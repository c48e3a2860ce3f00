"""Every example runs as its reader would run it, and says what it should."""

from __future__ import annotations

import runpy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EXAMPLES = Path(__file__).parents[2] / "examples"

RUNS = {
    "branches.py": ([], ["core: too hot at", "wall: no value at 97 s", "°C on average", "branch(number=2)"]),
    "collatz.py": (["--up-to", "20000"], ["17,647 takes 278 steps to 1", "one job", "kernel"]),
    "connected_components.py": (
        ["--nodes", "10", "--edges", "6"],
        ["components, the largest has", "0 edges between different labels"],
    ),
    "k_means.py": (["--points", "2000"], ["one job", "function: kernel", "centre", "ms each"]),
    "page_rank.py": ([], ["node 1: rank 0.2651", "in whole numbers"]),
    "transitive_closure.py": ([], ["edges make", "another round would add 0"]),
    "csv_report.py": ([], ["1000 sales", "Paris", "oil, blue"]),
    "failing.py": (
        [],
        ["map at examples/failing.py:", "failed on the element 'easel: eighty-nine'", "in price_of", "ValueError"],
    ),
    "run_nexmark.py": (["q2", "q9", "--events", "2000"], ["q2: 2 results", "q9: "]),
    "top_words.py": ([], ["until 06:30  coffee", "until 09:00  coffee", "until 23:30  music"]),
    "windowed_word_count.py": ([], ["occurrences", "windows of ten"]),
    "triangles.py": (["--nodes", "12"], ["12 nodes,", "triangles", "left key: column", "stream_iter #"]),
    "word_count.py": (["--size", "0.1"], ["the", "group_by_count", "key: tokens", "start-up", "words/s"]),
}


def run(name: str, *arguments: str) -> str:
    """What an example prints; on stderr, where warnings would be, there is nothing."""
    done = subprocess.run(
        [sys.executable, f"examples/{name}", *arguments],
        cwd=EXAMPLES.parent,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert not done.stderr, done.stderr
    return done.stdout


Run = Callable[..., str]


@pytest.fixture
def in_session(spark: SparkSession, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """The same in this process, on the session that tests share."""

    def run_here(name: str, *arguments: str) -> str:
        monkeypatch.chdir(EXAMPLES.parent)
        monkeypatch.syspath_prepend(EXAMPLES)  # as for a program that is started
        monkeypatch.setattr(sys, "argv", [f"examples/{name}", *arguments])
        runpy.run_path(f"examples/{name}", run_name="__main__")
        said = capsys.readouterr()
        assert not said.err, said.err
        return said.out

    return run_here


LONG = ("page_rank.py", "run_nexmark.py")
HERE = [name for name in RUNS if name not in ("word_count.py", *LONG)]


@pytest.mark.parametrize("name", [*HERE, *(pytest.param(name, marks=pytest.mark.thorough) for name in LONG)])
def test_example(name: str, in_session: Run) -> None:
    arguments, said = RUNS[name]
    output = in_session(name, *arguments)
    assert [text for text in said if text not in output] == [], output


@pytest.mark.program
@pytest.mark.jvm
@pytest.mark.thorough
def test_an_example_in_a_process_of_its_own() -> None:
    arguments, said = RUNS["word_count.py"]
    output = run("word_count.py", *arguments)
    assert [text for text in said if text not in output] == [], output


def test_word_count_unbounded(in_session: Run) -> None:
    output = ""
    for seconds in ("4", "60"):  # a busy machine may need longer for its first micro-batch
        output = in_session("word_count_unbounded.py", "--seconds", seconds)
        if "the 2" in output:
            break
    assert "--- the sea is calm" in output, output
    assert "the 2" in output, output
    assert "lines read" in output, output


def test_word_count_of_a_text_of_ones_own(tmp_path: Path, in_session: Run) -> None:
    text = tmp_path / "text.txt"
    text.write_text("A boat.\nThe boat, the sea.\n")
    output = in_session("word_count.py", str(text))
    assert "6 words, 4 distinct" in output, output


def test_every_example_is_run_and_short() -> None:
    files = sorted(EXAMPLES.glob("*.py"))
    assert {file.name for file in files} == {*RUNS, "word_count_unbounded.py"}
    assert [file.name for file in files if len(file.read_text().splitlines()) > 80] == []

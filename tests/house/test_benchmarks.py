"""The benchmarks run, and their parts do what their names say."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

import pytest

from benchmarks import data, latency, planning
from benchmarks.__main__ import WORKLOADS, main
from benchmarks.collision import Collision, week
from benchmarks.cpu import Cost, measured
from benchmarks.data import cache
from benchmarks.harness import Measurement, Options, Result, run
from benchmarks.readme import table
from benchmarks.report import as_json
from benchmarks.workload import DATAFRAME, MORISOT, RDD, VARIANTS, Workload, difference

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(cache, "DIRECTORY", tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("make", "size"),
    [(data.orders, 500), (data.text, 5_000), (data.collisions, 500), (data.events, 500), (data.graph, 30)],
)
def test_data_is_the_same_when_made_again(directory: Path, make: Callable[[int], Path], size: int) -> None:
    path = make(size)
    files = [path] if path.is_file() else sorted(path.iterdir())
    content = [file.read_bytes() for file in files]
    for file in files:
        file.unlink()
    if path.is_dir():
        path.rmdir()
    make(size)
    assert [file.read_bytes() for file in files] == content
    assert [path.name for path in directory.iterdir()] == [path.name]


def test_text_has_the_asked_size_and_a_few_frequent_words(directory: Path) -> None:
    words = data.text(100_000).read_text().lower().split()
    assert words.count("the") > len(words) / 50
    assert abs(data.text(100_000).stat().st_size - 100_000) < 20


def test_every_collision_has_a_value_for_each_field(directory: Path) -> None:
    header, *lines = csv.reader(data.collisions(200).read_text().splitlines())
    assert len(lines) == 200
    assert {len(line) for line in (header, *lines)} == {len(Collision._fields)}


def test_week_changes_on_mondays() -> None:
    day = date(1999, 1, 1)
    while (day := day + timedelta(days=1)).year < 2005:
        monday = day - timedelta(days=day.weekday())
        assert week(day.strftime("%m/%d/%Y")) == (monday - date(1969, 12, 29)).days // 7


@pytest.mark.parametrize(
    ("answer", "expected"),
    [({}, {"q": {}}), ({"q": {}}, {"q": {1: 1}}), ({"q": {2: 1}}, {"q": {1: 1}}), ({"q": {1: 1.0}}, {"q": {1: 1}}),
     ({"q": {1: (1, 1.0)}}, {"q": {1: (1, 1.001)}})],
)  # fmt: skip
def test_different_answers_are_told_apart(answer: Any, expected: Any) -> None:
    assert difference(answer, expected) is not None


def test_cpu_time_of_an_ended_child_is_counted() -> None:
    busy = "import time\nwhile time.process_time() < 0.4: pass"
    _, cost = measured(lambda: subprocess.run([sys.executable, "-c", busy], check=True))
    assert cost.cpu_seconds >= 0.35


def test_a_wrong_answer_and_a_failure_are_reported_and_not_measured() -> None:
    def failing(_spark: object, _n: int) -> NoReturn:
        raise ValueError("broken")

    variants = {MORISOT: lambda _spark, n: {"q": {0: n + 1}}, DATAFRAME: lambda _spark, n: {"q": {0: n}}, RDD: failing}
    workload = Workload("w", "w", 100, "longs", lambda n: n, variants, rdd_fraction=0.1)
    jvm: Any = SimpleNamespace(_jvm=SimpleNamespace(System=SimpleNamespace(gc=lambda: None)))
    result = run(workload, jvm, Options(runs=3, variants=VARIANTS), progress=lambda _text: None)
    wrong, right, broken = result.measurements
    assert (wrong.runs, wrong.problem) == ([], "q[0]: 101 instead of 100")
    assert (len(right.runs), right.problem) == (3, None)
    assert (broken.size, broken.runs, broken.problem) == (10, [], "ValueError: broken")
    document = as_json([result], {}, Options())
    assert document["workloads"]["w"]["variants"][MORISOT] == {"size": 100, "problem": "q[0]: 101 instead of 100"}


def test_the_table_of_the_readme_has_the_ratios_and_the_number_of_runs() -> None:
    def measurement(variant: str, size: int, *cpu: float) -> Measurement:
        return Measurement(variant, size, [Cost(each, each) for each in cpu])

    workload = Workload[int]("w", "Words", 100, "lines", lambda n: n, {})
    times = [measurement(MORISOT, 100, 1.0, 3.0, 2.0), measurement(DATAFRAME, 100, 4.0), measurement(RDD, 10, 2.0)]
    facts = {"cores": 2, "memory_gb": 8.0, "spark": "4.3.0", "java": "17", "python": "3.11"}
    head, _, row, _, note = table(as_json([Result(workload, times)], facts, Options())).splitlines()
    assert head == "| job | Morisot | DataFrame by hand | RDD lambdas |"
    assert row == "| Words, 100 lines | 0.50 | 1 (4.0 s) | 5.00 per element, on 10 |"
    assert "median of 3 warm runs" in note


@pytest.mark.parametrize(
    ("key", "steps"),
    [
        ("operators", {"build, with closures", "plan"}),
        ("diamonds", {"build, with closures", "plan"}),
        ("corpus", {"compile"}),
        ("module", {"compile"}),
    ],
)
def test_planning_is_measured_without_spark(key: str, steps: set[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert planning.main(["--cold", key]) == 0
    assert set(json.loads(capsys.readouterr().out)) == {"import the compiler", *steps}


LITTLE = ["--scale", "0.0002", "--runs", "0", "--rdd-runs", "0", "--warmups", "1"]
"""Without measured runs: the warm-up compares the answers of all three variants."""


def test_variants_of_one_workload_agree_on_a_little_data(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark, "stop", lambda: None, raising=False)
    monkeypatch.setattr("benchmarks.__main__.open_session", lambda: spark)
    report = tmp_path / "bench.json"
    assert main([*LITTLE, "--only", "numeric_chain", "--json", str(report)]) == 0
    assert set(json.loads(report.read_text())["workloads"]) == {"numeric_chain"}


@pytest.mark.jvm
@pytest.mark.program
@pytest.mark.thorough
def test_variants_agree_on_a_little_data(tmp_path: Path) -> None:
    report = tmp_path / "bench.json"
    command = [sys.executable, "-m", "benchmarks", *LITTLE, "--json", str(report)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    assert set(json.loads(report.read_text())["workloads"]) == set(WORKLOADS)


@pytest.mark.jvm
@pytest.mark.program
@pytest.mark.thorough
def test_loops_agree_with_plain_machine_code_on_a_little_data(tmp_path: Path) -> None:
    names = [
        "overhead",
        "k_means_30",
        "page_rank",
        "page_rank_join",
        "page_rank_integers",
        "components",
        "closure",
        "collatz",
    ]
    only = [word for name in names for word in ("--only", name)]
    command = [sys.executable, "-m", "benchmarks.loops", "--scale", "0.001", "--runs", "1", *only,
               "--variants", "morisot", "numba", "--json", str(tmp_path / "loops.json")]  # fmt: skip
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    assert done.stdout.count("same") == 2 * len(names)
    assert "differs" not in done.stdout


@pytest.mark.jvm
@pytest.mark.program
@pytest.mark.thorough
def test_latency_is_measured_from_the_stamp_of_an_element() -> None:
    took = latency.measure("Morisot", "stateless", latency.Feed(rate=100, every=0.1, warm_up=0.5, seconds=1.0))
    assert took.elements == sorted(took.elements)
    assert len(took.elements) >= 50
    assert took.elements[0] > 0
    assert took.batches

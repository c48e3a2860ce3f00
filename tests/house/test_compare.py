"""Two results of the benchmarks, compared."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.compare import Ratio, Row, differences, main, ratio, rows
from benchmarks.loops.readme import as_json as loops_as_json
from benchmarks.loops.workload import Outcome, Timing

MACHINE = {"cpu": "a CPU", "cores": 2, "memory_gb": 8.0, "java": "17.0.15", "python": "3.11.7", "spark": "4.3.0"}


def variant(*cpu: float, size: int = 1000) -> dict[str, Any]:
    return {"size": size, "runs": [{"cpu_seconds": each, "wall_seconds": each / 2} for each in cpu]}


def result(workloads: dict[str, dict[str, Any]], **machine: Any) -> dict[str, Any]:
    named = {name: {"title": name, "unit": "rows", "variants": variants} for name, variants in workloads.items()}
    return {"machine": {**MACHINE, **machine}, "workloads": named}


@pytest.mark.parametrize(
    ("old", "new", "verdict"),
    [
        ([1.0, 1.2], [1.3, 1.4], "slower"),
        ([1.3, 1.4], [1.0, 1.2], "faster"),
        ([1.0, 1.2], [1.1, 9.0], "within the spread"),
        ([1.0, 1.2], [1.2, 1.4], "within the spread"),
        ([1.0], [9.0, 9.1], "spread unknown"),
        ([9.0, 9.1], [1.0], "spread unknown"),
    ],
)
def test_a_ratio_counts_if_all_runs_agree(old: list[float], new: list[float], verdict: str) -> None:
    assert ratio(old, new).verdict == verdict


def test_the_interval_holds_the_ratio_of_every_pair_of_runs() -> None:
    old, new = [2.0, 4.0, 5.0], [6.0, 8.0, 4.0]
    found = ratio(old, new)
    pairs = [after / before for before in old for after in new]
    assert found == Ratio(middle=1.5, low=min(pairs), high=max(pairs))


def test_variants_are_compared_by_workload() -> None:
    old = result(
        {"words": {"morisot": variant(1.0, 1.2), "dataframe": variant(0.9)}, "gone": {"morisot": variant(1.0)}}
    )
    new = result({"new": {"morisot": variant(2.0)}, "words": {"morisot": variant(1.1), "rdd": variant(7.0)}})
    assert list(rows(old, new)) == [
        Row("new", "morisot", problem="only in the new result"),
        Row("words", "morisot", (1.0, 1.2), (1.1,)),
        Row("words", "rdd", problem="only in the new result"),
        Row("words", "dataframe", problem="only in the old result"),
        Row("gone", "morisot", problem="only in the old result"),
    ]


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        (variant(1.0), variant(1.0, size=2000), "1,000 against 2,000 elements"),
        (variant(1.0), {"size": 1000, "problem": "ValueError: broken"}, "new result: ValueError: broken"),
        (variant(0.0), variant(1.0), "old result: no CPU time was measured"),
        ({"seconds": 1.0, "rounds": 3}, {"seconds": 2.0, "rounds": 3}, "old result: no CPU time was measured"),
    ],
)
def test_what_cannot_be_compared_says_why(old: dict[str, Any], new: dict[str, Any], problem: str) -> None:
    (row,) = rows(result({"w": {"morisot": old}}), result({"w": {"morisot": new}}))
    assert row == Row("w", "morisot", problem=problem)


def test_results_of_loops_are_compared() -> None:
    old, new = (
        {
            "machine": MACHINE,
            "workloads": {"closure": loops_as_json("closure, 10 edges", 10, {"morisot": [timing(a), timing(b)]})},
        }
        for a, b in ((2.0, 3.0), (4.0, 5.0))
    )
    assert list(rows(old, new)) == [Row("closure", "morisot", (2.0, 3.0), (4.0, 5.0))]


def timing(cpu: float) -> Timing:
    return Timing("morisot", Outcome(None, rounds=3, loop_seconds=cpu / 4), seconds=cpu / 2, cpu_seconds=cpu)


def test_the_fastest_run_of_a_loop_is_shown_and_all_are_kept() -> None:
    document = loops_as_json("closure, 10 edges", 10, {"morisot": [timing(3.0), timing(2.0)]})
    assert document["variants"]["morisot"] == {
        "size": 10,
        "seconds": 1.0,
        "rounds": 3,
        "loop_seconds": 0.5,
        "runs": [{"cpu_seconds": 3.0, "wall_seconds": 1.5}, {"cpu_seconds": 2.0, "wall_seconds": 1.0}],
    }


def test_differences_of_the_machines_are_said() -> None:
    assert list(differences(result({}), result({}))) == []
    assert list(differences(result({}), result({}, python="3.14.0"))) == ["python: 3.11.7 against 3.14.0"]


def test_the_command_prints_the_ratios(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old = result({"words": {"morisot": variant(1.0, 1.1, 1.2), "dataframe": variant(1.0, 1.1, 0.9)}})
    new = result({"words": {"morisot": variant(2.0, 2.2, 2.4), "dataframe": variant(1.0, 1.0, 1.1)}}, cores=4)
    for name, document in (("old.json", old), ("new.json", new)):
        (tmp_path / name).write_text(json.dumps(document))
    assert main([str(tmp_path / "old.json"), str(tmp_path / "new.json")]) == 0
    printed = capsys.readouterr().out
    (morisot,) = (line for line in printed.splitlines() if "morisot" in line)
    assert [cell.strip() for cell in morisot.split("│")[1:-1]] == [
        "words", "morisot", "1.10 (3)", "2.20 (3)", "2.000", "1.667 to 2.400", "slower",
    ]  # fmt: skip
    (dataframe,) = (line for line in printed.splitlines() if "dataframe" in line)
    assert "within the spread" in dataframe
    assert printed.endswith("The machines differ in cores: 2 against 4\n")


def test_nothing_in_common_is_an_error(tmp_path: Path) -> None:
    for name in ("old", "new"):
        (tmp_path / name).write_text(json.dumps(result({name: {"morisot": variant(1.0)}})))
    assert main([str(tmp_path / "old"), str(tmp_path / "new")]) == 1

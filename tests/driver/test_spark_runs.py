"""Every kind of physical operator and every machine of unbounded jobs runs on Spark in `make test`."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import random
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import morisot as mo
from morisot.physical.job import plan_stream
from morisot.testing.script import Batches
from morisot.worker import stateful
from tests.driver.run import Drive
from tests.driver.spark_runs import OF_FIXTURES, SPARK_RUNS, check_claims
from tests.physical.golden import write_files
from tests.physical.programs import PROGRAMS
from tests.physical.test_without_spark import UNBOUNDED
from tests.recovery.fixture_programs import ALL, BEFORE, STREAMS

ONLY_BOUNDED = {"DeduplicateWithin", "Sorter", "Everything"}
"""The machines and windowers that no unbounded job has."""


def machines() -> set[str]:
    """The classes that process elements or hold windows in the states of unbounded jobs."""
    found: set[str] = set()
    for module in pkgutil.iter_modules(stateful.__path__):
        content = importlib.import_module(f"{stateful.__name__}.{module.name}")
        for name, cls in inspect.getmembers(content, inspect.isclass):
            own = cls.__module__ == content.__name__ and not getattr(cls, "_is_protocol", False)
            if own and ({"layout", "assign", "give"} & {*dir(cls)} or name.endswith("Bucket")):
                found.add(name)
    return found - ONLY_BOUNDED


def kinds() -> set[str]:
    """The kinds of physical operators that unbounded plans have."""
    found = {kind.__name__ for kind in UNBOUNDED}
    for program in PROGRAMS.values():
        node = program(mo.StreamContext(engine="reference"))._node
        if not node.bounded:
            found |= {
                type(operator).__name__
                for operator in plan_stream(node).plan.operators.values()
                if not operator.node.bounded
            }
    return found


def test_the_machines_and_kinds_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_files()
    assert {"FoldMachine", "RichMachine", "Sliding", "Sessions", "Transactions", "ReorderBucket"} <= machines()
    assert {"KeyedStateOp", "TimersOp", "WatermarkOp", "TableJoinOp", "UnionOp", "ColumnsOp", "StageOp"} <= kinds()


def test_each_has_a_run_on_spark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_files()
    run = {name for names in SPARK_RUNS.values() for name in names}
    assert machines() | kinds() <= run, f"nothing runs {sorted((machines() | kinds()) - run)} on Spark"


def test_the_runs_are_tests_of_make_test(request: pytest.FixtureRequest, collected: tuple[pytest.Item, ...]) -> None:
    root = request.config.rootpath
    asked = {(request.config.invocation_params.dir / each).resolve() for each in request.config.args}
    if asked != {root / each for each in request.config.getini("testpaths")}:
        pytest.skip("not all tests are collected")
    on_spark = {
        item.nodeid for item in collected if item.get_closest_marker("jvm") and not item.get_closest_marker("thorough")
    }
    assert {*SPARK_RUNS} <= on_spark, f"no such test runs on Spark: {sorted({*SPARK_RUNS} - on_spark)}"


@pytest.mark.parametrize("kind", OF_FIXTURES)
def test_programs_of_fixtures_run_what_they_are_listed_for(kind: str, chance: random.Random) -> None:
    numbers: Batches = [list(range(BEFORE)), list(range(BEFORE, ALL))]
    job = Drive(STREAMS[kind], [numbers, numbers], chance)
    assert job.run().results
    check_claims(f"tests/recovery/test_fixtures.py::test_streams_resume[{kind}]", [job])


class Ran(NamedTuple):
    machines: set[str]
    kinds: set[str]


def test_a_run_that_does_not_run_what_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    claims: Any = {"tests/a.py::test[unbounded-b]": ("Sliding", "TimersOp", "windows of two streams")}
    monkeypatch.setattr("tests.driver.spark_runs.SPARK_RUNS", claims)
    check_claims("tests/a.py::test[driver-b]", [Ran({"Sliding"}, {"ReadOp"}), Ran({"Sessions"}, {"TimersOp"})])
    check_claims("tests/a.py::other[driver-b]", [])
    with pytest.raises(AssertionError, match=r"does not run \['Sliding'\]"):
        check_claims("tests/a.py::test[driver-b]", [Ran({"Sessions"}, {"TimersOp"})])

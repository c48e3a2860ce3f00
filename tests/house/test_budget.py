"""What the tests may cost, and that the record of what they cost is that of these tests.

Only an idle machine gives a valid record, so `make thorough` checks it, and `make test` does not.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.durations import GROUPS, Cost, Processes, Record, as_text, variant_of

ROOT = Path(__file__).parents[2]
RECORD = ROOT / "tests" / "durations.json"
pytestmark = pytest.mark.thorough
AGAIN = "record it again on an idle machine: pytest -n 2 --dist worksteal -m 'not thorough' --record-durations"

BUDGET = {"fast": 130, "bounded": 395, "unbounded": 125, "programs": 160, "rest": 220, "session": 30}
"""Seconds of CPU for each group: ten minutes on two cores."""
LONGEST = 10
"""Seconds of CPU for a test that does not start a JVM of its own."""
MOST_PROGRAMS = 10
SHARE_UNKNOWN = 0.03
"""How many of the tests may have come or gone since the record was made."""


def over_budget(record: Record) -> Iterator[str]:
    """What costs too much."""
    for group, seconds in BUDGET.items():
        if record.groups[group].cpu > seconds:
            yield f"the group {group} takes {record.groups[group].cpu} s of CPU, its budget is {seconds} s"
    for name, cost in record.tests.items():
        if cost.cpu > LONGEST and cost.group != "programs":
            yield f"{name} takes {cost.cpu} s of CPU, {LONGEST} s at most: make it shorter or mark it thorough"
        if cost.jvms and cost.group != "programs":
            yield f"{name} starts a JVM of its own: mark it program"
    programs = [name for name, cost in record.tests.items() if cost.jvms]
    if len(programs) > MOST_PROGRAMS:
        yield f"{len(programs)} tests start a JVM of their own, {MOST_PROGRAMS} at most: {', '.join(programs)}"


def stale(record: Record, tests: Iterable[str]) -> Iterator[str]:
    """How the record differs from the tests that there are."""
    names = set(tests)
    there: dict[str, int] = {}
    for name in names:
        file = name.partition("::")[0]
        there[file] = there.get(file, 0) + 1
    gone = [name for name in (*record.files, *record.tests) if name not in there and name not in names]
    if gone:
        yield f"the record has what is not there any more: {', '.join(gone)}"
    different = sum(abs(there.get(file, 0) - record.files.get(file, 0)) for file in {*there, *record.files})
    if different > SHARE_UNKNOWN * len(names):
        yield f"{different} of {len(names)} tests have come or gone since the record was made"


@pytest.fixture
def record() -> Record:
    found = Record.read(RECORD)
    if found.provisional:
        pytest.skip(f"the record is put together from parts: {AGAIN} {RECORD.relative_to(ROOT)}")
    return found


def test_the_tests_keep_to_their_budget(record: Record) -> None:
    assert list(over_budget(record)) == [], "\n".join(over_budget(record))


def test_the_record_is_that_of_these_tests(
    request: pytest.FixtureRequest, collected: tuple[pytest.Item, ...], record: Record
) -> None:
    asked = {(request.config.invocation_params.dir / each).resolve() for each in request.config.args}
    if asked != {ROOT / each for each in request.config.getini("testpaths")}:
        pytest.skip("not all tests are collected")
    tests = [item.nodeid for item in collected if not item.get_closest_marker("thorough")]
    found = list(stale(record, tests))
    assert found == [], "\n".join([*found, f"{AGAIN} {RECORD.relative_to(ROOT)}"])


@pytest.mark.parametrize("mark", ["bounded_thorough", "unbounded_thorough"])
def test_parameters_that_are_kept_exist(mark: str, collected: tuple[pytest.Item, ...]) -> None:
    kept, there = set(), set()
    for item in collected:
        for variants in item.iter_markers(mark):
            function = item.nodeid.partition("[")[0]
            kept |= {(function, each) for each in variants.kwargs.get("kept", ())}
            there.add((function, variant_of(item)))
    assert kept <= there


# --- the checks can fail ---

CHEAP = Cost("bounded", 1.0, 1.0)


def record_of(**costs: Cost) -> Record:
    return Record.of({f"tests/a.py::{name}": cost for name, cost in costs.items()})


def test_a_cheap_record_is_within_the_budget() -> None:
    program = Cost("programs", 12.0, 9.0, 2)
    assert list(over_budget(record_of(a=CHEAP, b=program, **{f"p{n}": program for n in range(9)}))) == []


@pytest.mark.parametrize("group", GROUPS)
def test_a_group_over_its_budget(group: str) -> None:
    many = {f"t{n}": Cost(group, BUDGET[group] / 100, 1.0) for n in range(101)}
    assert [each.split(" takes ")[0] for each in over_budget(record_of(**many))] == [f"the group {group}"]


def test_a_test_that_takes_too_long_and_one_that_starts_a_jvm() -> None:
    long, hidden = list(over_budget(record_of(a=replace(CHEAP, cpu=10.5), b=replace(CHEAP, jvms=1), c=CHEAP)))
    assert long.startswith("tests/a.py::a takes 10.5 s of CPU")
    assert hidden == "tests/a.py::b starts a JVM of its own: mark it program"


def test_too_many_programs() -> None:
    (problem,) = over_budget(record_of(**{f"p{n}": Cost("programs", 1.0, 1.0, 1) for n in range(11)}))
    assert problem.startswith("11 tests start a JVM of their own, 10 at most: tests/a.py::p0, ")


def test_a_record_of_other_tests() -> None:
    names = [f"tests/a.py::t{n}" for n in range(100)]
    record = Record.of(dict.fromkeys(names, CHEAP))
    assert list(stale(record, names)) == []
    assert list(stale(record, [*names, "tests/b.py::new"])) == []
    assert [each[:4] for each in stale(record, [*names, *(f"tests/b.py::t{n}" for n in range(9))])] == ["9 of"]
    assert list(stale(record, names[1:])) == ["the record has what is not there any more: tests/a.py::t0"]
    moved = [name.replace("a.py", "b.py") for name in names]
    assert [each.split(": tests/a.py")[0] for each in stale(record, moved)] == [
        "the record has what is not there any more",
        "200 of 100 tests have come or gone since the record was made",
    ]


def test_only_what_costs_something_is_listed(tmp_path: Path) -> None:
    costs = {
        "tests/a.py::a": CHEAP,
        "tests/a.py::b": Cost("fast", 0.1, 0.2),
        "tests/b.py::c": Cost("rest", 0.2, 3.0, 1),
    }
    record = Record.of(costs)
    assert (set(record.tests), record.files) == ({"tests/a.py::a", "tests/b.py::c"}, {"tests/a.py": 2, "tests/b.py": 1})
    assert record.groups["fast"] == Cost("fast", 0.1, 0.2)
    with_session = Record.of({**costs, "session of the process 1": Cost("session", 9.0, 4.0)})
    assert (with_session.tests, with_session.files) == (record.tests, record.files)
    assert with_session.groups["session"] == Cost("session", 9.0, 4.0)
    (tmp_path / "record.json").write_text(as_text(record))
    assert Record.read(tmp_path / "record.json") == record


# --- what is measured ---

ORPHAN = """
import subprocess, sys
busy = "import time\\nwhile time.process_time() < 1: pass"
subprocess.Popen([sys.executable, "-c", busy])
"""
"""A program that does not wait for the one that it starts, as none waits for Spark's JVM."""


def test_cpu_of_a_process_that_nobody_waits_for_is_counted() -> None:
    processes = Processes()
    processes.start()
    try:
        before, _ = processes.look()
        subprocess.run([sys.executable, "-c", ORPHAN], check=True)
        deadline = time.monotonic() + 60
        while processes.look()[0] - before < 0.9 and time.monotonic() < deadline:
            time.sleep(0.1)
        assert processes.look()[0] - before >= 0.9
    finally:
        processes.stop()


SPARK = "org.example.SparkSubmit"
"""Another name than Spark's, else the record would count this one, too."""


@pytest.mark.parametrize(
    ("arguments", "counted"),
    [
        ([SPARK], 1),
        (["org.apache.spark.launcher.Main", SPARK], 0),
        (["org.example.Other"], 0),
    ],
)
def test_jvms_of_programs_are_counted(arguments: list[str], counted: int, tmp_path: Path) -> None:
    (tmp_path / "java").symlink_to("/bin/sh")
    command = [str(tmp_path / "java"), "-c", "sleep 1; true", *arguments]
    processes = Processes(SPARK)
    processes.start()
    try:
        subprocess.run([sys.executable, "-c", f"import subprocess; subprocess.run({command!r})"], check=True)
        assert processes.look()[1] == counted
    finally:
        processes.stop()

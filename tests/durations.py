"""What each test costs: wall-clock time, CPU of its process with all that it started, and how many JVMs those were.

`--record-durations FILE` writes it; `tests/house/test_budget.py` checks it.
"""

from __future__ import annotations

import collections
import json
import os
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import psutil
import pytest

ENGINES = ("reference", "bounded", "driver", "unbounded")
"""The engines that tests have as a parameter."""
GROUPS = ("fast", "bounded", "unbounded", "programs", "rest", "session")
"""The last one is the start of the session that tests share, which the first test that needs it does not pay."""
LISTED_SECONDS = 0.5
"""Tests that take more CPU are listed one by one."""
_SHARED = "durations"
_SESSION = "session of the process "
_SAMPLE_SECONDS = 0.1
_SPARK, _LAUNCHER = "org.apache.spark.deploy.SparkSubmit", "org.apache.spark.launcher.Main"
"""What a JVM of Spark runs, and what the one runs that only puts its command line together."""


def group_of(item: pytest.Item) -> str:
    """Which part of the budget a test is paid from."""
    if item.get_closest_marker("program"):
        return "programs"
    if item.get_closest_marker("unbounded"):
        return "unbounded"
    if not item.get_closest_marker("jvm"):
        return "fast"
    return "bounded" if "operators" in item.path.parts or "cases" in item.path.parts else "rest"


def variant_of(item: pytest.Item) -> str:
    """The parameters of a test, but for the engine."""
    assert isinstance(item, pytest.Function)
    name = item.callspec.id
    for engine in ENGINES:
        name = name.removeprefix(f"{engine}-").removesuffix(f"-{engine}")
    return name


@dataclass(frozen=True)
class Cost:
    """What one test took."""

    group: str
    cpu: float
    wall: float
    jvms: int = 0
    """How many JVMs programs that it started have started."""


class Processes:
    """The CPU of this process and of all that it has started, also of those whose parent did not wait for them.

    Spark's JVM outlives the program that started it for a moment, and its CPU time is reported to no process. So
    processes are polled, and the last value of each counts.
    """

    def __init__(self, spark: str = _SPARK) -> None:
        self._me = psutil.Process()
        self._spark = spark
        self._seen: dict[psutil.Process, float] = {}
        self._jvms: set[psutil.Process] = set()
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="durations", daemon=True)

    def start(self) -> None:
        """Begin to look, if that is not done already."""
        if self._thread.ident is None:
            self._thread.start()

    def stop(self) -> None:
        self._ended.set()
        if self._thread.ident is not None:
            self._thread.join()

    def look(self) -> tuple[float, int]:
        """How many seconds of CPU all have used, and how many JVMs other processes than this one have started."""
        with self._lock:
            self._sample()
            return sum(self._seen.values()), len(self._jvms)

    def _watch(self) -> None:
        while not self._ended.wait(_SAMPLE_SECONDS):
            self.look()

    def _sample(self) -> None:
        running = [each for each in self._seen if each.is_running()]  # some may have lost the parent they were found by
        for process in {self._me, *running, *self._me.children(recursive=True)}:
            try:
                used = process.cpu_times()
                self._seen[process] = used.user + used.system
                if process not in self._jvms and self._is_jvm_of_a_program(process):
                    self._jvms.add(process)
            except psutil.Error:
                continue

    def _is_jvm_of_a_program(self, process: psutil.Process) -> bool:
        """Whether Spark runs there, started by a program; a process that a JVM starts has its command for a moment."""
        parent = process.parent()
        started_here = parent == self._me or (parent is not None and self._is_jvm(parent.cmdline()))
        return self._is_jvm(process.cmdline()) and not started_here

    def _is_jvm(self, command: list[str]) -> bool:
        """Whether Spark runs there."""
        return (
            Path(command[0] if command else "").name == "java" and self._spark in command and _LAUNCHER not in command
        )


class Recorder:
    """Measures tests, and writes one file for all processes."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._found: dict[str, dict[str, Any]] = {}
        self._processes = Processes()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self._processes.start()
        self._shared = Cost("session", 0.0, 0.0)
        began = self._now()
        result = yield
        cost = self._since(began, group_of(item))
        own = replace(cost, cpu=round(cost.cpu - self._shared.cpu, 2), wall=round(cost.wall - self._shared.wall, 2))
        self._found[item.nodeid] = asdict(own)
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Iterator[None]:
        if fixturedef.argname != "spark":
            return (yield)
        began = self._now()
        result = yield
        self._shared = self._since(began, "session")
        self._found[f"{_SESSION}{os.getpid()}"] = asdict(self._shared)
        return result

    def _now(self) -> tuple[float, float, int]:
        return time.monotonic(), *self._processes.look()

    def _since(self, began: tuple[float, float, int], group: str) -> Cost:
        wall, cpu, jvms = (now - then for now, then in zip(self._now(), began, strict=True))
        return Cost(group, round(cpu, 2), round(wall, 2), int(jvms))

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        self._processes.stop()
        output = getattr(session.config, "workeroutput", None)
        if output is not None:
            output[_SHARED] = self._found
        else:
            self._file.write_text(as_text(Record.of({name: Cost(**cost) for name, cost in self._found.items()})))

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        self._found.update(getattr(node, "workeroutput", {}).get(_SHARED, {}))


@dataclass(frozen=True)
class Record:
    """A run of the tests: sums, how many tests each file has, and the tests that cost most."""

    groups: dict[str, Cost]
    files: dict[str, int]
    tests: dict[str, Cost]
    provisional: bool = False
    """Whether the entries come from several runs, of which none says what the whole costs."""

    @classmethod
    def of(cls, costs: dict[str, Cost]) -> Record:
        groups = {group: _sum(group, [each for each in costs.values() if each.group == group]) for group in GROUPS}
        tests = {name: each for name, each in sorted(costs.items()) if each.group != "session"}
        files = collections.Counter(name.partition("::")[0] for name in tests)
        listed = {name: each for name, each in tests.items() if each.cpu > LISTED_SECONDS or each.jvms}
        return cls(groups, dict(files), listed)

    @classmethod
    def read(cls, file: Path) -> Record:
        content = json.loads(file.read_text(encoding="utf-8"))
        groups, tests = ({name: Cost(**each) for name, each in content[part].items()} for part in ("groups", "tests"))
        return cls(groups, content["files"], tests, content.get("provisional", False))


def _sum(group: str, costs: list[Cost]) -> Cost:
    cpu, wall = (round(sum(getattr(each, name) for each in costs), 1) for name in ("cpu", "wall"))
    return Cost(group, cpu, wall, sum(each.jvms for each in costs))


def as_text(record: Record) -> str:
    """JSON with a line for each entry."""
    parts = ['  "provisional": true'] if record.provisional else []
    for part in ("groups", "files", "tests"):
        entries = asdict(record)[part]
        lines = ",\n".join(f"    {json.dumps(name)}: {json.dumps(entry)}" for name, entry in entries.items())
        parts.append(f"  {json.dumps(part)}: {{\n{lines}\n  }}")
    return "{\n" + ",\n".join(parts) + "\n}\n"

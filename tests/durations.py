"""What each test costs: wall-clock time, and CPU of its process with all that it started.

`--record-durations FILE` writes it."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

GROUPS = ("fast", "bounded", "unbounded", "programs", "rest")
_SHARED = "durations"


def group_of(item: pytest.Item) -> str:
    """Which part of the budget a test is paid from."""
    if item.get_closest_marker("program"):
        return "programs"
    if item.get_closest_marker("unbounded"):
        return "unbounded"
    if not item.get_closest_marker("jvm"):
        return "fast"
    return "bounded" if "operators" in item.path.parts or "cases" in item.path.parts else "rest"


def cpu_seconds() -> float:
    """The CPU that this process and all it started have used, those that have ended included."""
    total = 0.0
    process = psutil.Process()
    for each in (process, *process.children(recursive=True)):
        try:
            total += sum(each.cpu_times()[:4])
        except psutil.Error:
            continue
    return total


class Recorder:
    """Measures tests, and writes one file for all processes."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._found: dict[str, dict[str, Any]] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        wall, cpu = time.monotonic(), cpu_seconds()
        result = yield
        self._found[item.nodeid] = {
            "group": group_of(item),
            "thorough": item.get_closest_marker("thorough") is not None,
            "wall": round(time.monotonic() - wall, 2),
            "cpu": round(max(0.0, cpu_seconds() - cpu), 2),
        }
        return result

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        output = getattr(session.config, "workeroutput", None)
        if output is not None:
            output[_SHARED] = self._found
        else:
            self._write()

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        self._found.update(getattr(node, "workeroutput", {}).get(_SHARED, {}))

    def _write(self) -> None:
        lines = (f"{json.dumps(name)}: {json.dumps(found)}" for name, found in sorted(self._found.items()))
        self._file.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")

"""Small programs without Spark that a supervisor runs, and what is left of them."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

from morisot import processes
from morisot.supervision.attempts import SupervisionReport

SOURCE = Path(__file__).parents[2] / "src"
_SECONDS = 60.0
PRELUDE = """
import ctypes, os, pathlib, signal, subprocess, sys, threading, time
from morisot.runtime.activity import ACTIVITY, EngineState
from morisot.errors import *

def attempt():
    "The number of this attempt."
    file = pathlib.Path("attempts.txt")
    number = len(file.read_text()) + 1 if file.exists() else 1
    file.write_text("x" * number)
    return number

def tell(name, text="x"):
    "Tells the test about an event."
    beside = pathlib.Path(f".{name}"); beside.write_text(str(text)); beside.rename(name)

def children():
    "Starts a child in a session of its own, as the daemon of workers does, with a child."
    waits = "import time; time.sleep(600)"
    command = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {waits!r}]); {waits}"
    return subprocess.Popen([sys.executable, "-c", command], start_new_session=True)

class Backlog:
    def has_backlog(self): return True
"""


class Supervised:
    """`morisot run` of a program in a directory of its own, with the temporary directory beside it."""

    def __init__(
        self, directory: Path, text: str, *options: str, arguments: tuple[str, ...] = (), path: Path | None = None
    ) -> None:
        self.patience = _SECONDS
        self.directory = directory
        self.temporary = directory / "tmp"
        self.temporary.mkdir(exist_ok=True)
        self.saves = directory / "saves"
        self.report_file = directory / "report.json"
        program = directory / "program.py"
        program.write_text(PRELUDE + textwrap.dedent(text))
        given = ["--snapshots", str(self.saves), "--report", str(self.report_file), "--retry-delay", "1ms", *options]
        # files, because processes that survive hold a pipe open
        self._streams = [(directory / name).open("w") for name in ("out.txt", "errors.txt")]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "morisot.cli.main", "run", *given, str(program), *arguments],
            cwd=directory,
            env=environ(self.temporary, path),
            stdout=self._streams[0],
            stderr=self._streams[1],
            start_new_session=True,
        )

    def wait(self) -> int:
        """The exit code."""
        try:
            return self.process.wait(self.patience)
        finally:
            for stream in self._streams:
                stream.close()

    @property
    def out(self) -> str:
        return (self.directory / "out.txt").read_text()

    @property
    def errors(self) -> str:
        return (self.directory / "errors.txt").read_text()

    @property
    def report(self) -> SupervisionReport:
        return SupervisionReport.read(self.report_file)

    def await_event(self, name: str) -> str:
        """Waits until the program tells of an event."""
        wait_for(lambda: (self.directory / name).exists())
        return (self.directory / name).read_text()

    def await_file(self, name: str) -> Path:
        path = self.directory / name
        wait_for(path.exists)
        return path

    def child(self) -> int:
        """The process of the program."""
        return int(self.await_event("child"))

    def signal(self, number: signal.Signals) -> None:
        os.kill(self.process.pid, number)

    def left(self) -> list[str]:
        """Processes, sockets and temporary files of the program."""
        files = [*map(str, self.temporary.iterdir()), *map(str, self.saves.glob("*.sock"))]
        return [*files, *(f"process {pid}" for pid in self.processes())]

    def processes(self) -> list[int]:
        """The processes that run in the directory of the test."""
        found = []
        for pid in processes.table():
            with contextlib.suppress(OSError):
                entry = processes.entry_of(pid)
                if entry is not None and entry.state != "Z" and os.readlink(f"/proc/{pid}/cwd") == str(self.directory):
                    found.append(pid)
        return found


def environ(temporary: Path, path: Path | None = None) -> dict[str, str]:
    entries = [*([] if path is None else [str(path)]), str(SOURCE), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(entries), "TMPDIR": str(temporary)}


def command(directory: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs `morisot` with arguments."""
    return subprocess.run(
        [sys.executable, "-m", "morisot.cli.main", *arguments],
        cwd=directory,
        env=environ(directory / "tmp"),
        capture_output=True,
        text=True,
        check=False,
    )


def wait_for(holds: Callable[[], bool], seconds: float = _SECONDS) -> None:
    """Waits until a condition holds."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "the condition does not hold"
        time.sleep(0.02)

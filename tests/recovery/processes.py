"""Programs in processes of their own, which can be killed."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
_WORKER = b"\0-m\0morisot.engines.spark.internals.worker_daemon\0"
"""In the command of a Python worker of Spark; the command of the JVM has the name, too."""
_PROGRAM = b"\0morisot.supervision.bootstrap\0"
"""In the command of a supervised program."""


class Run:
    """A program in a process group of its own."""

    def __init__(self, name: str, directory: Path, restart: str = "latest", *, module: str = "streams") -> None:
        path = os.pathsep.join([str(ROOT / "src"), str(ROOT), str(ROOT / "tests" / "workers")])
        command = [sys.executable, *self._program(module), name, str(directory), restart]
        self._errors = (directory / "errors.txt").open("w")
        self._output = (directory / "output.txt").open("w")
        self.process = subprocess.Popen(
            command,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": path, **self._variables(directory)},
            stdout=self._output,
            stderr=self._errors,
            text=True,
            start_new_session=True,
        )
        self._directory = directory
        self.started = False
        """Whether the program has said that its job runs."""
        self._starts = 1
        """The starts of the program that are expected."""

    def _program(self, module: str) -> list[str]:
        return ["-m", f"tests.recovery.{module}"]

    def _variables(self, directory: Path) -> dict[str, str]:
        return {}

    def has_started(self) -> bool:
        while not self.started:
            ended = self.process.poll() is not None
            self.started = self._said().count("started") >= self._starts
            if ended:
                break
            time.sleep(0.02)
        return self.started

    def _said(self) -> str:
        return (self._directory / "output.txt").read_text()

    def result(self) -> Any:
        """What the program says at the end."""
        self.process.wait(timeout=300)
        self._close()
        assert self.process.returncode == 0, (self._directory / "errors.txt").read_text()[-3000:]
        return json.loads(self._said().splitlines()[-1])

    def kill(self, *, alone: bool = False) -> None:
        """End the driver, Spark and its workers at once, as a machine that fails does; or the driver alone."""
        (os.kill if alone else os.killpg)(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self._close()

    def _close(self) -> None:
        self._errors.close()
        self._output.close()

    def kill_jvm(self) -> bool:
        """End Spark; whether it was there. The driver then ends with an error."""
        found = [pid for pid in descendants(self.process.pid) if is_java(command_line(pid))]
        if not found:
            return False
        os.kill(found[0], signal.SIGKILL)
        return True

    def kill_worker_soon(self, seconds: float) -> bool:
        """The same as `kill_worker`, as soon as there is one; whether there was one."""
        deadline = time.monotonic() + seconds
        while self.process.poll() is None and time.monotonic() < deadline:
            if self.kill_worker():
                return True
            time.sleep(0.05)
        return False

    def kill_worker(self) -> bool:
        """End one of the Python processes that Spark has started; whether there was one."""
        workers = [pid for pid in descendants(self.process.pid) if _WORKER in command_line(pid)]
        if not workers:
            return False
        os.kill(workers[-1], signal.SIGKILL)
        return True


class SupervisedRun(Run):
    """A program under `morisot run`, with a directory for temporary files of its own."""

    def _program(self, module: str) -> list[str]:
        options = ["--max-retries", "100", "--retry-delay", "100ms", "--heartbeat", "1s"]
        return ["-m", "morisot.cli.main", "run", *options, str(Path(__file__).with_name(f"{module}.py"))]

    def _variables(self, directory: Path) -> dict[str, str]:
        temporary = directory / "tmp"
        temporary.mkdir(exist_ok=True)
        return {"TMPDIR": str(temporary)}

    def kill(self, *, alone: bool = False) -> None:
        """End the supervisor alone, or with everything below it."""
        below = [] if alone else descendants(self.process.pid)
        for pid in (self.process.pid, *below):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait()
        self._close()

    def kill_program(self) -> bool:
        """End the program, which the supervisor starts again; whether it was there."""
        programs = [pid for pid in descendants(self.process.pid) if _PROGRAM in command_line(pid)]
        if not programs:
            return False
        self._expect_start()
        os.kill(programs[0], signal.SIGKILL)
        return True

    def kill_jvm(self) -> bool:
        if not super().kill_jvm():
            return False
        self._expect_start()
        return True

    def _expect_start(self) -> None:
        self._starts, self.started = self._said().count("started") + 1, False


def left(directory: Path, supervisor: int | None = None) -> list[str]:
    """What earlier supervisors with this directory have left, and the one that runs now has not started or made."""
    found = [int(each.name) for each in Path("/proc").iterdir() if each.name.isdigit()]
    own = {os.getpid()} if supervisor is None else {os.getpid(), supervisor, *descendants(supervisor)}
    scratch = [
        each
        for each in (directory / "tmp").iterdir()
        if supervisor is None or not each.name.startswith(f"morisot-run-{supervisor}-")
    ]
    sockets = [] if supervisor is not None else directory.rglob("*.sock")
    theirs = os.fsencode(directory / "tmp")
    processes = [pid for pid in found if pid not in own and theirs in _environment(pid)]
    return [*map(str, scratch), *map(str, sockets), *(f"process {pid}" for pid in processes)]


def _environment(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""


def descendants(pid: int) -> list[int]:
    """The processes that a process has started, and those that they have."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text()
            except OSError:
                continue
            parents[int(entry.name)] = int(stat.rpartition(")")[2].split()[1])
    found = [pid]
    for each in found:
        found.extend(child for child, parent in parents.items() if parent == each)
    return found[1:]


def is_java(command: bytes) -> bool:
    return Path(os.fsdecode(command.split(b"\0")[0])).name == "java"


def command_line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def wait_for_commit(directory: Path, count: int, checkpoints: str = "saves/streams/*") -> None:
    """Wait until this number of micro-batches is done."""
    deadline = time.monotonic() + 300
    while len([file for file in directory.glob(f"{checkpoints}/spark/commits/*") if file.name.isdigit()]) < count:
        assert time.monotonic() < deadline, "it never got so far"
        time.sleep(0.02)

"""Measures detections, recoveries and endings. After each, nothing may be left: processes, sockets, temporary files."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil

from benchmarks.supervision import programs
from morisot.supervision.attempts import SupervisionReport

_SECONDS = 120.0


class Supervised:
    """`morisot run` of a program in a directory of its own, with the temporary directory in it."""

    def __init__(self, directory: Path, program: str, *options: str) -> None:
        self.directory = directory
        self.temporary = directory / "tmp"
        self.temporary.mkdir(exist_ok=True)
        (directory / "program.py").write_text(program)
        command = ["run", "--report", "report.json", "--retry-delay", "1ms", *options, "program.py"]
        with (directory / "errors.txt").open("w") as errors:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "morisot.cli.main", *command],
                cwd=directory,
                env={**os.environ, "TMPDIR": str(self.temporary)},
                stderr=errors,
            )

    def wait(self) -> SupervisionReport:
        self.process.wait(_SECONDS)
        return SupervisionReport.read(self.directory / "report.json")

    def await_file(self, name: str) -> None:
        deadline = time.monotonic() + _SECONDS
        while not (self.directory / name).exists():
            assert self.process.poll() is None, self.errors
            assert time.monotonic() < deadline, self.errors
            time.sleep(0.01)

    def moment(self, name: str) -> float:
        return float((self.directory / name).read_text())

    @property
    def errors(self) -> str:
        return (self.directory / "errors.txt").read_text()

    def below(self, part: str) -> list[psutil.Process]:
        """The descendants with a text in their command."""
        found = []
        for each in psutil.Process(self.process.pid).children(recursive=True):
            with contextlib.suppress(psutil.Error):  # it has ended meanwhile
                if part in " ".join(each.cmdline()):
                    found.append(each)
        return found

    def left(self) -> list[str]:
        """Processes, sockets and temporary files of the program."""
        found = [*map(str, self.temporary.iterdir()), *map(str, self.directory.rglob("*.sock"))]
        return [*found, *(f"process {pid}" for pid in self.processes())]

    def processes(self) -> list[int]:
        """The processes that run in the directory."""
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if (process / "cwd").readlink().is_relative_to(self.directory):
                    found.append(int(process.name))
        return found


@contextlib.contextmanager
def new_directory() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="morisot-bench-", ignore_cleanup_errors=True) as name:
        yield Path(name).resolve()


def help_seconds() -> float:
    """Seconds of `morisot --help`."""
    began = time.perf_counter()
    subprocess.run([sys.executable, "-m", "morisot.cli.main", "--help"], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


def detection(program: str, stall: float) -> float:
    """Seconds from the event to its detection."""
    options = (f"--heartbeat={programs.HEARTBEAT * 1000:.0f}ms", f"--stall={stall:g}s", "--max-retries=0")
    with new_directory() as directory:
        run = Supervised(directory, program, *options)
        (attempt,) = run.wait().attempts
        assert not run.left(), run.left()
        return attempt.ended.timestamp() - run.moment("at")


def recovery(failure: str, retries: int) -> tuple[float, float]:
    """Seconds from a failure to the first new result, and from the first start to the first result."""
    with new_directory() as directory:
        (directory / "in").mkdir()
        for number in range(10):
            lines = "".join(f"{number * 10 + line}\n" for line in range(10))
            (directory / "in" / f"{number}.txt").write_text(lines)
        text = programs.FOLLOW.format(retries=retries, failure=failure)
        text = text.replace("    job = ctx.start()\n", "    job = ctx.start()\n" + _indented(programs.PIDS))
        began = time.time()
        run = Supervised(directory, text)
        report = run.wait()
        assert report.exit_code == 0, run.errors
        assert len(report.attempts) == (1 if retries else 2), run.errors
        assert not run.left(), run.left()
        return run.moment("seen") - run.moment("at"), run.moment("first") - began


def _indented(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.strip().splitlines())


WAITS = "job.wait()"


def _signalled(number: signal.Signals) -> Callable[[Supervised], None]:
    return lambda run: run.process.send_signal(number)


def _killed(part: str) -> Callable[[Supervised], None]:
    return lambda run: run.below(part)[0].kill()


def _killed_worker(run: Supervised) -> None:
    """Kills a Python worker, whose micro-batch is repeated in the same session."""
    run.await_file("worker")
    os.kill(int((run.directory / "worker").read_text()), signal.SIGKILL)
    (run.directory / "seen").unlink()
    run.await_file("seen")
    run.process.terminate()


def _killed_supervisor(run: Supervised) -> None:
    """Kills the supervisor alone. What it leaves is removed at the next start."""
    run.process.kill()
    run.process.wait()
    subprocess.run(
        [sys.executable, "-m", "morisot.cli.main", "run", "--snapshots", "saves", "program.py"],
        cwd=run.directory,
        env={**os.environ, "TMPDIR": str(run.temporary)},
        check=True,
    )


def _killed_everything(run: Supervised) -> None:
    below = psutil.Process(run.process.pid).children(recursive=True)
    run.process.kill()
    for each in below:
        with contextlib.suppress(psutil.NoSuchProcess):
            each.kill()
    _killed_supervisor(run)


def _stopped(run: Supervised) -> None:
    subprocess.run([sys.executable, "-m", "morisot.cli.main", "stop", "saves"], cwd=run.directory, check=True)


def nothing(_: Supervised) -> None:
    """The program ends by itself."""


ENDINGS: dict[str, tuple[str, Callable[[Supervised], None], int]] = {
    "done": ("time.sleep(2)", nothing, 0),
    "failed": ("time.sleep(2); raise RuntimeError('no')", nothing, 75),
    "final error": ("time.sleep(2); raise mo.ConfigError('no')", nothing, 1),
    "timeout": (WAITS, nothing, 124),
    "Ctrl-C": (WAITS, _signalled(signal.SIGINT), 130),
    "SIGTERM": (WAITS, _signalled(signal.SIGTERM), 143),
    "`morisot stop`": (WAITS, _stopped, 143),
    "driver killed": (WAITS, _killed("bootstrap"), 75),
    "JVM killed": (WAITS, _killed("org.apache.spark"), 75),
    "worker killed, then SIGTERM": (WAITS, _killed_worker, 143),
    "supervisor killed": (WAITS, _killed_supervisor, -signal.SIGKILL),
    "everything killed": (WAITS, _killed_everything, -signal.SIGKILL),
}
"""How a program ends: what it does after its first result, what is done to it, and the exit code."""


def ending(name: str) -> dict[str, Any]:
    """What is left after an ending, and how many processes ran before."""
    end, act, code = ENDINGS[name]
    with new_directory() as directory:
        options = ("--timeout", "20s") if name == "timeout" else ()
        run = Supervised(directory, programs.ENDING.replace("{end}", end), "--max-retries", "0", *options)
        run.await_file("seen")
        time.sleep(1)
        before = len(run.processes())
        if act in (_killed_supervisor, _killed_everything):  # the next run only starts, and ends
            (directory / "program.py").write_text("pass")
        act(run)
        exit_code = run.process.wait(_SECONDS)
        assert exit_code == code, (name, exit_code, run.errors)
        return {"exit_code": exit_code, "processes_before": before, "left": run.left()}

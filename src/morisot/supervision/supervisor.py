"""The supervisor: runs a program, watches it, and starts it again after failures."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import os
import selectors
import signal
import sys
import time
from pathlib import Path
from typing import Any

from morisot import processes
from morisot.errors import SnapshotError
from morisot.runtime.retries import JobFailure, Retries
from morisot.supervision.attempts import NAME as REPORT_NAME
from morisot.supervision.attempts import Attempt, SupervisionReport
from morisot.supervision.control import ControlSocket
from morisot.supervision.requests import Requests
from morisot.supervision.run import AttemptRun
from morisot.supervision.scratch import RunDirectory, remove_leftovers
from morisot.supervision.settings import Supervision
from morisot.supervision.task import SKIPPED, SupervisedTask, add_skipped, clear

DONE, FINAL, NO_RETRIES, TIMEOUT = 0, 1, 75, 124
_FINAL_STATUSES = (2, 64)
"""Exit statuses of a wrong use of a program."""


class Supervisor:
    """Runs one program to its end, in as many attempts as the settings allow."""

    def __init__(self, task: SupervisedTask, settings: Supervision) -> None:
        self._task = task
        self._settings = settings
        self._directory = task.directory
        self._retries = Retries(settings.max_retries, settings.retry_delay)
        self._restarts = 0
        self._attempts: list[Attempt] = []
        self._saved = 0
        """New snapshots of all attempts."""
        self._skipped: set[tuple[str, ...]] = set()
        """The elements that were added to the skipped ones."""
        self._snapshots = dict(task.snapshots)
        self._requests = Requests()
        self._scratch: RunDirectory | None = None
        self._control: ControlSocket | None = None
        self._selector = selectors.DefaultSelector()
        self._current: AttemptRun | None = None
        self._deadline: float | None = None

    # -- the whole run ------------------------------------------------------------------------------------------------

    def run(self) -> SupervisionReport:
        """Runs the program. Afterwards no process, socket or temporary file of it is left."""
        if self._task.missing is not None:
            return self._refused(self._task.missing)
        if self._task.clear and self._task.cleared is not None:
            clear(self._task.cleared)
        processes.become_subreaper()
        remove_leftovers()
        began = time.monotonic()
        self._deadline = None if self._settings.timeout is None else began + self._settings.timeout
        self._scratch = RunDirectory()
        code = FINAL
        try:
            with self._requests.listening(self._selector):
                self._open_control(self._directory or self._scratch.path)
                code = self._run_attempts()
        finally:
            self._close()
            report = SupervisionReport(tuple(self._attempts), code, skipped=len(self._skipped))
            if self._attempts:
                self._publish(report)
        return report

    def _refused(self, why: str) -> SupervisionReport:
        now = datetime.datetime.now(datetime.UTC)
        report = SupervisionReport((Attempt(now, now, error=why),), FINAL)
        self._publish(report)
        return report

    def _close(self) -> None:
        processes.end_descendants(0.0, {})
        if self._control is not None:
            self._control.close()
        if self._scratch is not None:
            self._scratch.remove()
        self._selector.close()

    def _publish(self, report: SupervisionReport) -> None:
        directory = self._directory or self._task.cleared
        if self._task.report is not None:
            report.write(Path(self._task.report))
        elif directory is not None:
            report.write(directory / REPORT_NAME)
        if len(report.attempts) > 1 or report.exit_code != DONE:
            say(report.table())

    def _run_attempts(self) -> int:
        while True:
            run = self._attempt()
            if run.has_begun:  # before, the snapshot that the user has selected still holds
                self._snapshots["restart"] = "latest"
            code = self._exit_code(run)
            if code is not None:
                return code

    def _attempt(self) -> AttemptRun:
        assert self._scratch is not None
        directory = self._scratch.of_attempt(len(self._attempts) + 1)
        before = self._current
        assignment = {
            "heartbeat": self._settings.heartbeat,
            "settings": self._task.settings,
            "snapshots": self._snapshots,
            "poison": None if self._directory is None else str(self._directory / SKIPPED),
        }
        run = self._current = AttemptRun(
            self._task,
            self._settings,
            directory,
            assignment=assignment,
            selector=self._selector,
            requests=self._requests,
            before=before,
        )
        run.on_directory = self._use_directory
        self._describe()
        try:
            run.watch(self._deadline)
        finally:
            run.end()
            self._saved += run.saved
            self._attempts.append(run.attempt())
        return run

    # -- decisions ----------------------------------------------------------------------------------------------------

    def _exit_code(self, run: AttemptRun) -> int | None:
        """The exit code of the supervisor, or None after the wait for another attempt."""
        if self._requests.stop is not None:
            return self._requests.exit_code
        if run.timed_out:
            return TIMEOUT
        if self._requests.take_restart(self._snapshots):
            return None
        if run.failure is None:
            return DONE
        return self._after(self._failure_of(run))

    def _failure_of(self, run: AttemptRun) -> JobFailure:
        assert run.failure is not None
        failure = run.failure
        return dataclasses.replace(failure, final=True) if run.status in _FINAL_STATUSES else failure

    def _after(self, failure: JobFailure) -> int | None:
        number = self._retries.after(failure, self._saved)
        repeated = number is None and self._retries.has_failed_on(failure)
        if self._restarts >= self._settings.max_restarts:
            say(f"failed ({failure.said}): no more than {self._restarts} restarts")
            return FINAL if failure.final or repeated else NO_RETRIES
        if repeated and not failure.final and self._skips(failure):
            number, said = 0, "the element is skipped"
        elif number is None:
            return FINAL if failure.final or repeated else NO_RETRIES
        else:
            said = f"restart {number} of {self._retries.most}"
        self._restarts += 1
        delay = self._retries.delay if number else 0.0
        say(f"failed ({failure.said}): {said} in {delay:g} s")
        return self._wait(delay)

    def _skips(self, failure: JobFailure) -> bool:
        """Whether the element is skipped from now on. An operator that does not skip it fails on it again."""
        if self._settings.poison != "skip" or self._directory is None or failure.element is None:
            return False
        if failure.element in self._skipped:
            return False
        add_skipped(self._directory / SKIPPED, failure.element)
        self._skipped.add(failure.element)
        return True

    def _wait(self, seconds: float) -> int | None:
        """Waits before the next attempt. A request ends the wait."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            if self._deadline is not None and time.monotonic() >= self._deadline:
                return TIMEOUT
            for key, _ in self._selector.select(left):
                key.data()
            if self._requests.stop is not None:
                return self._requests.exit_code
            if self._requests.take_restart(self._snapshots):
                break
        return None

    # -- the control socket -------------------------------------------------------------------------------------------

    def _use_directory(self, directory: Path) -> None:
        """Moves the control socket to the snapshot directory that the program names."""
        if self._directory is None:
            self._directory = directory
            try:
                self._open_control(directory)
            except (OSError, SnapshotError) as error:
                say(f"no control socket in {directory}: {error}")
            self._describe()

    def _open_control(self, directory: Path) -> None:
        opened = ControlSocket(directory, self._answer)
        if self._control is not None:
            self._selector.unregister(self._control)
            self._control.close()
        self._control = opened
        self._selector.register(opened, selectors.EVENT_READ, opened.serve)
        self._describe()

    def _describe(self) -> None:
        if self._scratch is not None and self._control is not None:
            self._scratch.describe(control=str(self._control.path.parent))

    def _answer(self, request: dict[str, Any]) -> dict[str, Any]:
        command = request.get("command")
        if command == "stop":
            self._requests.ask_to_stop(signal.SIGTERM)
        elif command == "restart":
            self._requests.ask_to_restart(request.get("from"))
        elif command != "status":
            return {"error": f"unknown command {command!r}"}
        return self._status()

    def _status(self) -> dict[str, Any]:
        run = self._current
        return {
            "pid": os.getpid(),
            "program": " ".join([self._task.target, *self._task.arguments]),
            "snapshots": None if self._directory is None else str(self._directory),
            "attempt": len(self._attempts) + (run is not None and run.is_running),
            "child": run.pid if run is not None and run.is_running else None,
            "since": None if run is None else run.began.isoformat(timespec="seconds"),
            "snapshot": None if run is None else run.snapshot,
            "restarts": self._restarts,
        }


def say(text: str) -> None:
    """Writes to stderr, which belongs to the program too."""
    with contextlib.suppress(OSError, ValueError):
        print("\n".join(f"morisot: {line}" for line in text.splitlines()), file=sys.stderr, flush=True)

"""One attempt: the process, its heartbeats and events, and why it ended."""

from __future__ import annotations

import datetime
import selectors
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from morisot import processes
from morisot.runtime.retries import JobFailure
from morisot.supervision.attempts import Attempt
from morisot.supervision.detectors import Detector
from morisot.supervision.messages import Beat
from morisot.supervision.program import GRACE, SupervisedProcess
from morisot.supervision.requests import Requests
from morisot.supervision.scratch import remove
from morisot.supervision.settings import Supervision
from morisot.supervision.task import SupervisedTask

ORDERLY_SECONDS = 30.0
"""The most seconds in which a program ends in order."""
_LOOK_SECONDS = 0.1
"""Seconds between looks at the process, if the system does not report its end."""


class AttemptRun:
    """An attempt that runs or has ended."""

    def __init__(
        self,
        task: SupervisedTask,
        settings: Supervision,
        directory: Path,
        *,
        assignment: dict[str, Any],
        selector: selectors.BaseSelector,
        requests: Requests,
        before: AttemptRun | None,
    ) -> None:
        self._selector = selector
        self._requests = requests
        self._directory = directory
        self._before = before
        self.began = datetime.datetime.now(datetime.UTC)
        self._program = SupervisedProcess(task.target, task.arguments, directory, **assignment)
        self._detector = Detector(settings, self._program.pid, time.monotonic(), processes.cpu_seconds)
        self.on_directory: Callable[[Path], None] = lambda _: None
        self.status: int | None = None
        """The exit status."""
        self.failure: JobFailure | None = None
        self.timed_out = False
        self.saved = 0
        """New snapshots."""
        self.snapshot: str | None = None
        """The last snapshot."""
        self._reported: JobFailure | None = None
        self._has_begun = False
        """Whether a job has resumed or started from scratch."""
        self._from: str | None = None
        self._first_result: float | None = None
        self.ended_at = 0.0
        self._ended: datetime.datetime | None = None
        self._patience: float | None = None
        """The end of the time in which the program may end in order."""

    @property
    def pid(self) -> int:
        return self._program.pid

    @property
    def is_running(self) -> bool:
        return self._ended is None

    # -- watching -----------------------------------------------------------------------------------------------------

    def watch(self, deadline: float | None) -> None:
        """Returns when the process has ended, or must be ended."""
        program = self._program
        watched = [each for each in (program.pipe, program.exit_descriptor) if each is not None]
        self._selector.register(program.pipe, selectors.EVENT_READ, self._read)
        if program.exit_descriptor is not None:
            self._selector.register(program.exit_descriptor, selectors.EVENT_READ, lambda: None)
        try:
            while not self._is_over(deadline):
                for key, _ in self._selector.select(self._seconds(deadline)):
                    key.data()
        finally:
            registered = self._selector.get_map()
            for descriptor in watched:
                if descriptor in registered:
                    self._selector.unregister(descriptor)
            self.ended_at = time.monotonic()
            self._ended = datetime.datetime.now(datetime.UTC)
        self._drain()
        if self.status is not None:
            self.failure = self._failure_of(self.status)

    def _seconds(self, deadline: float | None) -> float:
        now = time.monotonic()
        limits = [deadline, self._patience]
        seconds = min([self._detector.next_check(now), *(limit - now for limit in limits if limit is not None)])
        if self._program.exit_descriptor is None:
            seconds = min(seconds, _LOOK_SECONDS)
        return max(0.0, seconds)

    def _is_over(self, deadline: float | None) -> bool:
        self.status = self._program.exit_status()
        now = time.monotonic()
        if self.status is not None:
            return True
        if deadline is not None and now >= deadline:
            self.timed_out = True
            return True
        if self._requests.stop is not None or self._requests.restart:
            return self._ends_in_order(now)
        problem = self._detector.problem(now)
        if problem is not None:
            self._drain()
            problem = self._detector.problem(time.monotonic())  # the supervisor itself may have been stopped meanwhile
        if problem is not None:
            self.failure = JobFailure(problem)
        return problem is not None

    def _ends_in_order(self, now: float) -> bool:
        """Asks the program to end. Returns whether it has not done so in time, or must end at once."""
        if self._patience is None:
            self._patience = now + ORDERLY_SECONDS
            self._program.ask_to_end(self._requests.stop or signal.SIGTERM)
        return self._requests.at_once or now >= self._patience

    def end(self) -> None:
        """Ends everything that the attempt has started, and removes its temporary files."""
        if self._ended is None:
            self._ended = datetime.datetime.now(datetime.UTC)
        self._program.end(0.0 if self._requests.at_once else GRACE)
        remove(self._directory)

    # -- messages -----------------------------------------------------------------------------------------------------

    def _read(self) -> None:
        messages = self._program.reader.read()
        if messages is None:  # the program has closed the pipe
            self._selector.unregister(self._program.pipe)
            return
        for kind, content in messages:
            self._take(kind, content)

    def _drain(self) -> None:
        while messages := self._program.reader.read():
            for kind, content in messages:
                self._take(kind, content)

    def _take(self, kind: str, content: Any) -> None:
        match kind:
            case "beat":
                self._detector.beat(Beat(**content), time.monotonic())
            case "saved":
                self.saved += 1
                self.snapshot = content
            case "resumed":
                self._from = content if not self._has_begun else self._from
                self._has_begun = True
            case "result":
                self._first_result = content
            case "snapshots":
                self.on_directory(Path(content))
            case "error":
                element = content["element"]
                self._reported = JobFailure(
                    content["said"], content["final"], None if element is None else tuple(element)
                )

    # -- the result ---------------------------------------------------------------------------------------------------

    def _failure_of(self, status: int) -> JobFailure | None:
        if status == 0:
            return None
        if self._reported is not None:
            return self._reported
        if status < 0:
            return JobFailure(f"it was ended by {_name(-status)}")
        return JobFailure(f"its exit code is {status}")

    def attempt(self) -> Attempt:
        """The entry of the report."""
        recovered = None
        if self._before is not None and self._first_result is not None:
            recovered = max(0.0, self._first_result - self._before.ended_at)
        assert self._ended is not None
        return Attempt(self.began, self._ended, self._from, self._said(), recovered)

    def _said(self) -> str | None:
        if self._requests.stop is not None:
            return f"stopped by {_name(self._requests.stop)}"
        if self._requests.restart:
            return "restarted"
        if self.timed_out:
            return "timeout"
        return None if self.failure is None else self.failure.said

    @property
    def has_begun(self) -> bool:
        """Whether a job has resumed from its snapshot, or has started from scratch."""
        return self._has_begun


def _name(number: int | None) -> str:
    try:
        return signal.Signals(number or 0).name
    except ValueError:
        return f"signal {number}"

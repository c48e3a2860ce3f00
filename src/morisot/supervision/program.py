"""A supervised program: its process, its messages, and its end."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from morisot import processes
from morisot.supervision.messages import VARIABLE, Assignment, MessageReader
from morisot.supervision.scratch import variables

GRACE = 5.0
"""Seconds from SIGTERM to SIGKILL."""


class SupervisedProcess:
    """One process that runs the program. Its descendants are those of this process, the subreaper."""

    def __init__(self, target: str, arguments: list[str], directory: Path, **assignment: Any) -> None:
        self._exits: dict[int, int] = {}
        receiving, sending = os.pipe()
        assigned = Assignment(target, arguments, pipe=sending, parent=os.getpid(), **assignment)
        environ = {**os.environ, **variables(directory), VARIABLE: json.dumps(dataclasses.asdict(assigned))}
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "morisot.supervision.bootstrap"],
                env=environ,
                pass_fds=[sending],
                process_group=0,  # Ctrl-C at the terminal reaches only the supervisor, which ends the job in order
                stdin=subprocess.DEVNULL if sys.stdin is None or sys.stdin.isatty() else None,
            )
        except BaseException:
            os.close(receiving)
            raise
        finally:
            os.close(sending)
        self.pid = self._process.pid
        self.pipe = receiving
        self.reader = MessageReader(receiving)
        self.exit_descriptor: int | None = None
        """Readable when the process has ended, if the system has such descriptors."""
        with contextlib.suppress(AttributeError, OSError):
            self.exit_descriptor = os.pidfd_open(self.pid)

    def exit_status(self) -> int | None:
        """The exit status, negative for a signal; None while the process runs."""
        processes.reap(self._exits)
        return self._exits.get(self.pid)

    def ask_to_end(self, number: signal.Signals) -> None:
        """Sends a signal to the program, which ends its jobs in order."""
        processes.send(self.pid, number)

    def end(self, grace: float = GRACE) -> None:
        """Ends the process and everything that it has started, and releases its descriptors."""
        processes.end_descendants(grace, self._exits)
        self._process.returncode = self._exits.get(self.pid, -signal.SIGKILL)
        for descriptor in (self.pipe, self.exit_descriptor):
            if descriptor is not None:
                os.close(descriptor)

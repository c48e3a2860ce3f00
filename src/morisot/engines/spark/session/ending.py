"""Threads that jobs run on, and the end of those that still run when the program ends: before Spark does."""

from __future__ import annotations

import atexit
import contextlib
import threading
import time
import weakref
from collections.abc import Callable
from typing import Protocol

_STOPPING_SECONDS = 10.0


class Worker:
    """A thread of a job.

    After Ctrl-C has ended a `Thread.join`, Python takes the thread for one that has ended (bpo-45274).
    """

    def __init__(self, name: str, run: Callable[[], None]) -> None:
        self._run = run
        self._over = threading.Event()
        threading.Thread(target=self._run_to_end, name=f"morisot-{name}", daemon=True).start()

    def _run_to_end(self) -> None:
        try:
            self._run()
        finally:
            self._over.set()

    def is_alive(self) -> bool:
        return not self._over.is_set()

    def join(self, timeout: float | None = None) -> bool:
        """Wait for the end, at most `timeout` seconds; whether it came."""
        return self._over.wait(timeout)


class Runs(Protocol):
    """A part of a job that a thread of its own ends when it is asked to."""

    def ask_to_stop(self) -> None: ...

    def join(self, timeout: float | None) -> bool: ...


_running: weakref.WeakSet[Runs] = weakref.WeakSet()


_steps: list[Callable[[], object]] = []


def at_exit(step: Callable[[], object]) -> None:
    """Do something when the program ends, before what was registered earlier."""
    if not _steps:
        atexit.unregister(end)
        atexit.register(end)
    _steps.append(step)


def end() -> None:
    """Stop the jobs that still run, end Spark, remove temporary files."""
    stop_all()
    while _steps:
        step = _steps.pop()
        with contextlib.suppress(Exception):
            step()


def stop_at_exit(part: Runs) -> None:
    """Stop a part when the program ends, if it still runs then."""
    _running.add(part)


def stop_all() -> None:
    """Stop what still runs; Ctrl-C ends the wait."""
    with contextlib.suppress(KeyboardInterrupt):
        parts = list(_running)
        for part in parts:
            part.ask_to_stop()
        deadline = time.monotonic() + _STOPPING_SECONDS
        for part in parts:
            part.join(max(0.0, deadline - time.monotonic()))

"""Threads of jobs, which are ended before Spark when the program ends."""

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

    `Thread` is not enough: if Ctrl-C interrupts a `Thread.join`, Python assumes that the thread has ended (bpo-45274).
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
        """Waits for the end, at most `timeout` seconds. Returns whether the thread has ended."""
        return self._over.wait(timeout)


class Runs(Protocol):
    """A part of a job with its own thread, which can be stopped."""

    def ask_to_stop(self) -> None: ...

    def join(self, timeout: float | None) -> bool: ...


_running: weakref.WeakSet[Runs] = weakref.WeakSet()


_steps: list[Callable[[], object]] = []


def at_exit(step: Callable[[], object]) -> None:
    """Registers a step for the end of the program. It runs before those that were registered earlier."""
    if not _steps:
        atexit.unregister(end)
        atexit.register(end)
    _steps.append(step)


def end() -> None:
    """Stops running jobs, ends Spark, and removes temporary files."""
    stop_all()
    while _steps:
        step = _steps.pop()
        with contextlib.suppress(Exception):
            step()


def stop_at_exit(part: Runs) -> None:
    """Stops a part at the end of the program, if it still runs then."""
    _running.add(part)


def stop_all() -> None:
    """Stops all running parts. Ctrl-C ends the wait."""
    with contextlib.suppress(KeyboardInterrupt):
        parts = list(_running)
        for part in parts:
            part.ask_to_stop()
        deadline = time.monotonic() + _STOPPING_SECONDS
        for part in parts:
            part.join(max(0.0, deadline - time.monotonic()))

"""Ctrl-C and SIGTERM while the main thread waits for Spark.

py4j loses its connection to the JVM, and Spark's job with it, if an exception is raised in the middle of a call. So the
exception for a signal that arrives during a call is postponed: other threads cancel the job, and it is raised as soon
as the call returns. A second Ctrl-C, or a call that does not return, raises it immediately.

A handler that the user has installed is not replaced. An exception of that handler ends the action, too.
"""

from __future__ import annotations

import _thread
import contextlib
import functools
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

from morisot.engines.spark.session.ending import end

TERMINATED = 128 + signal.SIGTERM
"""The exit status of a process that SIGTERM ended."""
_PATIENCE = 3.0
"""Seconds to wait for a call to return after its job was cancelled."""
_GRACE = 10.0
"""Seconds until a program is ended after SIGTERM."""
_LOOK_SECONDS, _CANCEL_SECONDS = 0.02, 0.2
_CLOSING_SECONDS = 2.0

Handler = Callable[[int, FrameType | None], Any] | int | signal.Handlers | None
Postpones = Callable[[FrameType | None], bool]
"""Tests whether an exception must be postponed at a frame."""


def in_call_to_jvm(frame: FrameType | None) -> bool:
    """Whether the program is inside a py4j call."""
    while frame is not None:
        if str(frame.f_globals.get("__name__", "")).startswith("py4j."):
            return True
        frame = frame.f_back
    return False


def anywhere(_: FrameType | None) -> bool:
    """Always postpones an exception."""
    return True


@contextlib.contextmanager
def interruptible(cancel: Callable[[], object], postpones: Postpones = in_call_to_jvm) -> Iterator[None]:
    """Lets a signal end the block. `cancel` is called from other threads until the block has ended."""
    if _active is not None or not _is_ours_to_handle():
        with _ended_by_others(cancel):
            yield
        return
    watch = _Watch(cancel, postpones)
    before = _handler_before()
    try:
        watch.open()
        signal.signal(signal.SIGINT, watch.on_interrupt)
        yield
    except BaseException as error:
        watch.note(error)
        raise
    finally:
        watch.close()
        signal.signal(signal.SIGINT, before)
        watch.raise_pending()


@contextlib.contextmanager
def handler_as_before() -> Iterator[None]:
    """Restores the handler for Ctrl-C that PySpark replaces: PySpark's cancels all jobs, also those of streams."""
    if not _in_main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGINT) is not before:
            signal.signal(signal.SIGINT, before)


@contextlib.contextmanager
def ending_in_order() -> Iterator[None]:
    """Installs the handler for SIGTERM, unless the user has one. It is not installed if the block fails."""
    if not _in_main_thread() or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    except Exception:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        raise


def terminate(_signal: int, frame: FrameType | None) -> None:
    """The handler for SIGTERM: ends the program by an exception that unwinds it.

    A program that catches the exception, as test runners do, is ended after a timeout.
    """
    _end_later()
    if _active is not None:
        _active.receive(SystemExit(TERMINATED), frame)
    else:
        raise SystemExit(TERMINATED)


@functools.cache
def _end_later() -> None:
    threading.Thread(target=_end_anyway, name="morisot-terminate", daemon=True).start()


def _end_anyway() -> None:
    time.sleep(_GRACE)
    end()
    os._exit(TERMINATED)


def was_interrupted(error: BaseException | None) -> bool:
    """Whether Ctrl-C caused an error: PySpark cleans up over the connection that was broken, and fails."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        if isinstance(error, KeyboardInterrupt):
            return True
        seen.add(id(error))
        error = error.__context__
    return False


def is_ending() -> bool:
    """Whether a signal has ended the current block of the main thread: its job was cancelled, and did not fail."""
    return _in_main_thread() and _active is not None and _active.was_signalled


def _is_ours_to_handle() -> bool:
    """Whether Ctrl-C has Python's handler, or PySpark's."""
    handler = signal.getsignal(signal.SIGINT)
    replaceable = {"pyspark.core.context", __name__}
    return _in_main_thread() and (handler is signal.default_int_handler or _module(handler) in replaceable)


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def _module(handler: object) -> str | None:
    return getattr(handler, "__module__", None)


def _handler_before() -> Handler:
    """The handler to restore. One of an interrupted block is not restored."""
    handler = signal.getsignal(signal.SIGINT)
    return signal.default_int_handler if _module(handler) == __name__ else handler


class _Watch:
    """One block of the main thread, and the signals that arrive during it."""

    def __init__(self, cancel: Callable[[], object], postpones: Postpones) -> None:
        self._cancel = cancel
        self._postpones = postpones
        self._wanted: BaseException | None = None
        """The exception to raise for the signal."""
        self._deadline = 0.0
        self._raised = False
        self._looking = False
        """Whether the next call of the handler is not a signal, but a check of the current frame."""
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []

    @property
    def was_signalled(self) -> bool:
        return self._wanted is not None

    def open(self) -> None:
        global _active  # noqa: PLW0603 - a process has one main thread
        _active = self

    def on_interrupt(self, _signal: int, frame: FrameType | None) -> None:
        """The handler for SIGINT."""
        if _active is not self:  # the signal arrived while the block began or ended
            raise KeyboardInterrupt
        if self._looking:
            self._looking = False
            self._raise_if_possible(frame)
        else:
            self.receive(KeyboardInterrupt(), frame)

    def receive(self, wanted: BaseException, frame: FrameType | None) -> None:
        """Handles a signal, for which an exception is to be raised."""
        if self._wanted is not None:  # the second signal: raise immediately
            self._deadline = 0.0
            self._raised = False
            self._wanted = wanted
        else:
            self._wanted = wanted
            self._deadline = time.monotonic() + _PATIENCE
            for work in (self._keep_cancelling, self._keep_checking):
                self._threads.append(threading.Thread(target=work, name="morisot-interrupt", daemon=True))
                self._threads[-1].start()
        self._raise_if_possible(frame)

    def _raise_if_possible(self, frame: FrameType | None) -> None:
        if self._wanted is None or self._raised:
            return
        if time.monotonic() >= self._deadline or not self._postpones(frame):
            self._raised = True
            raise self._wanted

    def _keep_cancelling(self) -> None:
        while True:
            with contextlib.suppress(Exception):
                self._cancel()
            if self._over.wait(_CANCEL_SECONDS):
                return

    def _keep_checking(self) -> None:
        while not self._over.wait(_LOOK_SECONDS):
            with self._lock:
                if self._raised or self._over.is_set():
                    continue
                self._looking = True
                _signal_main_thread()

    def note(self, error: BaseException) -> None:
        """Called when an exception ended the block, which the signal may have caused."""
        if self._wanted is None and was_interrupted(error):
            self._wanted = KeyboardInterrupt()

    def close(self) -> None:
        global _active  # noqa: PLW0603 - a process has one main thread
        with self._lock:
            self._over.set()
        self._raised = True  # the exception is raised below
        if self._threads:  # also cancels a job that started late
            deadline = time.monotonic() + _CLOSING_SECONDS
            for thread in self._threads:
                thread.join(max(0.0, deadline - time.monotonic()))
        _active = None

    def raise_pending(self) -> None:
        if self._wanted is not None:
            raise type(self._wanted)(*self._wanted.args) from None


def _signal_main_thread() -> None:
    """Makes the main thread call its handler, also during a system call."""
    main = threading.main_thread().ident
    if main is not None and hasattr(signal, "pthread_kill"):
        signal.pthread_kill(main, signal.SIGINT)
    else:
        _thread.interrupt_main(signal.SIGINT)


_active: _Watch | None = None


@contextlib.contextmanager
def _ended_by_others(cancel: Callable[[], object]) -> Iterator[None]:
    """Cancels running jobs if a user's handler, or that of an enclosing block, has raised."""
    try:
        yield
    except BaseException as error:
        interrupted = was_interrupted(error)
        if interrupted or not isinstance(error, Exception):
            canceller = threading.Thread(target=_quietly, args=(cancel,), name="morisot-interrupt", daemon=True)
            canceller.start()
            canceller.join(_CLOSING_SECONDS)
        if interrupted:
            raise KeyboardInterrupt from None
        raise


def _quietly(cancel: Callable[[], object]) -> None:
    with contextlib.suppress(Exception):
        cancel()

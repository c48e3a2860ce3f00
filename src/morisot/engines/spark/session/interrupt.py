"""Ctrl-C and SIGTERM while Spark works for the main thread.

py4j loses its connection to the JVM, and Spark's job with it, if an exception is raised in the middle of a call. So a
signal that arrives there is kept: other threads cancel the job, and the exception is raised as soon as the call is
over. A second Ctrl-C, or a call that does not end, raises it wherever the program is.

A handler that the user has installed is left alone. What it raises ends the action, too.
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
"""Seconds that a call is given to end after its job was cancelled."""
_GRACE = 10.0
"""Seconds that a program has to end after SIGTERM."""
_LOOK_SECONDS, _CANCEL_SECONDS = 0.02, 0.2
_CLOSING_SECONDS = 2.0

Handler = Callable[[int, FrameType | None], Any] | int | signal.Handlers | None
Postpones = Callable[[FrameType | None], bool]
"""Whether an exception must not be raised where the program is."""


def in_call_to_jvm(frame: FrameType | None) -> bool:
    """Whether the program is inside a call of py4j's."""
    while frame is not None:
        if str(frame.f_globals.get("__name__", "")).startswith("py4j."):
            return True
        frame = frame.f_back
    return False


def anywhere(_: FrameType | None) -> bool:
    """Postpone an exception wherever the program is."""
    return True


@contextlib.contextmanager
def interruptible(cancel: Callable[[], object], postpones: Postpones = in_call_to_jvm) -> Iterator[None]:
    """Let a signal end the block: `cancel` is called from other threads until the block has ended."""
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
        watch.raise_what_came()


@contextlib.contextmanager
def handler_as_before() -> Iterator[None]:
    """Put back the handler for Ctrl-C that PySpark replaces: its own cancels all jobs, and those of streams fail."""
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
    """Let SIGTERM unwind the program from now on, unless the user has a handler for it; not if the block fails."""
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
    """The handler for SIGTERM: end the program in order, by an exception that unwinds it.

    A program that catches the exception, as test runners do, is ended after a while all the same.
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
    """Whether Ctrl-C is behind an error: PySpark tidies up over the connection that it broke, and fails at that."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        if isinstance(error, KeyboardInterrupt):
            return True
        seen.add(id(error))
        error = error.__context__
    return False


def _is_ours_to_handle() -> bool:
    """Whether Ctrl-C has the handler of Python, or the one that PySpark puts in its place."""
    handler = signal.getsignal(signal.SIGINT)
    replaceable = {"pyspark.core.context", __name__}
    return _in_main_thread() and (handler is signal.default_int_handler or _module(handler) in replaceable)


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def _module(handler: object) -> str | None:
    return getattr(handler, "__module__", None)


def _handler_before() -> Handler:
    """The handler to put back; one that an interrupted block has left here is not wanted."""
    handler = signal.getsignal(signal.SIGINT)
    return signal.default_int_handler if _module(handler) == __name__ else handler


class _Watch:
    """One block of the main thread, and the signals that arrive meanwhile."""

    def __init__(self, cancel: Callable[[], object], postpones: Postpones) -> None:
        self._cancel = cancel
        self._postpones = postpones
        self._wanted: BaseException | None = None
        """What the signal asks for."""
        self._deadline = 0.0
        self._raised = False
        self._looking = False
        """Whether the next call of the handler is no signal, but a look at where the program is."""
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []

    def open(self) -> None:
        global _active  # noqa: PLW0603 - a process has one main thread
        _active = self

    def on_interrupt(self, _signal: int, frame: FrameType | None) -> None:
        """The handler for SIGINT."""
        if _active is not self:  # the block was interrupted as it began or ended
            raise KeyboardInterrupt
        if self._looking:
            self._looking = False
            self._raise_if_possible(frame)
        else:
            self.receive(KeyboardInterrupt(), frame)

    def receive(self, wanted: BaseException, frame: FrameType | None) -> None:
        """A signal asks for an exception."""
        if self._wanted is not None:  # the second: no more patience
            self._deadline = 0.0
            self._raised = False
            self._wanted = wanted
        else:
            self._wanted = wanted
            self._deadline = time.monotonic() + _PATIENCE
            for work in (self._keep_cancelling, self._keep_looking):
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

    def _keep_looking(self) -> None:
        while not self._over.wait(_LOOK_SECONDS):
            with self._lock:
                if self._raised or self._over.is_set():
                    continue
                self._looking = True
                _signal_main_thread()

    def note(self, error: BaseException) -> None:
        """The block was left by an exception, which may be one that the signal caused."""
        if self._wanted is None and was_interrupted(error):
            self._wanted = KeyboardInterrupt()

    def close(self) -> None:
        global _active  # noqa: PLW0603 - a process has one main thread
        with self._lock:
            self._over.set()
        self._raised = True  # what was asked for is raised below
        if self._threads:  # a job that began late is cancelled, too
            deadline = time.monotonic() + _CLOSING_SECONDS
            for thread in self._threads:
                thread.join(max(0.0, deadline - time.monotonic()))
        _active = None

    def raise_what_came(self) -> None:
        if self._wanted is not None:
            raise type(self._wanted)(*self._wanted.args) from None


def _signal_main_thread() -> None:
    """Let the main thread call its handler, also where it waits for the system."""
    main = threading.main_thread().ident
    if main is not None and hasattr(signal, "pthread_kill"):
        signal.pthread_kill(main, signal.SIGINT)
    else:
        _thread.interrupt_main(signal.SIGINT)


_active: _Watch | None = None


@contextlib.contextmanager
def _ended_by_others(cancel: Callable[[], object]) -> Iterator[None]:
    """Cancel what runs if a handler of the user's has raised, or one of a block around this one."""
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

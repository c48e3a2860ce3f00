"""Requests to end or restart a program, by signals or over the control socket."""

from __future__ import annotations

import contextlib
import selectors
import signal
import socket
from collections.abc import Iterator
from types import FrameType
from typing import Any


class Requests:
    """What was requested since the supervisor has begun."""

    def __init__(self) -> None:
        self.stop: signal.Signals | None = None
        """The signal that stops the program."""
        self.at_once = False
        """Whether a second request does not let the program end in order."""
        self.restart = False
        """Whether the program should end, and start again."""
        self._from: str | int | None = None

    @property
    def exit_code(self) -> int:
        return 128 + (self.stop or 0)

    def ask_to_stop(self, number: signal.Signals) -> None:
        """The first request ends the program in order, the second one at once."""
        if self.stop is None:
            self.stop = number
        else:
            self.at_once = True

    def ask_to_restart(self, snapshot: str | int | None) -> None:
        """Requests a new attempt, from a snapshot or from the latest one."""
        self.restart, self._from = True, snapshot

    def take_restart(self, snapshots: dict[str, Any]) -> bool:
        """Whether a restart was requested. Sets the snapshot in the settings of the next attempt."""
        requested, self.restart = self.restart, False
        if requested:
            snapshots["restart"] = "latest" if self._from is None else self._from
        return requested

    @contextlib.contextmanager
    def listening(self, selector: selectors.BaseSelector) -> Iterator[None]:
        """Takes SIGINT, SIGTERM and SIGHUP during a block. A signal ends the wait of the selector."""
        waking, woken = socket.socketpair()
        waking.setblocking(False)
        woken.setblocking(False)
        former = signal.set_wakeup_fd(woken.fileno(), warn_on_full_buffer=False)
        numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        before = {number: signal.signal(number, self._take) for number in numbers}
        selector.register(waking, selectors.EVENT_READ, lambda: waking.recv(64))
        try:
            yield
        finally:
            selector.unregister(waking)
            for number, handler in before.items():
                signal.signal(number, handler)
            signal.set_wakeup_fd(former)
            waking.close()
            woken.close()

    def _take(self, number: int, _: FrameType | None) -> None:
        self.ask_to_stop(signal.SIGINT if number == signal.SIGINT else signal.SIGTERM)

"""What a supervised program tells its supervisor, over a pipe: lines of JSON."""

from __future__ import annotations

import json
import os
import threading
from dataclasses import dataclass
from typing import Any

VARIABLE = "MORISOT_SUPERVISED"
"""The environment variable with the assignment of a program."""
SCRATCH_VARIABLE = "MORISOT_ATTEMPT"
"""The environment variable with the scratch directory of an attempt, in all of its processes."""
_LONGEST = 4000


@dataclass(frozen=True)
class Assignment:
    """What the bootstrap of a program needs."""

    target: str
    arguments: list[str]
    pipe: int
    parent: int
    heartbeat: float
    settings: dict[str, Any]
    snapshots: dict[str, Any]
    poison: str | None = None


@dataclass(frozen=True)
class Beat:
    """A heartbeat."""

    tick: int = 0
    progress: int = 0
    work: int = 0
    """A number that changes while tasks make progress."""
    waiting: bool = False
    """Whether input waits."""
    engine: int | None = None
    """The process of the engine."""
    silence: float = 0.0
    """Seconds since the engine has answered."""


class Reporter:
    """The program's end of the pipe."""

    def __init__(self, pipe: int) -> None:
        self._pipe = pipe
        self._lock = threading.Lock()
        os.set_inheritable(pipe, False)

    def send(self, kind: str, content: Any) -> None:
        """Sends a message. Does nothing if there is no supervisor any more, or in a forked process."""
        line = json.dumps([kind, content]).encode() + b"\n"
        try:
            with self._lock:
                os.write(self._pipe, line)
        except OSError:
            return


def shortened(text: str) -> str:
    """A text that fits into a message."""
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"


class MessageReader:
    """The supervisor's end of the pipe."""

    def __init__(self, pipe: int) -> None:
        self._pipe = pipe
        self._rest = b""
        os.set_blocking(pipe, False)

    def read(self) -> list[tuple[str, Any]] | None:
        """The new messages; None at the end of the pipe. A line that is no message is ignored: the program wrote it."""
        try:
            chunk = os.read(self._pipe, 65536)
        except BlockingIOError:
            return []
        if not chunk:
            return None
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        return [message for line in lines if (message := _parsed(line)) is not None]


def _parsed(line: bytes) -> tuple[str, Any] | None:
    try:
        found = json.loads(line)
    except ValueError:
        return None
    if isinstance(found, list) and len(found) == 2 and isinstance(found[0], str):
        return found[0], found[1]
    return None

"""Judges by its heartbeats whether a program is stuck or stalls."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from morisot.supervision.messages import Beat
from morisot.supervision.settings import Supervision

INTERVALS = 3
"""Heartbeats that a program may miss."""
_BURNING = 0.05
"""The share of a processor from which on a process without heartbeats is taken to compute."""


@dataclass
class _Clock:
    """The last sign of a process, and its processor time then."""

    pid: int
    at: float
    cpu: float


class Detector:
    """The state of one attempt. The caller passes the time, and a function for the processor time of a process."""

    def __init__(self, settings: Supervision, pid: int, now: float, cpu: Callable[[int], float]) -> None:
        self._settings = settings
        self._cpu = cpu
        self._began = now
        self._program = _Clock(pid, now, 0.0)
        self._engine: _Clock | None = None
        self._last: Beat | None = None
        self._progressed = now

    @property
    def has_begun(self) -> bool:
        """Whether there was a heartbeat."""
        return self._last is not None

    def beat(self, beat: Beat, now: float) -> None:
        """Takes a heartbeat."""
        before = self._last
        self._program = _Clock(self._program.pid, now, self._cpu(self._program.pid))
        moved = before is None or (beat.progress, beat.work) != (before.progress, before.work)
        if moved or not beat.waiting:
            self._progressed = now
        if beat.engine is None:
            self._engine = None
        elif self._engine is None or self._engine.pid != beat.engine or beat.silence < self._settings.heartbeat:
            self._engine = _Clock(beat.engine, now - beat.silence, self._cpu(beat.engine))
        self._last = beat

    def problem(self, now: float) -> str | None:
        """Why the program must be ended; None if it need not be."""
        if self._last is None:
            limit = self._settings.start_timeout
            return f"it sent no heartbeat within {limit:g} s of its start" if now - self._began >= limit else None
        return (
            self._missed(self._program, now, "it sent no heartbeat")
            or self._missed(self._engine_if_asked(), now, "Spark's JVM did not answer")
            or self._stalled(now)
        )

    def _engine_if_asked(self) -> _Clock | None:
        return self._engine if self._last is not None and self._last.silence > 0 else None

    def _missed(self, clock: _Clock | None, now: float, what: str) -> str | None:
        limit = INTERVALS * self._settings.heartbeat
        if clock is None or now - clock.at < limit:
            return None
        if self._cpu(clock.pid) - clock.cpu > _BURNING * (now - clock.at):
            # It computes: a call that holds the interpreter's lock, or a garbage collection.
            return self._no_progress(now)
        return f"{what} for {INTERVALS} intervals of {self._settings.heartbeat:g} s"

    def _stalled(self, now: float) -> str | None:
        return self._no_progress(now) if self._last is not None and self._last.waiting else None

    def _no_progress(self, now: float) -> str | None:
        limit = self._settings.stall
        if now - self._progressed < limit:
            return None
        return f"it made no progress for {limit:g} s while input was waiting"

    def next_check(self, now: float) -> float:
        """Seconds until the state may change without a heartbeat."""
        if self._last is None:
            return max(0.0, self._began + self._settings.start_timeout - now)
        missed = INTERVALS * self._settings.heartbeat
        limits = [self._program.at + missed, self._progressed + self._settings.stall]
        if self._engine is not None:
            limits.append(self._engine.at + missed)
        return max(0.01, min([limit - now for limit in limits if limit > now], default=self._settings.heartbeat / 4))

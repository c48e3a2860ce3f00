"""Warns of snapshots that take longer than their interval allows."""

from __future__ import annotations

from morisot.runtime.tally import say

_FACTOR = 2.0


class SnapshotLag:
    """The warning of one job, which is printed once."""

    def __init__(self, name: str, interval: float | None) -> None:
        self._name = name
        self._interval = interval

    def note(self, seconds: float) -> None:
        """Called with the time between two snapshots."""
        if self._interval is not None and seconds > _FACTOR * self._interval:
            say([f"{self._name}: {seconds:.1f} s between two snapshots; every={self._interval:g} s was requested"])
            self._interval = None

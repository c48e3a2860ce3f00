"""Idle inputs: their watermarks are advanced to those of the other inputs, so that they do not delay them.

Spark's watermark is the minimum of all inputs, and that of each input only grows. So an idle input gets a row with the
watermark of the others, whenever that has advanced. The row is not an element; it only advances the watermark.
"""

from __future__ import annotations

import datetime
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from morisot.engines.spark.emit.stateful.watermarks import observed_as
from morisot.plan.nodes.node import Node
from morisot.plan.nodes.time import that_may_idle
from morisot.private import private_file

_EVERY_SECONDS = 1.0
"""The minimum seconds between advances of an input: each advance is a file, and an entry in a Spark log."""
_RETAINED = 3
"""The number of retained files that advance an input. Spark reads all of them."""


@dataclass
class _Input:
    """An input with its own watermark."""

    title: str
    name: str
    """The name of the metric with its elements."""
    directory: Path
    timeout: float | None
    """Seconds without elements after which it is idle; None: never."""
    last_element: float
    """When it last had new elements."""
    last_polled: float
    """When Spark last polled it."""
    watermark: int | None = None
    """Its watermark in milliseconds."""
    last_advanced: float = 0.0
    files: deque[Path] = field(default_factory=deque)
    """The retained files that advance it."""

    @property
    def is_idle(self) -> bool:
        return self.timeout is not None and self.last_polled - self.last_element >= self.timeout


class IdleInputs:
    """The inputs of one streaming query, from its start on."""

    def __init__(self, nodes: Sequence[Node], directory: Path, now: float | None = None) -> None:
        now = time.time() if now is None else now
        self._inputs = [
            _Input(
                node.title,
                observed_as(number := nodes.index(node)),
                directory / str(number),
                None if node.idle is None else node.idle / 1000,
                now,
                now,
            )
            for node in that_may_idle(nodes)
        ]
        for each in self._inputs:
            if each.directory.exists():
                for file in each.directory.iterdir():
                    file.unlink()

    @property
    def may_advance(self) -> bool:
        """Whether the user has set an idle time for some input."""
        return bool(self._inputs)

    @property
    def idle(self) -> list[str]:
        """The titles of the idle inputs."""
        return [each.title for each in self._inputs if each.is_idle]

    def note(self, progress: Mapping[str, Any]) -> None:
        """Records the elements and watermarks of the inputs in a micro-batch."""
        started = datetime.datetime.fromisoformat(progress["timestamp"]).timestamp()
        ended = started + int(progress["batchDuration"]) / 1000
        observed = progress["observedMetrics"] or {}
        for each in self._inputs:
            seen = observed.get(each.name)
            if seen is not None and seen["elements"]:
                each.last_element = ended
                both = (each.watermark, seen["mark"])
                each.watermark = max((each for each in both if each is not None), default=None)
            else:
                each.last_polled = max(each.last_polled, started)

    def advance(self, *, isDataAvailable: bool, isTriggerActive: bool, now: float | None = None, **_: Any) -> None:  # noqa: N803 - Spark's names
        """Advances idle inputs to the watermark of the others. It is called with Spark's status of the query."""
        now = time.time() if now is None else now
        if not isDataAvailable and not isTriggerActive:
            for each in self._inputs:
                each.last_polled = now
        idle = [each for each in self._inputs if each.is_idle]
        watermark = self._watermark_without(idle) if idle else None
        for each in idle:
            is_behind = watermark is not None and (each.watermark is None or each.watermark < watermark)
            if watermark is not None and is_behind and now - each.last_advanced >= _EVERY_SECONDS:
                self._advance(each, watermark, now)

    def _watermark_without(self, idle: Sequence[_Input]) -> int | None:
        """The watermark of the inputs that are not idle; if all are idle, the latest one."""
        watermarks = [each.watermark for each in self._inputs if each not in idle]
        if not watermarks:
            return max((each.watermark for each in self._inputs if each.watermark is not None), default=None)
        known = [each for each in watermarks if each is not None]
        return min(known) if len(known) == len(watermarks) else None

    @staticmethod
    def _advance(one: _Input, watermark: int, now: float) -> None:
        # a new name, because Spark ignores files that it has read before, also before a restart
        name = str(time.time_ns())
        beside = one.directory / f".{name}"  # Spark ignores files with this prefix
        with private_file(beside) as out:
            out.write(str(watermark).encode())
        one.files.append(beside.rename(one.directory / name))
        if len(one.files) > _RETAINED:
            one.files.popleft().unlink(missing_ok=True)
        one.watermark, one.last_advanced = watermark, now

"""Inputs that fall silent: they are told how far the others are, so that they do not hold those up.

Spark's watermark is the smallest of all inputs, and each input's only grows. So a silent input is given a row that says
how far the others are, whenever they have moved on. It is no element, and moves nothing but that input's watermark.
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
"""An input is not told the time more often than this: each time is a file, and an entry in a log of Spark's."""
_KEPT = 3
"""So many of the files stay that tell an input the time; of those that are gone, Spark reads what is left."""


@dataclass
class _Input:
    """An input that says how far time is."""

    title: str
    name: str
    """Under which the query counts its elements."""
    directory: Path
    patience: float | None
    """Seconds after which it counts as silent; None: never."""
    heard: float
    """When it last gave elements."""
    asked: float
    """When it last was asked for some."""
    mark: int | None = None
    """How far it is, in milliseconds."""
    last_told: float = 0.0
    files: deque[Path] = field(default_factory=deque)
    """Those that tell it how far the others are, and are still there."""

    @property
    def is_silent(self) -> bool:
        return self.patience is not None and self.asked - self.heard >= self.patience


class Silence:
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
    def may_come(self) -> bool:
        """Whether the user said of some input after how long it is silent."""
        return bool(self._inputs)

    @property
    def silent(self) -> list[str]:
        """The inputs that hold nothing up at the moment."""
        return [each.title for each in self._inputs if each.is_silent]

    def note(self, progress: Mapping[str, Any]) -> None:
        """What the inputs gave in a micro-batch."""
        started = datetime.datetime.fromisoformat(progress["timestamp"]).timestamp()
        ended = started + int(progress["batchDuration"]) / 1000
        observed = progress["observedMetrics"] or {}
        for each in self._inputs:
            seen = observed.get(each.name)
            if seen is not None and seen["elements"]:
                each.heard = ended
                each.mark = max((mark for mark in (each.mark, seen["mark"]) if mark is not None), default=None)
            else:
                each.asked = max(each.asked, started)

    def tell(self, *, isDataAvailable: bool, isTriggerActive: bool, now: float | None = None, **_: Any) -> None:  # noqa: N803 - Spark's names
        """Tell silent inputs how far the others are, if those have moved on; Spark may say that it waits for data."""
        now = time.time() if now is None else now
        if not isDataAvailable and not isTriggerActive:
            for each in self._inputs:
                each.asked = now
        silent = [each for each in self._inputs if each.is_silent]
        mark = self._mark_without(silent) if silent else None
        for each in silent:
            is_behind = mark is not None and (each.mark is None or each.mark < mark)
            if mark is not None and is_behind and now - each.last_told >= _EVERY_SECONDS:
                self._tell(each, mark, now)

    def _mark_without(self, silent: Sequence[_Input]) -> int | None:
        """How far those are that are not silent; if all are, the one that is furthest."""
        marks = [each.mark for each in self._inputs if each not in silent]
        if not marks:
            return max((each.mark for each in self._inputs if each.mark is not None), default=None)
        known = [mark for mark in marks if mark is not None]
        return min(known) if len(known) == len(marks) else None

    @staticmethod
    def _tell(one: _Input, mark: int, now: float) -> None:
        name = str(time.time_ns())  # Spark knows the names of all files that it has read, also before a restart
        beside = one.directory / f".{name}"  # it does not look at names that begin so
        with private_file(beside) as out:
            out.write(str(mark).encode())
        one.files.append(beside.rename(one.directory / name))
        if len(one.files) > _KEPT:
            one.files.popleft().unlink(missing_ok=True)
        one.mark, one.last_told = mark, now

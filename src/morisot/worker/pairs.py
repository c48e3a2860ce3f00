"""The machines of operators with two inputs, whose elements come to them as one stream.

An element is `(side, left, right)`: side 0 with a left element, side 1 with a right one, and None for the other.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from morisot.worker.machine import Emit


@dataclass(frozen=True)
class Zipper:
    """The first element of one side with the first of the other, and so on; those without a partner yet wait."""

    def start(self) -> Any:
        return 0, deque()

    def take(self, state: Any, key: Any, values: Sequence[Any], times: Sequence[int] | None, emit: Emit) -> Any:
        waiting_side, waiting = state
        for place, (side, left, right) in enumerate(values):
            value, time = (right if side else left), (times[place] if times else None)
            if not waiting or side == waiting_side:
                waiting_side = side
                waiting.append((value, time))
                continue
            partner, earlier = waiting.popleft()
            pair = (partner, value) if side else (value, partner)
            emit(place, pair, None if time is None else max(time, earlier))
        return waiting_side, waiting

    def end(self, state: Any, key: Any, emit: Emit) -> None:
        """What waits has no partner."""

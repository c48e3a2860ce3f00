"""Rounds of a loop in machine code: the body and the fold over columns of numbers, with the state as a parameter."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

from morisot.types.array import flat, rebuilt
from morisot.types.element import Type
from morisot.worker.rowwise import kernels

_DONE, _IN_FOLD = 0, 2
MOST_ODD = 1_000
"""The most elements of a round that are processed in Python one by one. With more, the whole round runs in Python."""


@dataclass(frozen=True)
class LoopKernel:
    """The text of a loop over rows, and its inputs."""

    functions: str
    loop: str
    columns: tuple[int, ...]
    """The leaves of an element that it reads."""
    state: Type | None
    """The type of the state; None if it is not read."""
    delta: Type
    outputs: int
    """The number of leaves of an element of the next round; 0 if there is no feedback."""
    writes: bool
    """Whether the fold writes to arrays: then a row on which it failed cannot be processed in Python afterwards."""
    constants: tuple[Any, ...] = ()
    """The arrays that the functions captured."""


_compiled_here: set[tuple[str, str]] = set()


def is_compiled(kernel: LoopKernel) -> bool:
    """Whether an earlier loop of this process was compiled from the same text."""
    return (kernel.functions, kernel.loop) in _compiled_here


@functools.lru_cache(maxsize=32)
def machine_code(functions: str, loop: str) -> Any:
    """The compiled loop; None if this process cannot run it exactly."""
    try:
        _compiled_here.add((functions, loop))
        return kernels.compiled_text(functions, loop)
    except kernels.Unavailable:
        return None


@dataclass
class MachineRound:
    """Runs rounds over columns that stay in memory."""

    kernel: LoopKernel
    code: Any
    columns: list[Any]
    rows: int

    def run(self, state: Any, delta: Any, repair: Any) -> tuple[int, Any, list[Any]] | None:
        """The number of elements that the body emitted, their delta and columns; None if Python has to run the round.

        `repair(row, delta)` processes one element in Python. It returns the output as rows of leaves, and the delta.
        """
        import numpy as np

        states = [] if self.kernel.state is None else flat(state, self.kernel.state)
        deltas = flat(delta, self.kernel.delta)
        if states is None or deltas is None:
            return None
        outputs = [np.empty(self.rows, self.columns[index].dtype) for index in range(self.kernel.outputs)]
        inputs = [self.columns[index] for index in self.kernel.columns]
        constants = [np.ascontiguousarray(array) for array in self.kernel.constants]
        start = count = odd = 0
        while True:
            start, count, how, *numbers = self.code(
                start, self.rows, count, *inputs, *outputs, *states, *constants, *deltas
            )
            deltas = _updated(deltas, numbers)
            if how == _DONE:
                break
            odd += 1
            if odd > MOST_ODD or (how == _IN_FOLD and self.kernel.writes):
                return None
            repaired = repair(start, rebuilt(list(deltas), self.kernel.delta))
            if repaired is None:
                return None
            rows, delta = repaired
            deltas = flat(delta, self.kernel.delta)
            if deltas is None or (self.kernel.outputs and len(rows) > 1):
                return None
            for row in rows:
                for column, value in zip(outputs, row, strict=False):
                    column[count] = value
                count += 1
            start += 1
        return count, rebuilt(list(deltas), self.kernel.delta), [column[:count] for column in outputs]


def _updated(deltas: list[Any], numbers: list[Any]) -> list[Any]:
    """The parts of a delta with its new numbers. Arrays were changed in place."""
    new = iter(numbers)
    return [part if hasattr(part, "dtype") else next(new) for part in deltas]

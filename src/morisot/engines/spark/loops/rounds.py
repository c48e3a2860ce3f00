"""The rounds of a loop in the driver, for all ways in which the body runs."""

from __future__ import annotations

import copy
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from morisot.engines.spark.checkpoints.loops import LoopSaves, Saved
from morisot.engines.spark.checkpoints.snapshot_files import Digest
from morisot.plan.nodes.closure import Closure
from morisot.plan.nodes.iterate import Loop
from morisot.runtime.activity import ACTIVITY
from morisot.runtime.metrics import LoopMetrics
from morisot.worker.report.failure import element_error


@dataclass
class Progress:
    """The progress of a loop."""

    loop: str
    rounds: int = 0
    first_round: int = 0
    """The number of rounds before, in the run that wrote the snapshot."""
    continues: bool | None = None
    """The last result of the condition."""
    elements: int = 0
    """The number of elements that the body emitted in the last round."""
    seconds: float = 0.0
    """The duration of all rounds."""
    last_seconds: float = 0.0
    most_rounds: int = 0
    running: bool = False

    def __str__(self) -> str:
        """One line for the terminal."""
        pace = f"{self.last_seconds * 1000:.3g} ms a round"
        return f"{self.loop}: round {self.rounds + 1} of {self.most_rounds}, {pace}, {self.elements} elements"

    def count(self, number: int, continues: bool, elements: int, seconds: float) -> None:
        """Records a round."""
        self.rounds = number
        self.continues = continues
        self.elements = elements
        self.seconds += seconds
        ACTIVITY.note_progress()
        self.last_seconds = seconds

    def metrics(self) -> LoopMetrics:
        """The metrics of `ctx.metrics()`."""
        return {
            "loop": self.loop,
            "rounds": self.rounds,
            "first_round": self.first_round,
            "condition": self.continues,
            "elements": self.elements,
            "seconds": self.seconds,
            "seconds_per_round": self.seconds / max(1, self.rounds - self.first_round),
            "last_round_seconds": self.last_seconds,
        }


class Rounds:
    """Folds the deltas of each round into the state and decides whether another one follows."""

    def __init__(self, loop: Loop, progress: Progress, saves: LoopSaves | None = None) -> None:
        self.loop = loop
        self.saves = saves
        self._writing: Path | None = None
        self._last_elements = 0
        self.progress = progress
        self.number = 0
        self.over = False
        self.elements = 0
        self.state: Any = None
        self._began = time.perf_counter()
        self.saved: Saved | None = None
        self.rewind()
        progress.rounds = progress.first_round = self.number

    def rewind(self) -> None:
        """Goes back to the last snapshot, or to the first round."""
        self.saved = self.saves.latest() if self.saves is not None else None
        if self.saved is not None:
            self.number, self.over, self.state = self.saved.round, self.saved.over, self.saved.state
        else:
            self.number, self.over, self.state = 0, False, copy.deepcopy(self.loop.state)

    # -- snapshots --------------------------------------------------------------------------------------------------

    def should_save(self) -> bool:
        """Whether to save the loop after the round that just ended."""
        return self.saves is not None and self.saves.should_save(self.number, self._last_elements, self.over)

    def begin_saving(self) -> Path:
        """The directory for the elements of a snapshot."""
        assert self.saves is not None
        self._writing = self.saves.begin(self.number)
        return self._writing

    @property
    def needs_input(self) -> bool:
        """Whether the next snapshot needs the elements that enter every round, which are saved once.

        A finished loop does not run again, and the elements of a source are read again.
        """
        if self.saves is None or self.loop.feedback or self.over:
            return False
        return self.saves.input is None and bool(self.loop.input.inputs)

    def begin_input(self) -> Path:
        """The directory for the elements that enter every round."""
        assert self.saves is not None
        self._writing = self.saves.begin_input()
        return self._writing

    def commit_input(self, known: Mapping[str, Digest] | None = None) -> None:
        """Commits the written elements. `known` has the digests of files that tasks wrote."""
        assert self.saves is not None
        assert self._writing is not None
        self.saves.commit_input(self._writing, known)
        self._writing = None

    @property
    def saved_parts(self) -> tuple[str, ...] | None:
        """The files with the elements of the next round, in the order of tasks; None: they are computed."""
        if self.loop.feedback:
            return None if self.saved is None else self.saved.parts
        if self.saves is None or self.saves.input is None:
            return None
        return tuple(sorted(map(str, self.saves.input.glob("part-*")))) or None

    def commit(self, known: Mapping[str, Digest] | None = None) -> None:
        """Commits a snapshot whose elements are written. `known` has the digests of files that tasks wrote."""
        assert self.saves is not None
        assert self._writing is not None
        self.saves.commit(self._writing, self.number, self.over, self.state, known)
        self._writing = None

    # -- rounds -----------------------------------------------------------------------------------------------------

    def begin(self) -> Any:
        """Begins a round, and returns its state."""
        self._began = time.perf_counter()
        return self.state

    def fold(self, deltas: Sequence[tuple[int, Any]]) -> None:
        """Folds the deltas of a round, in the order of partitions. Deltas of no elements are ignored."""
        state = self.state
        for elements, delta in deltas:
            if elements:
                state = self._call(self.loop.global_fold, (state, delta), state, delta)
        continues = bool(self._call(self.loop.condition, state, state))
        self.state = state
        self.number += 1
        self.over = not continues or self.number >= self.loop.max_iterations
        self._last_elements = sum(elements for elements, _ in deltas)
        self.progress.count(self.number, continues, self._last_elements, time.perf_counter() - self._began)

    def run_empty(self) -> None:
        """Runs all rounds without elements."""
        while not self.over:
            self.begin()
            self.fold(())

    def _call(self, closure: Closure, element: Any, *arguments: Any) -> Any:
        try:
            return closure.function(*arguments)
        except Exception as error:
            raise element_error(self.loop.operator, self.loop.location, element, error, 1) from error

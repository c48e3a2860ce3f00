"""What a job says of its parts."""

from __future__ import annotations

from typing import Any

import pytest

import morisot as mo
from morisot.engines.spark.streaming.job import Job, ThreadPart
from morisot.plan.snapshots import StateRow
from morisot.runtime.metrics import JobMetrics, LeftOutMetrics


class Finished:
    """A part that has ended."""

    error = None

    @property
    def stateful(self) -> list[str]:
        return ["total"]

    def __init__(self, *sinks: tuple[int, str], elements: int) -> None:
        self.indexes = [index for index, _ in sinks]
        self._names = [name for _, name in sinks]
        self._elements = elements

    def stop(self) -> None: ...

    def join(self, timeout: float | None) -> bool:
        return True

    def catch_up(self) -> None: ...

    def snapshots(self) -> list[Any]:
        return []

    def state(self, name: str) -> list[StateRow] | None:
        return [StateRow(None, self._elements)] if name in self.stateful else None

    def metrics(self) -> JobMetrics:
        left_out = skipped("map (p.py:1)", 3)
        sinks = [{"sink": name, "elements_in": self._elements, **left_out} for name in self._names]
        return {"elements_in": self._elements, "elements_out": 2, "batches": 1, **left_out, "sinks": sinks}


def skipped(operator: str, count: int) -> LeftOutMetrics:
    return {"skipped": {operator: count}, "diverted": {}, "late": {}}


def test_the_state_of_an_operator() -> None:
    job = Job([Finished((0, "a"), elements=10), Finished((1, "b"), elements=7)])
    assert job.state("total") == [(None, 10)]
    with pytest.raises(mo.PlanError, match="no operator 'sum' with a state"):
        job.state("sum")


def test_what_was_read_for_several_sinks_counts_once() -> None:
    bounded = ThreadPart("bounded", lambda: None, lambda: skipped("map (p.py:9)", 1), index=3)
    job = Job([Finished((0, "a"), (2, "c"), elements=10), Finished((1, "b"), elements=7), bounded])
    metrics = job.metrics()
    assert (metrics["elements_in"], metrics["elements_out"], metrics["batches"]) == (17, 4, 2)
    assert metrics["skipped"] == {"map (p.py:1)": 6, "map (p.py:9)": 1}
    assert [each["sink"] for each in metrics["sinks"]] == ["a", "b", "c", "bounded"], "as in the program"

"""The detectors, with a clock and processor times that the test gives."""

from __future__ import annotations

import pytest

from morisot.errors import ConfigError
from morisot.supervision.detectors import Detector
from morisot.supervision.messages import Beat
from morisot.supervision.settings import Supervision

SETTINGS = Supervision(heartbeat=5.0, stall=600.0, start_timeout=120.0)
PROGRAM, ENGINE = 1, 2


class Machine:
    """The processor times of two processes."""

    def __init__(self) -> None:
        self.cpu = {PROGRAM: 0.0, ENGINE: 0.0}
        self.detector = Detector(SETTINGS, PROGRAM, 0.0, self.cpu.__getitem__)


def test_a_program_without_a_first_heartbeat() -> None:
    detector = Machine().detector
    assert detector.problem(119.9) is None
    assert detector.problem(120.0) == "it sent no heartbeat within 120 s of its start"


def test_a_program_without_heartbeats() -> None:
    detector = Machine().detector
    detector.beat(Beat(), 10.0)
    assert detector.problem(24.9) is None
    assert detector.problem(25.0) == "it sent no heartbeat for 3 intervals of 5 s"
    assert detector.next_check(10.0) == 15.0


def test_a_program_that_computes_without_heartbeats_is_judged_by_its_progress() -> None:
    machine = Machine()
    machine.detector.beat(Beat(), 10.0)
    machine.cpu[PROGRAM] = 600.0
    assert machine.detector.problem(609.0) is None
    assert machine.detector.problem(610.0) == "it made no progress for 600 s while input was waiting"


def test_an_engine_that_does_not_answer() -> None:
    machine = Machine()
    machine.detector.beat(Beat(engine=ENGINE), 10.0)
    machine.detector.beat(Beat(engine=ENGINE, silence=9.0), 20.0)
    machine.detector.beat(Beat(engine=ENGINE, silence=14.0), 25.0)
    assert machine.detector.problem(25.0) == "Spark's JVM did not answer for 3 intervals of 5 s"
    machine.cpu[ENGINE] = 10.0  # it collects garbage
    assert machine.detector.problem(25.0) is None


@pytest.mark.parametrize("waiting", [True, False])
def test_a_program_without_progress(waiting: bool) -> None:
    detector = Machine().detector
    for second in range(0, 700, 5):
        detector.beat(Beat(progress=3, work=7, waiting=waiting), float(second))
    stalled = "it made no progress for 600 s while input was waiting"
    assert detector.problem(699.0) == (stalled if waiting else None)


@pytest.mark.parametrize("kind", ["progress", "work"])
def test_progress(kind: str) -> None:
    detector = Machine().detector
    for second in range(0, 700, 5):
        beat = Beat(progress=second // 300, waiting=True) if kind == "progress" else Beat(work=second, waiting=True)
        detector.beat(beat, float(second))
    assert detector.problem(699.0) is None


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"stall": "soon"}, "stall is 'soon'"),
        ({"max_retries": -1}, "max_retries is -1: give a whole number of 0 or more"),
        ({"poison": "eat"}, "poison is 'eat': give 'fail' or 'skip'"),
        ({"max_retry": 1}, "unknown: did you mean 'max_retries'"),
        ({"heartbeat": "0s"}, "heartbeat is '0s'"),
    ],
)
def test_wrong_settings_are_refused(given: dict[str, object], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        Supervision.of(given)

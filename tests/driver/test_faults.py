"""The driver finds faults of machines: with each of these planted, some run differs from the reference."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from typing import Any

import pytest

import morisot as mo
from morisot.engines.spark.emit.stateful.processors import TimerProcessor
from morisot.testing.script import Batches
from morisot.worker.codec.stored import Layout
from morisot.worker.stateful import buckets, late
from morisot.worker.stateful.interval_joins import IntervalJoinMachine
from morisot.worker.stateful.state_table import StateTable
from morisot.worker.stateful.time_windows import Session, Sessions, Sliding
from morisot.worker.stateful.unique_within import DeduplicateByTime
from tests.driver.run import drive

RUNS = 20
"""How often a program runs at most, each time with other elements and another course of events."""
WITHOUT = 3
"""The same where nothing is wrong."""
Program = Callable[[Any], Any]


def timed(stream: Any) -> Any:
    return stream.add_timestamps(lambda pair: pair[1], delay=3)


def by_key(stream: Any) -> Any:
    return timed(stream).key_by(lambda pair: pair[0] % 2)


PROGRAMS: dict[str, Program] = {
    "rich map": lambda s: s.rich_map(0, lambda n, pair: (n + 1, (n, pair))),
    "tumbling": lambda s: timed(s).window_all(mo.EventTimeWindow.tumbling(2)).map(sorted),
    "session": lambda s: by_key(s).window(mo.EventTimeWindow.session(4)).map(sorted),
    "unique": lambda s: timed(s).unique_by(lambda pair: pair[0] % 2, within=4),
    "join": lambda s: timed(s).left_join(timed(s), lambda pair: 0, lambda pair: 0, within=2),
}


def differs(program: Program, chance: random.Random, runs: int = RUNS) -> bool:
    """Whether some run gives another answer than the reference, or other late elements: here are none."""
    return any(_differs(program, chance) for _ in range(runs))


def _differs(program: Program, chance: random.Random) -> bool:
    times = [time + 4 * (time % 2 == 0) for time in range(40)]  # each second one comes when it is almost late
    elements = list(enumerate(times))
    cuts = sorted(chance.sample(range(1, len(elements)), 6))
    events: Batches = [
        *(batch for begin, end in itertools.pairwise([0, *cuts, len(elements)]) for batch in (elements[begin:end], [])),
        mo.testing.advance_time(1000),
    ]
    expected = program(mo.StreamContext(engine="reference").stream_iter(elements)).collect()
    found = drive(program, [events], chance)
    in_order = program is PROGRAMS["rich map"]
    results = list(found.results)
    same = results == expected if in_order else sorted(results, key=repr) == sorted(expected, key=repr)
    return not same or any(found.metrics["late"].values())


@pytest.mark.parametrize("name", PROGRAMS)
def test_without_a_fault_nothing_differs(name: str, chance: random.Random) -> None:
    assert not differs(PROGRAMS[name], chance, WITHOUT)


def earlier(method: Any) -> Any:
    """A window is closed one tick too early."""
    return lambda self, state, mark, emit: method(self, state, mark + 1, emit)


def without_others(self: Session, other: Session) -> None:
    """Of two sessions that turn out to be one, the elements of the second are lost."""
    self.first, self.last = min(self.first, other.first), max(self.last, other.last)


FAULTS: dict[str, tuple[str, Any, str, Any]] = {
    "a window is closed one tick too early": ("tumbling", Sliding, "close", earlier(Sliding.close)),
    "a state is not read": ("rich map", StateTable, "read", lambda self, start: [start() for _ in self._keys]),
    "a state of windows is not saved": (
        "tumbling",
        Layout,
        "packed",
        lambda self, seen, state, dumps: b"%s %d\n" % (self.kind.encode(), self.format) + dumps((seen, {})),
    ),
    "a timer is not registered": ("session", TimerProcessor, "_timed", lambda *_: None),
    "a machine has no deadline": ("session", Sessions, "deadline", lambda *_: None),
    "sessions are merged wrongly": ("session", Session, "absorb", without_others),
    "rows of a task are not numbered": ("rich map", buckets, "own_row_orders", lambda files, *_: files),
    "times expire too early": ("unique", DeduplicateByTime, "close", lambda self, state, *_: state.clear()),
    "elements without a partner are given too early": (
        "join",
        IntervalJoinMachine,
        "close",
        earlier(IntervalJoinMachine.close),
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_found(name: str, chance: random.Random, monkeypatch: pytest.MonkeyPatch) -> None:
    program, owner, attribute, fault = FAULTS[name]
    monkeypatch.setattr(owner, attribute, fault)
    assert differs(PROGRAMS[program], chance)


def test_late_elements_that_are_not_counted_are_found(chance: random.Random, monkeypatch: pytest.MonkeyPatch) -> None:
    def run() -> int:
        events = [[(0, 5), (1, 30)], [(2, 4), (3, 31)]]
        return sum(drive(PROGRAMS["tumbling"], [events], chance).metrics["late"].values())

    assert run() == 1
    monkeypatch.setattr(late, "note", lambda *_: None)
    assert run() == 0

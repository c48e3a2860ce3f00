"""Joins of unbounded streams, without a JVM: whatever the micro-batches, the result is the bounded one."""

from __future__ import annotations

import pickle
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

import morisot as mo
from morisot.worker.stateful.interval_joins import IntervalJoinMachine
from morisot.worker.stateful.machine import Emitter
from morisot.worker.stateful.timers import TimedRows

LAST = 10**6
EVENTS = st.lists(
    st.tuples(st.sampled_from([0, 1]), st.sampled_from("ab"), st.integers(-20, 40)), min_size=1, max_size=30
)


def rows_of(batch: list[tuple[int, tuple[int, str, int]]]) -> TimedRows:
    """Elements are their numbers."""
    values = [(side, None if side else number, number if side else None) for number, (side, _, _) in batch]
    keys = [key for _, (_, key, _) in batch]
    return TimedRows(keys, keys, values, [time for _, (_, _, time) in batch], [n.to_bytes(8, "big") for n, _ in batch])


def met(machine: IntervalJoinMachine, batches: list[list[tuple[int, Any]]], delay: int | None) -> list[Any]:
    """What a machine gives when the mark follows the latest element after `delay`, and then time ends."""
    results: list[Any] = []
    state, mark = machine.start(), None
    latest = -LAST
    for batch in batches:
        emit = Emitter(keyed=True, ordered=True)
        assert machine.take(state, rows_of(batch), mark, emit) == []
        if mark is not None:
            machine.close(state, mark, emit)
        results += zip(emit.keys, emit.values, emit.times, strict=True)
        latest = max([latest, *(event[2] for _, event in batch)])
        mark = None if delay is None else latest - delay - 1
        _, state = machine.layout.unpacked(machine.layout.packed(None, state, pickle.dumps))
    emit = Emitter(keyed=True, ordered=True)
    machine.close(state, LAST, emit)
    assert state == {}
    assert machine.deadline(state) is None
    return [*results, *zip(emit.keys, emit.values, emit.times, strict=True)]


def expected(events: list[tuple[int, str, int]], lower: int, upper: int, variant: str) -> list[Any]:
    """By the definition, pair by pair."""
    sides = [[(number, *event[1:]) for number, event in enumerate(events) if event[0] == side] for side in (0, 1)]
    pairs = [
        (one, other)
        for one in sides[0]
        for other in sides[1]
        if one[1] == other[1] and one[2] - lower <= other[2] <= one[2] + upper
    ]
    found: list[Any] = [(one[1], (one[0], other[0]), max(one[2], other[2])) for one, other in pairs]
    if variant != "inner":
        found += [(key, (n, None), time) for n, key, time in sides[0] if not any(one[0] == n for one, _ in pairs)]
    if variant == "outer":
        found += [(key, (None, n), time) for n, key, time in sides[1] if not any(other[0] == n for _, other in pairs)]
    return found


@settings(max_examples=200, deadline=None)
@given(EVENTS, st.lists(st.integers(0, 30), max_size=5), st.integers(-3, 12), st.integers(-3, 12), st.data())
def test_partners_meet_however_they_come(events: Any, cuts: list[int], lower: int, upper: int, data: Any) -> None:
    upper = max(upper, -lower)
    variant = data.draw(st.sampled_from(["inner", "left", "outer"]))
    ends = [*sorted(cut % len(events) for cut in cuts), len(events)]
    numbered = list(enumerate(events))
    batches = [numbered[begin:end] for begin, end in zip([0, *ends[:-1]], ends, strict=True)]
    delay = data.draw(st.sampled_from([None, disorder(batches), disorder(batches) + 7]))
    result = met(IntervalJoinMachine(lower, upper, variant), batches, delay)
    assert sorted(result, key=repr) == sorted(expected(events, lower, upper, variant), key=repr)


def disorder(batches: list[list[tuple[int, Any]]]) -> int:
    """How much later than a later one of a batch before its own an element comes at most."""
    latest, most = -LAST, 0
    for batch in batches:
        most = max([most, *(latest - event[2] for _, event in batch)])
        latest = max([latest, *(event[2] for _, event in batch)])
    return most


def test_what_is_below_the_mark_is_late() -> None:
    machine, emit = IntervalJoinMachine(2, 2, "inner"), Emitter(keyed=True, ordered=True)
    state = machine.start()
    assert machine.take(state, rows_of([(0, (0, "a", 10)), (1, (1, "a", 9))]), 9, emit) == [1]
    assert emit.values == []


def test_pairs_set_no_timer() -> None:
    for variant, deadline in (("inner", None), ("left", 12), ("outer", 9)):
        machine, emit = IntervalJoinMachine(3, 2, variant), Emitter(keyed=True, ordered=True)
        state = machine.start()
        machine.take(state, rows_of([(0, (0, "a", 10)), (1, (1, "b", 6))]), None, emit)
        assert machine.deadline(state) == deadline


def test_the_reference_says_the_same() -> None:
    events = [(0, "a", 3), (1, "a", 5), (1, "a", 6), (0, "b", 1), (1, "c", 2), (0, "a", 4)]
    context = mo.StreamContext(engine="reference")
    left, right = (
        context.stream_iter([(number, *event) for number, event in enumerate(events) if event[0] == side])
        .add_timestamps(lambda each: each[3])
        .key_by(lambda each: each[2])
        .map(lambda key, each: each[0])
        for side in (0, 1)
    )
    for variant, method in (("inner", "join"), ("left", "left_join"), ("outer", "outer_join")):
        given = [(key, pair) for key, pair, _ in expected(events, 2, 2, variant)]
        assert sorted(getattr(left, method)(right, within=2).collect(), key=repr) == sorted(given, key=repr)

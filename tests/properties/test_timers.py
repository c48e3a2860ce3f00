"""Machines with timers, without a JVM: whatever the micro-batches and watermarks, the result is the bounded one."""

from __future__ import annotations

import itertools
import pickle
from typing import Any, NamedTuple

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

import morisot as mo
from morisot.types.element import INT, STR, Keyed, Record
from morisot.types.windows import Windowed
from morisot.worker.aggregate.accumulators import ListAccumulator
from morisot.worker.codec.ipc import pack_batch, unpack_batch
from morisot.worker.report.origin import Origin
from morisot.worker.stateful.time_windows import Measuring, Sessions, Sliding
from morisot.worker.stateful.timers import Moment, ReorderBucket, TimeMachine, WindowBucket
from morisot.worker.stateful.unique_within import DeduplicateBucket, DeduplicateByTime

INPUT = Keyed(STR, INT)
OUTPUT = Keyed(STR, Record(Windowed, Windowed._fields, (INT, INT, STR)))
ORIGIN = Origin("window", None)
MEASURING = Measuring((ListAccumulator(str),), None, INT, bounds=True, stamps=True, origin=ORIGIN)
LAST = 10**6


class Event(NamedTuple):
    at: int
    key: str


EVENTS = st.lists(st.builds(Event, st.integers(-30, 60), st.sampled_from("abc")), min_size=1, max_size=40)
SHAPES = st.one_of(
    st.tuples(st.integers(1, 20), st.integers(1, 20), st.integers(-5, 5)),
    st.integers(1, 15),
)


def batches_of(events: list[Event], cuts: list[int]) -> list[list[tuple[int, Event]]]:
    """The events, each with its number, cut into micro-batches."""
    numbered = list(enumerate(events))
    edges = [0, *sorted({cut % len(events) for cut in cuts}), len(events)]
    return [numbered[begin:end] for begin, end in itertools.pairwise(edges) if begin < end]


def packed(batch: list[tuple[int, Event]]) -> bytes:
    columns: dict[str, pa.Array[Any]] = {
        "key": pa.array([event.key for _, event in batch], pa.string()),
        "value": pa.array([number for number, _ in batch], pa.int64()),
        "time": pa.array([event.at for _, event in batch], pa.int64()),
        "at": pa.array([number.to_bytes(8, "big") for number, _ in batch], pa.binary()),
    }
    return pack_batch(pa.RecordBatch.from_pydict(columns))


def window_machine(shape: Any) -> tuple[TimeMachine, mo.EventTimeWindow]:
    if isinstance(shape, tuple):
        size, slide, offset = shape
        return Sliding(size, slide, offset % slide, MEASURING), mo.EventTimeWindow.sliding(size, slide, offset)
    return Sessions(shape, MEASURING), mo.EventTimeWindow.session(shape)


def rows_of(results: bytes | None) -> list[tuple[Any, ...]]:
    return [] if results is None else [tuple(row.values()) for row in unpack_batch(results).to_pylist()]


@settings(max_examples=50, deadline=None)
@given(EVENTS, st.lists(st.integers(0, 40), max_size=5), SHAPES)
def test_windows_give_the_bounded_answer_once(events: list[Event], cuts: list[int], shape: Any) -> None:
    machine, description = window_machine(shape)
    bucket = WindowBucket(machine, ORIGIN, INPUT, OUTPUT, pickle.dumps, stamps=True, direct=True, keep_late=True)
    saved, found, mark, deadline = None, [], None, None
    batches = batches_of(events, cuts)
    for number, batch in enumerate(batches):
        outcome = bucket([packed(batch)], saved, Moment(mark))
        assert outcome.late is None
        saved, deadline = outcome.state, outcome.deadline
        found.append(rows_of(outcome.results))
        remaining = [event.at for later in batches[number + 1 :] for _, event in later]
        mark = min(remaining, default=LAST) - 1  # the most that can be said without making an element late
    while deadline is not None:
        assert mark is not None
        assert deadline <= mark
        before, after = bucket([], saved, Moment(deadline - 1)), bucket([], saved, Moment(deadline))
        assert (before.results, after.results is None) == (None, False)
        saved, deadline = after.state, after.deadline
        found.append(rows_of(after.results))
    assert saved is not None
    assert machine.layout.unpacked(saved)[1] in ({}, [len(events), {}])  # nothing is held of what has been given

    numbered = mo.StreamContext(engine="reference").stream_iter([(n, *event) for n, event in enumerate(events)])
    keyed = numbered.add_timestamps(lambda e: e[1]).group_by(lambda e: e[2]).map(lambda _, e: e[0])
    expected = keyed.window(description).map(str).with_bounds().collect()
    in_order = [row for rows in found for row in sorted(rows, key=lambda row: row[-1])]
    assert [(key, (start, end, value)) for key, start, end, value, *_ in in_order] == expected
    assert all(time == end for _, _, end, _, time, _ in in_order)


@settings(max_examples=50, deadline=None)
@given(EVENTS, st.lists(st.integers(0, 40), max_size=5), SHAPES, st.booleans())
def test_the_end_completes_what_is_open(events: list[Event], cuts: list[int], shape: Any, direct: bool) -> None:
    """Elements that arrive with the end count. After it all elements are late, and no window is opened again."""
    machine, description = window_machine(shape)
    bucket = WindowBucket(machine, ORIGIN, INPUT, OUTPUT, pickle.dumps, stamps=True, direct=direct, keep_late=True)
    saved = None
    *batches, last = batches_of(events, cuts)
    for batch in batches:
        outcome = bucket([packed(batch)], saved, Moment(None))
        assert (outcome.results, outcome.late) == (None, None)
        saved = outcome.state
    ended = bucket([packed(last)], saved, Moment(10, ends=True))
    numbered = mo.StreamContext(engine="reference").stream_iter([(n, *event) for n, event in enumerate(events)])
    keyed = numbered.add_timestamps(lambda e: e[1]).group_by(lambda e: e[2]).map(lambda _, e: e[0])
    expected = keyed.window(description).map(str).with_bounds().collect()
    in_order = sorted(rows_of(ended.results), key=lambda row: row[-1])
    assert [(key, (start, end, value)) for key, start, end, value, *_ in in_order] == expected
    assert (ended.late, ended.deadline) == (None, None)
    for mark in (None, 10, LAST):
        after = bucket([packed([(0, Event(100, "a"))])], ended.state, Moment(mark))
        gap = isinstance(shape, tuple) and (100 - shape[2]) % shape[1] >= shape[0]
        assert (after.results, after.late is None) == (None, gap)


@settings(max_examples=50, deadline=None)
@given(EVENTS, st.lists(st.integers(0, 40), max_size=5), SHAPES, st.integers(0, 10))
def test_late_elements_never_change_a_result(events: list[Event], cuts: list[int], shape: Any, delay: int) -> None:
    """Each element is late, or in every window that was still open: no window comes twice."""
    machine, _ = window_machine(shape)
    bucket = WindowBucket(machine, ORIGIN, INPUT, OUTPUT, pickle.dumps, stamps=True, direct=True, keep_late=False)
    saved, found, late, mark = None, [], 0, None
    for batch in batches_of(events, cuts):
        outcome = bucket([packed(batch)], saved, Moment(mark))
        saved, late = outcome.state, late + (outcome.late.number if outcome.late else 0)
        found += rows_of(outcome.results)
        newest = max(event.at for _, event in batch) - delay - 1
        mark = newest if mark is None else max(mark, newest)
    found += rows_of(bucket([], saved, Moment(LAST)).results)
    windows = [(key, start, end) for key, start, end, *_ in found]
    assert len(windows) == len(set(windows))
    inside = {number for row in found for number in eval(row[3])}
    gap = isinstance(shape, tuple) and shape[1] > shape[0]
    assert late + len(inside) <= len(events) if gap else late + len(inside) == len(events)


@settings(max_examples=50, deadline=None)
@given(EVENTS, st.lists(st.integers(0, 40), max_size=5), st.integers(0, 10))
def test_reorder_gives_all_that_is_not_late_in_order(events: list[Event], cuts: list[int], delay: int) -> None:
    bucket = ReorderBucket(INPUT, direct=True, keep_late=True)
    saved, given_rows, late, mark = None, [], [], None
    for batch in batches_of(events, cuts):
        outcome = bucket([packed(batch)], saved, Moment(mark))
        saved = outcome.state
        late += outcome.late.elements if outcome.late else []
        given_rows += sorted(rows_of(outcome.results), key=lambda row: row[-1])
        newest = max(event.at for _, event in batch) - delay - 1
        mark = newest if mark is None else max(mark, newest)
    given_rows += sorted(rows_of(bucket([], saved, Moment(mark, ends=True)).results), key=lambda row: row[-1])
    missed = {number for (_, number), _ in late}
    numbered = [(event.at, number) for number, event in enumerate(events) if number not in missed]
    assert [(time, number) for _, number, time, _ in given_rows] == sorted(numbered)


@settings(max_examples=50, deadline=None)
@given(EVENTS, st.lists(st.integers(0, 40), max_size=5), st.integers(1, 25))
def test_what_is_apart_is_the_bounded_answer_and_old_times_are_forgotten(
    events: list[Event], cuts: list[int], within: int
) -> None:
    bucket = DeduplicateBucket(
        DeduplicateByTime(within), ORIGIN, INPUT, INPUT, pickle.dumps, stamps=True, direct=True, keep_late=True
    )
    saved, found, mark = None, [], None
    batches = batches_of(events, cuts)
    for number, batch in enumerate(batches):
        outcome = bucket([packed(batch)], saved, Moment(mark))
        assert outcome.late is None
        saved = outcome.state
        found += sorted(rows_of(outcome.results), key=lambda row: row[-1])
        held = [time for times in bucket.machine.layout.unpacked(saved)[1].values() for time in times]
        assert mark is None or all(time + within > mark + 1 for time in held)
        mark = min((event.at for later in batches[number + 1 :] for _, event in later), default=LAST) - 1

    numbered = mo.StreamContext(engine="reference").stream_iter([(n, *event) for n, event in enumerate(events)])
    expected = numbered.add_timestamps(lambda e: e[1]).unique_by(lambda e: e[2], within=within).collect()
    assert [(n, time, key) for key, n, time, _ in found] == expected


def test_what_is_below_the_mark_is_late_though_nothing_is_near() -> None:
    bucket = DeduplicateBucket(
        DeduplicateByTime(3), ORIGIN, INPUT, INPUT, pickle.dumps, stamps=True, direct=True, keep_late=True
    )
    batch = [(0, Event(5, "a")), (1, Event(6, "a")), (2, Event(9, "b"))]
    outcome = bucket([packed(batch)], None, Moment(5))
    assert outcome.late == (1, [(0, 5)], 5)
    assert [row[1] for row in rows_of(outcome.results)] == [1, 2]

"""Random programs in random micro-batches: the driver gives what the reference gives, whatever happens on the way."""

from __future__ import annotations

import itertools
import os
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest
from hypothesis import assume, given, note, settings
from hypothesis import strategies as st

import morisot as mo
from morisot.testing.script import Batches
from tests.driver.run import Drive, drive
from tests.properties import test_unbounded, test_windows
from tests.properties.test_plans import Plan, answer, batches, compare, reference

THOROUGH = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"
END = 1000
"""A time after that of every element."""
CHANCES = st.integers(0, 2**32).map(random.Random)
CUTS = st.lists(st.integers(0, 25), max_size=5)


def pieces(elements: list[Any], cuts: list[int]) -> list[list[Any]]:
    """The elements cut into micro-batches, of which some may be empty."""
    return batches(elements, [cut % (len(elements) + 1) for cut in cuts])


# -- plans of all operators --------------------------------------------------------------------------------------------


def compares_nan(plan: Plan) -> bool:
    """Whether tuples with NaN are compared: Python finds the same object equal to itself, and a codec makes another."""
    return "t[0] != t[1]" in str(plan) and any(each in str(plan.elements) for each in ("nan", "inf"))


@settings(max_examples=1000 if THOROUGH else 30)
@given(plan=test_unbounded.plans(), cuts=CUTS, chance=CHANCES)
def test_random_plans(plan: Plan, cuts: list[int], chance: random.Random) -> None:
    assume(not compares_nan(plan))
    note(str(plan))
    waits = isinstance(plan.steps[-1], test_unbounded.InTime) if plan.steps else False
    events: Batches = [
        *pieces(list(plan.elements), cuts),
        *([mo.testing.advance_time(10 * test_unbounded.LONG)] if waits else []),
    ]
    found = answer(lambda: list(drive(plan.on, [events], chance).results))
    compare(plan, found, answer(lambda: reference(plan)))


# -- operators that depend on the row order, after others --------------------------------------------------------------


def in_time(stream: Any) -> Any:
    return stream.add_timestamps(lambda n: n, delay=END)


def by_three(stream: Any) -> Any:
    return stream.key_by(lambda n: n % 3)


def with_table(stream: Any) -> Any:
    table = stream._context.stream_iter([0, 1, 1, 2, 5])
    return stream.join(table, lambda n: n % 3, lambda n: n % 3).unkey().map(lambda pair: pair[1][0] * 10 + pair[1][1])


BEFORE: dict[str, Callable[[Any], Any]] = {
    "unique": lambda s: s.unique(),
    "unique of keys": lambda s: by_three(s).unique().drop_key(),
    "unique_by": lambda s: s.unique_by(lambda n: n % 7),
    "rich_map of keys": lambda s: by_three(s).rich_map(0, lambda a, k, n: (a + n, a)).drop_key(),
    "rich_flat_map": lambda s: s.rich_flat_map(0, lambda a, n: (a + 1, [a, n])),
    "count windows": lambda s: by_three(s).window(mo.CountWindow.sliding(2, 1)).sum().drop_key(),
    "count windows that do not overlap": lambda s: by_three(s).window(mo.CountWindow.tumbling(2)).sum().drop_key(),
    "last few": lambda s: by_three(s).window(mo.LastK(2)).sum().drop_key(),
    "zip": lambda s: s.zip(s.map(lambda n: -n)).map(lambda pair: pair[0] * 1000 + pair[1]),
    "shuffle": lambda s: s.shuffle(),
    "repartition_by": lambda s: s.repartition_by(lambda n: n % 3).drop_key(),
    "limit": lambda s: s.limit(9, 1),
    "flat_map": lambda s: s.flat_map(lambda n: [n, n + 1]),
    "join with a table": with_table,
    "split_by": lambda s: s.split_by(lambda n: n % 2, 2)[1],
    "reorder": lambda s: in_time(s).reorder().drop_timestamps(),
    "unique within": lambda s: in_time(s).unique_by(lambda n: n % 5, within=3).drop_timestamps(),
    "tumbling": lambda s: by_three(in_time(s)).window(mo.EventTimeWindow.tumbling(4)).sum().drop_key(),
    "sessions": lambda s: by_three(in_time(s)).window(mo.EventTimeWindow.session(4)).sum().drop_key(),
}
"""Operators that give ints, and the order of what they give."""
BEHIND: dict[str, Callable[[Any], Any]] = {
    "rich_map": lambda s: s.rich_map(0, lambda a, n: (a + 1, (a, n))),
    "limit": lambda s: s.limit(4, 1),
    "fold": lambda s: s.fold("", lambda text, n: f"{text},{n}"),
    "zip": lambda s: s.zip(s).map(str),
}


@pytest.mark.parametrize("before", BEFORE)
@settings(max_examples=50 if THOROUGH else 4)
@given(
    behind=st.sampled_from(sorted(BEHIND)),
    elements=st.lists(st.integers(0, 20), min_size=8, max_size=15),
    cuts=st.lists(st.integers(1, 7), min_size=1, max_size=4),
    chance=CHANCES,
)
def test_what_an_operator_gives_is_in_order(
    before: str, behind: str, elements: list[int], cuts: list[int], chance: random.Random
) -> None:
    def program(stream: Any) -> Any:
        return BEHIND[behind](BEFORE[before](stream))

    expected = program(mo.StreamContext(engine="reference").stream_iter(elements)).collect()
    found = drive(program, [[*pieces(elements, cuts), mo.testing.advance_time(10 * END)]], chance)
    assert list(found.results) == expected


# -- windows -----------------------------------------------------------------------------------------------------------


def is_complete(description: Any) -> bool:
    """Whether windows are complete before the stream ends."""
    return not isinstance(description, mo.AllWindow) and getattr(description, "exact", True)


@settings(max_examples=1000 if THOROUGH else 30)
@given(
    plan=test_windows.plans().filter(lambda plan: is_complete(plan.desc)),
    cuts=CUTS,
    delay=st.integers(30, 100) | st.none(),
    chance=CHANCES,
)
def test_random_windows(plan: test_windows.Plan, cuts: list[int], delay: int | None, chance: random.Random) -> None:
    """The last elements of each key complete the buffered elements; the watermark closes the others on the way.

    Windows that elements complete need no timestamps, and have none if the delay is None.
    """
    waits = isinstance(plan.desc, mo.EventTimeWindow)
    last = plan.elements[-1][2]
    elements = [*plan.elements, *((key, END, last) for key in range(3))]

    def program(stream: Any) -> Any:
        if delay is None and not waits:
            return plan.over(stream)
        return plan.over(stream.add_timestamps(lambda e: e[1], delay=delay or 50))

    note(str(plan))
    expected = outcome(lambda: program(mo.StreamContext(engine="reference").stream_iter(elements)).collect())
    events: Batches = [*pieces(elements, cuts), *([mo.testing.advance_time(10 * END)] if waits else [])]
    found = outcome(lambda: list(drive(program, [events], chance).results))
    assert found == expected


@settings(max_examples=1000 if THOROUGH else 30)
@given(
    plan=test_windows.plans().filter(lambda plan: not isinstance(plan.desc, mo.AllWindow)), cuts=CUTS, chance=CHANCES
)
def test_the_end_of_the_stream_completes_random_windows(
    plan: test_windows.Plan, cuts: list[int], chance: random.Random
) -> None:
    """No element and no watermark completes the last windows, but the end does, as on bounded input."""

    def program(stream: Any) -> Any:
        return plan.over(stream.add_timestamps(lambda e: e[1], delay=50))

    note(str(plan))
    bounded = mo.StreamContext(engine="reference").stream_iter(plan.elements)
    expected = outcome(lambda: sorted(program(bounded).collect(), key=repr))
    events: Batches = [*pieces(list(plan.elements), cuts)]
    found = outcome(lambda: sorted(drive(program, [events], chance, ends=True).results, key=repr))
    assert found == expected


@pytest.mark.parametrize("before", [name for name in BEFORE if name not in ("zip", "limit")])
@settings(max_examples=50 if THOROUGH else 4)
@given(
    elements=st.lists(st.integers(0, 20), min_size=8, max_size=15),
    cuts=st.lists(st.integers(1, 7), min_size=1, max_size=4),
    chance=CHANCES,
)
def test_the_end_of_the_stream_completes_windows_of_results(
    before: str, elements: list[int], cuts: list[int], chance: random.Random
) -> None:
    """What the end completes is an element for the operators behind, which then end as well."""

    def program(stream: Any) -> Any:
        return BEFORE[before](stream).window_all(mo.CountWindow.tumbling(3, exact=False)).map(sorted)

    expected = program(mo.StreamContext(engine="reference").stream_iter(elements)).collect()
    assert list(drive(program, [pieces(elements, cuts)], chance, ends=True).results) == expected


def outcome(run: Callable[[], Any]) -> Any:
    try:
        return run()
    except mo.ElementError as error:
        return error.operator, type(error.__cause__)


# -- elements that come too late ---------------------------------------------------------------------------------------


class OfOne(NamedTuple):
    """A program in which an element is late for all that it could change, or for nothing."""

    program: Callable[[Any, Any], Any]
    last: Callable[[int], int] = lambda time: time
    """The watermark at which an element with a timestamp is late."""


OF_ONE = {
    "tumbling": OfOne(
        lambda s, late: s.window_all(mo.EventTimeWindow.tumbling(3, offset=2), late=late).map(sorted),
        lambda time: (time - 2) // 3 * 3 + 4,
    ),
    "tumbling of keys": OfOne(
        lambda s, late: (
            s.key_by(lambda pair: pair[1] % 3)
            .window(mo.EventTimeWindow.tumbling(2), late=lambda key, pair: late(pair))
            .map(sorted)
        ),
        lambda time: time // 2 * 2 + 1,
    ),
    "reorder": OfOne(lambda s, late: s.reorder(late=late)),
    "reorder of keys": OfOne(
        lambda s, late: s.key_by(lambda pair: pair[1] % 3).reorder(late=lambda key, pair: late(pair)).unkey()
    ),
    "unique": OfOne(lambda s, late: s.unique_by(lambda pair: pair[0] % 2, within=3, late=late)),
}


@dataclass(frozen=True)
class Course:
    """Elements (number, timestamp) in micro-batches; many of them are almost late, or just late."""

    batches: list[list[tuple[int, int]]]
    delay: int

    @property
    def elements(self) -> list[tuple[int, int]]:
        return [element for batch in self.batches for element in batch]

    def late(self, last: Callable[[int], int]) -> list[tuple[int, int]]:
        """The elements that come too late; there is no watermark before it is after 0."""
        found, watermark = [], 0
        for batch in self.batches:
            found += [(number, time) for number, time in batch if 0 < watermark >= last(time)]
            watermark = max([watermark, *(time - self.delay - 1 for _, time in batch)])
        return found

    @property
    def events(self) -> Batches:
        return [*self.batches, mo.testing.advance_time(END)]


@st.composite
def courses(draw: st.DrawFn) -> Course:
    """The watermark is `delay + 1` behind the newest element of the micro-batches before."""
    delay, newest, number = draw(st.integers(0, 4)), 0, 0
    batches: list[list[tuple[int, int]]] = []
    for size in draw(st.lists(st.integers(0, 3), min_size=1, max_size=10).filter(any)):
        batch = []
        for _ in range(size):
            ahead, by = draw(st.booleans()), draw(st.integers(0, 3))
            batch.append((number, newest + by if ahead else max(0, newest - delay - 1 + by)))
            number += 1
        newest = max([newest, *(time for _, time in batch)])
        batches.append(batch)
    return Course(batches, delay)


def timed(stream: Any, course: Course) -> Any:
    return stream.add_timestamps(lambda pair: pair[1], delay=course.delay)


@pytest.mark.parametrize("name", OF_ONE)
@settings(max_examples=200 if THOROUGH else 10)
@given(course=courses(), chance=CHANCES)
def test_late_elements_change_nothing_and_are_counted(name: str, course: Course, chance: random.Random) -> None:
    late: list[Any] = []
    program, last = OF_ONE[name]
    found = drive(lambda stream: program(timed(stream, course), late.append), [course.events], chance)
    others = [each for each in course.elements if each not in late]
    on_time = mo.StreamContext(engine="reference").stream_iter(others)
    expected = program(timed(on_time, course), late.append).collect()
    assert sorted(found.results, key=repr) == sorted(expected, key=repr)
    assert sorted(late) == course.late(last)
    assert sum(found.metrics["late"].values()) == len(late)
    assert name != "reorder" or found.results == expected


@pytest.mark.parametrize("variant", ["join", "left_join", "outer_join"])
@settings(max_examples=200 if THOROUGH else 6)
@given(one=courses(), other=courses(), chance=CHANCES)
def test_late_elements_of_joins(variant: str, one: Course, other: Course, chance: random.Random) -> None:
    late: list[Any] = []

    def note_late(key: Any, pair: Any) -> None:
        late.append(pair)

    def program(left: Any, right: Any) -> Any:
        keys = (lambda pair: pair[1] % 2, lambda pair: pair[1] % 2)
        joined = getattr(timed(left, one), variant)(timed(right, other), *keys, within=2, late=note_late)
        return joined.map(lambda key, both: both)

    both = zip(*itertools.zip_longest(one.batches, other.batches, fillvalue=[]), strict=True)
    found = drive(program, [[*batches, mo.testing.advance_time(END)] for batches in both], chance)
    context = mo.StreamContext(engine="reference")
    sides = [
        [each for each in course.elements if each not in [pair[number] for pair in late]]
        for number, course in enumerate((one, other))
    ]
    expected = program(*map(context.stream_iter, sides)).collect()
    assert sorted(found.results, key=repr) == sorted(expected, key=repr)
    assert sum(found.metrics["late"].values()) == len(late)


# -- the clock ---------------------------------------------------------------------------------------------------------

STEPS = st.lists(st.one_of(st.lists(st.integers(0, 5), max_size=4), st.integers(1, 90)), max_size=12)
"""What happens one after the other: a micro-batch of numbers, or a number of milliseconds without one."""


@settings(max_examples=300 if THOROUGH else 15)
@given(steps=STEPS, chance=CHANCES)
def test_windows_of_processing_time(steps: list[Any], chance: random.Random) -> None:
    def program(stream: Any) -> Any:
        keyed = stream.group_by(lambda n: n % 2)
        return keyed.window(mo.ProcessingTimeWindow.tumbling("50ms")).sum()

    job = Drive(program, [[[0]]], chance)
    expected: dict[tuple[int, int], int] = {}
    for step in steps:
        if isinstance(step, int):
            job.wait(step)
            continue
        for number in step:
            window = (number % 2, job.clock // 50)
            expected[window] = expected.get(window, 0) + number
        job.put(step)
    job.wait(100)
    assert sorted(job.changes) == sorted((key, total) for (key, _), total in expected.items())


@settings(max_examples=300 if THOROUGH else 15)
@given(steps=STEPS, chance=CHANCES)
def test_sessions_of_processing_time(steps: list[Any], chance: random.Random) -> None:
    def program(stream: Any) -> Any:
        return stream.window_all(mo.ProcessingTimeWindow.session("40ms")).map(list)

    job = Drive(program, [[[0]]], chance)
    expected: list[list[int]] = []
    last = None
    for step in steps:
        if isinstance(step, int):
            job.wait(step)
            continue
        if step and (last is None or job.clock - last > 40):
            expected.append([])
        if step:
            expected[-1] += step
            last = job.clock
        job.put(step)
    job.wait(100)
    assert list(job.changes) == expected

"""The same answer: random plans give in random micro-batches what they give at once, and by the reference."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

import morisot as mo
from morisot.testing.script import Batches
from tests.properties.test_plans import (
    IN_ORDER,
    REDUCES,
    VALUES,
    Drawing,
    Plan,
    Step,
    aggregated,
    answer,
    batches,
    bounded,
    compare,
    group,
    group_by_extreme,
    group_by_reduce,
    group_by_sum,
    has_floats,
    key_by,
    key_of,
    limit,
    reduce_assoc,
    reference,
    row,
    table,
    unique,
    unkey,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class WithItself(Step):
    """A method whose other stream is the same one."""

    def on(self, stream: Any) -> Any:
        return getattr(stream, self.method)(stream)


@dataclass(frozen=True)
class WithTable(Step):
    """A join with a bounded stream of ints, by a key of the element."""

    def on(self, stream: Any) -> Any:
        numbers = stream._context.stream_iter([3, -1, 0, 3, 7, None])
        return getattr(stream, self.method)(numbers, *self.values, lambda n: n)


@dataclass(frozen=True)
class WithBounded(Step):
    """A method whose other stream is bounded."""

    elements: tuple[Any, ...] = ()

    def __str__(self) -> str:
        return f".{self.method}(stream_iter({list(self.elements)}))"

    def on(self, stream: Any) -> Any:
        return getattr(stream, self.method)(stream._context.stream_iter(self.elements))


@dataclass(frozen=True)
class CountWindows(Step):
    """The count windows of a stream, of each key if it has keys, joined with its own."""

    size: int = 1
    slide: int = 1

    def __str__(self) -> str:
        return f".{self.method}(CountWindow.sliding({self.size}, {self.slide})).join(the same)"

    def on(self, stream: Any) -> Any:
        return getattr(stream, self.method)(mo.CountWindow.sliding(self.size, self.slide)).join(stream)


@dataclass(frozen=True)
class InTime(Step):
    """Operators with timers, by timestamps of ints that arrive in any order."""

    def on(self, stream: Any) -> Any:
        timed = stream.add_timestamps(lambda n: n % 50, delay=LONG, returns=int)
        match self.method:
            case "tumbling":
                return timed.window_all(mo.EventTimeWindow.tumbling(7)).map(str)
            case "session":
                return timed.group_by(lambda n: n % 3).window(mo.EventTimeWindow.session(4)).map(str)
            case "unique_by":
                return timed.unique_by(lambda n: n % 4, within=9).map(str)
            case "reorder":
                return timed.map(lambda n: n % 50).reorder()
            case "window join" | "left_join":
                numbers = stream._context.stream_iter([3, -1, 0, 3, 7])
                earlier = numbers.add_timestamps(lambda n: n % 50).group_by(lambda n: n % 2)
                keyed = timed.group_by(lambda n: n % 2)
                if self.method == "left_join":
                    return keyed.left_join(earlier, within=3)
                return keyed.window(mo.EventTimeWindow.tumbling(7)).join(earlier)
        return getattr(timed, self.method)(timed, lambda n: n % 2, lambda n: n % 2, within=2)


LONG = 1000
"""No element is so late."""


def in_time(draw: st.DrawFn, plan: Plan) -> Plan:
    with_itself = ["tumbling", "session", "unique_by", "reorder", "join", "outer_join"]
    method = draw(st.sampled_from([*with_itself, "window join", "left_join"]))
    key = None if method in ("tumbling", "unique_by", "reorder") else "int"
    return then(plan, InTime(method), key=key, element="str", ordered=False)


def then(plan: Plan, step: Step, **changes: Any) -> Plan:
    return replace(plan, steps=(*plan.steps, step), **changes)


def rich_map(draw: st.DrawFn, plan: Plan) -> Plan:
    """Each element with how many came before it, in all or of its key."""
    text = "lambda a, b: (a + 1, (a, b))" if plan.key is None else "lambda a, k, b: (a + 1, (a, b))"
    return plan.then("rich_map", "0", text, element=("int", plan.element), ordered=plan.ordered and plan.key is None)


def unique_by(draw: st.DrawFn, plan: Plan) -> Plan:
    return plan.then("unique_by", key_of(draw, plan)[0], ordered=False)


def zip_with_itself(draw: st.DrawFn, plan: Plan) -> Plan:
    return then(plan, WithItself("zip"), element=(plan.element, plan.element))


def count_windows(draw: st.DrawFn, plan: Plan) -> Plan:
    step = CountWindows(
        "window_all" if plan.key is None else "window", (), *(draw(st.integers(1, 3)) for _ in range(2))
    )
    return then(plan, step, element=(plan.element, plan.element), ordered=False)  # decision 0015: pairs as they come


def merge_with_itself(draw: st.DrawFn, plan: Plan) -> Plan:
    return then(plan, WithItself("merge"), ordered=False)


def merge_with_bounded(draw: st.DrawFn, plan: Plan) -> Plan:
    values = draw(st.lists(VALUES[plan.element], min_size=1, max_size=3))
    return then(plan, WithBounded("merge", elements=tuple(values)), ordered=False)


def zip_with_bounded(draw: st.DrawFn, plan: Plan) -> Plan:
    values = draw(st.lists(VALUES["int"], min_size=1, max_size=6))
    return then(plan, WithBounded("zip", elements=tuple(values)), element=(plan.element, "int"))


def fold(draw: st.DrawFn, plan: Plan) -> Plan:
    return aggregated(plan, "fold", "int", "7", "lambda a, b: (a * 31 + len(str(b))) % 1000003")


def reduce(draw: st.DrawFn, plan: Plan) -> Plan:
    name = table(plan.element)
    text = draw(st.sampled_from(REDUCES[name] + IN_ORDER.get(name, ())))
    return replace(aggregated(plan, "reduce", plan.element, text), approximate=plan.element == "float")


def join_with_table(draw: st.DrawFn, plan: Plan) -> Plan:
    step = WithTable(draw(st.sampled_from(["join", "left_join"])), ("lambda n: n % 5",))
    return then(plan, step, key="int", element=("int", "int"), ordered=False)


def on_the_way(plan: Plan) -> list[Drawing]:
    """Operators that give elements when they come, so that any operator may follow."""
    found: list[Drawing] = [row, row]
    if plan.ordered:
        found += [limit, rich_map, count_windows]
    if plan.ordered or not (has_floats(plan.element) or has_floats(plan.key)):
        found += [unique]
    if plan.key is not None:
        return [*found, unkey]
    found += [key_by, merge_with_itself]
    found += [merge_with_bounded] if plan.element in VALUES else []
    return [*found, unique_by, zip_with_itself, zip_with_bounded] if plan.ordered else found


def at_the_end(plan: Plan) -> list[Drawing]:
    """Operators whose values replace earlier ones, and joins."""
    name = table(plan.element)
    found: list[Drawing] = [lambda draw, plan: aggregated(plan, "count", "int")]
    if plan.ordered:
        found += [fold, *([reduce] if name in REDUCES else [])]
    if name in REDUCES:
        found += [reduce_assoc]
    if plan.key is None:
        found += [lambda draw, plan: group(draw, plan, "group_by_count", "int"), group_by_sum]
        found += [group_by_reduce] if name in REDUCES else []
        found += [group_by_extreme] if plan.ordered else []
        found += [join_with_table] * 3 if plan.element == "int" else []
        found += [in_time] * 3 if plan.element == "int" and plan.ordered else []
    return found


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    """A plan of operators that run on unbounded input."""
    source = draw(st.sampled_from(sorted(VALUES, key=str)))
    plan = Plan(tuple(draw(st.lists(VALUES[source], min_size=1, max_size=12))), (), source)
    for _ in range(draw(st.integers(0, 3))):
        if not (plan.approximate or plan.positive_zero):
            plan = draw(st.sampled_from(on_the_way(plan)))(draw, plan)
    if not (plan.approximate or plan.positive_zero):
        plan = draw(st.sampled_from([*at_the_end(plan), *on_the_way(plan)]))(draw, plan)
    return plan


def in_batches(plan: Plan, spark: SparkSession, cuts: list[int]) -> list[Any]:
    """The answer when the elements come in micro-batches, and then the watermark advances."""
    waits = isinstance(plan.steps[-1], InTime)
    events: Batches = [*batches(plan.elements, cuts), *([mo.testing.advance_time(10 * LONG)] if waits else [])]
    return mo.testing.run(plan.on, events, engine="unbounded", spark=spark)


@pytest.mark.thorough  # tests.driver runs such plans in `make test`
@pytest.mark.timeout(1200)
@settings(max_examples=200)
@given(plan=plans(), data=st.data())
def test_the_answer_does_not_depend_on_how_elements_come(plan: Plan, data: st.DataObject, spark: SparkSession) -> None:
    cuts = data.draw(st.lists(st.integers(0, len(plan.elements)), max_size=2), label="cuts")
    note(str(plan))
    expected = answer(lambda: reference(plan))
    compare(plan, answer(lambda: in_batches(plan, spark, cuts)), expected)
    compare(plan, answer(lambda: bounded(plan, spark)), expected)

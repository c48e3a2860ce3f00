"""Random graphs: joins, merges, zips, splits, sorting, state and time between the operators of test_plans.

The reference defines an order for every operator. Here each may follow each, so Spark must restore it wherever a later
one depends on it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from tests.cases.functions import function
from tests.properties import test_plans as plans
from tests.properties.test_plans import Failures, Kind, Plan, Step, has_floats, keyed, table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Program = Callable[[Any], Any]
MOST_JOINS = 2


@dataclass(frozen=True)
class Part(Step):
    """A part of a graph: its text, and its effect on a stream. None of its functions fails."""

    program: Program | None = None

    def __str__(self) -> str:
        return f".{self.method}<{', '.join(self.arguments)}>"

    def on(self, stream: Any) -> Any:
        assert self.program is not None
        return self.program(stream)

    def guarded(self, stream: Any, place: int, failures: Failures) -> Any:
        return self.on(stream)


def then(plan: Plan, method: str, program: Program, *shown: object, **changes: Any) -> Plan:
    return replace(plan, steps=(*plan.steps, Part(method, tuple(map(repr, shown)), program)), **changes)


def compiled(text: str) -> Callable[..., Any]:
    return function(text, f"<{text}>")


def other(draw: st.DrawFn, kind: Kind) -> list[Any]:
    return draw(st.lists(plans.VALUES[kind], min_size=1, max_size=5))


JOIN_KEYS = {
    "int": ("lambda n: n % 3", "lambda n: n", "lambda n: n / 2", "lambda n: hash(n) % 4"),
    "float": ("lambda x: x", "lambda x: str(x)[:2]"),
    "str": ("lambda s: len(s)", "lambda s: s[:1]", "lambda s: ''.join(sorted(s))"),
    "maybe": ("lambda m: m", "lambda m: m is None", "lambda m: hash(m) if m else 0"),
    "pair": ("lambda t: t[0]", "lambda t: t", "lambda t: tuple(reversed(t))"),
}
"""Keys that never fail, natively and in Python."""
SORT_KEYS_WITH_NONE = {
    "maybe": ("lambda m: m or 0", "lambda m: (m is None, m or 0)"),
    "pair": ("lambda t: (t[0] is None, t[1] is None)", "lambda t: str(t)"),
}
"""Sort keys that never fail, although None cannot be compared."""


# -- several streams ---------------------------------------------------------------------------------------------------


def merge(draw: st.DrawFn, plan: Plan) -> Plan:
    elements = other(draw, plan.element)
    if draw(st.booleans()):
        return then(plan, "merge", lambda s: s.merge(s._context.stream_iter(elements)), elements)
    return then(plan, "merge", lambda s: s._context.stream_iter(elements).merge(s), elements, "before")


def diamond(draw: st.DrawFn, plan: Plan) -> Plan:
    text = draw(st.sampled_from(["lambda x: len(str(x)) % 2", "lambda x: hash(len(str(x))) % 2"]))
    split = compiled(text if plan.key is None else keyed(text))

    def program(stream: Any) -> Any:
        first, second = stream.split_by(split, 2)
        return second.merge(first)

    return then(plan, "split_by", program, text)


def route(draw: st.DrawFn, plan: Plan) -> Plan:
    texts = ("lambda x: str(x) < '3'", "lambda x: len(str(x)) > 1")
    predicates = [compiled(text if plan.key is None else keyed(text)) for text in texts]
    branch = draw(st.integers(0, 1))
    return then(plan, "route", lambda s: s.route(*predicates)[branch], *texts, branch)


def zipped(draw: st.DrawFn, plan: Plan) -> Plan:
    kind = draw(st.sampled_from(sorted(plans.VALUES, key=str)))
    elements = other(draw, kind)
    side = draw(st.integers(0, 1))
    pick = compiled(f"lambda t: t[{side}]")
    element = (plan.element, kind)[side]
    return then(
        plan,
        "zip",
        lambda s: s.zip(s._context.stream_iter(elements)).map(pick),
        elements,
        side,
        element=element,
        ordered=True,
    )


def join(draw: st.DrawFn, plan: Plan) -> Plan:
    method = draw(st.sampled_from(["join", "left_join", "outer_join"]))
    keys_of_kind = st.sampled_from(JOIN_KEYS[table(plan.element)])
    first = draw(keys_of_kind)
    texts = (first, draw(keys_of_kind) if plan.element == "int" else first)  # all keys of an int are numbers
    keys = [compiled(text) for text in texts]
    elements = None if draw(st.booleans()) else other(draw, plan.element)
    summary, kind = draw(
        st.sampled_from(
            [
                ("lambda k, t: (t[0] is None, t[1] is None)", ("bool", "bool")),
                ("lambda k, t: str(t[0]) + str(t[1])", "str"),
                ("lambda k, t: len(str(t))", "int"),
            ]
        )
    )
    summarised = compiled(summary)

    def program(stream: Any) -> Any:
        right = stream if elements is None else stream._context.stream_iter(elements)
        return getattr(stream, method)(right, *keys).map(summarised).drop_key()

    return then(plan, method, program, texts, elements, summary, element=kind, ordered=False)


# -- order, state, time ------------------------------------------------------------------------------------------------


def sorted_by(draw: st.DrawFn, plan: Plan) -> Plan:
    keys = SORT_KEYS_WITH_NONE if plans.has_none(plan.element) else plans.ORDERS
    text = draw(st.sampled_from(keys[table(plan.element)]))
    key = compiled(text if plan.key is None else keyed(text))
    return then(plan, "sorted_by", lambda s: s.sorted_by(key), text, ordered=True)


def limit(draw: st.DrawFn, plan: Plan) -> Plan:
    return replace(plans.limit(draw, plan), ordered=True)


def fold(draw: st.DrawFn, plan: Plan) -> Plan:
    text = "lambda a, x: (a + str(x))[-60:]"
    folded = then(plan, "fold", lambda s: s.fold("", compiled(text)), text, element="str", ordered=False)
    return replace(folded, positive_zero=has_floats(plan.key))


def rich(draw: st.DrawFn, plan: Plan) -> Plan:
    key = "" if plan.key is None else "k, "
    if draw(st.booleans()):
        text = f"lambda st, {key}x: (st + 1, st % 3)"
        return then(plan, "rich_map", lambda s: s.rich_map(0, compiled(text)), text, element="int", ordered=False)
    text = f"lambda st, {key}x: (st + 1, x if st % 2 == 0 else None)"
    return then(plan, "rich_filter_map", lambda s: s.rich_filter_map(0, compiled(text)), text, ordered=False)


def reordered(draw: st.DrawFn, plan: Plan) -> Plan:
    text = "lambda x: len(str(x)) % 3"
    at = compiled(text if plan.key is None else keyed(text))

    def program(stream: Any) -> Any:
        return stream.add_timestamps(at, returns=int).reorder().drop_timestamps()

    return then(plan, "reorder", program, text, ordered=True)


def interval_join(draw: st.DrawFn, plan: Plan) -> Plan:
    elements = other(draw, plan.element)
    lower, upper = draw(st.sampled_from([(0, 0), (1, 2), (2, -1), (-1, 3)]))
    at, both = compiled("lambda x: len(str(x)) * 3"), compiled("lambda t: str(t[0]) + str(t[1])")

    def program(stream: Any) -> Any:
        right = stream._context.stream_iter(elements).add_timestamps(at, returns=int)
        left = stream.add_timestamps(at, returns=int)
        return left.interval_join(right, lower, upper).map(both).drop_timestamps()

    return then(plan, "interval_join", program, elements, lower, upper, element="str", ordered=False)


def moved(draw: st.DrawFn, plan: Plan) -> Plan:
    method = draw(st.sampled_from(["shuffle", "parallelism", "cache", "broadcast"]))
    program: Program = (lambda s: s.parallelism(3)) if method == "parallelism" else (lambda s: getattr(s, method)())
    return then(plan, method, program, ordered=plan.ordered and method in ("cache", "broadcast"))


def ways_on(plan: Plan) -> list[plans.Drawing]:
    """The possible next operators of the graph."""
    found: list[plans.Drawing] = [plans.row, plans.row, diamond, route, sorted_by, limit, fold, reordered, moved]
    if not has_floats(plan.key):
        found += [rich]
        if not has_floats(plan.element):
            found += [plans.unique]
    if plan.key is not None:
        return [*found, plans.unkey]
    found += [zipped, plans.key_by]
    if plan.element in plans.VALUES:
        found += [merge, interval_join]
        if sum(step.method.endswith("join") for step in plan.steps) < MOST_JOINS:
            found += [join, join]
    return found


@st.composite
def graphs(draw: st.DrawFn) -> Plan:
    """A graph of up to eight operators."""
    source = draw(st.sampled_from(sorted(plans.VALUES, key=str)))
    plan = Plan(tuple(draw(st.lists(plans.VALUES[source], min_size=1, max_size=8))), (), source)
    for _ in range(draw(st.integers(2, 8))):
        if not (plan.approximate or plan.positive_zero):
            plan = draw(st.sampled_from(ways_on(plan)))(draw, plan)
    return plan


@pytest.mark.timeout(1200)
@settings(max_examples=300 if plans.THOROUGH else 4)
@given(graph=graphs())
def test_graphs_give_what_the_reference_gives(graph: Plan, spark: SparkSession) -> None:
    note(str(graph))
    actual = plans.answer(lambda: plans.bounded(graph, spark))
    plans.compare(graph, actual, plans.answer(lambda: plans.reference(graph)))

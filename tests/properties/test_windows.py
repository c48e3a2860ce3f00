"""Random windows over random elements: Spark gives what the reference gives, in its order."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hypothesis import given, note, settings
from hypothesis import strategies as st

import morisot as mo

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

THOROUGH = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"
agg = mo.agg


class Climbing(mo.CustomWindow[tuple[int, int, Any], tuple[int, int]]):
    """A window for each range of positions that do not fall; the last one stays open."""

    def start(self) -> tuple[int, int]:
        return 0, -(10**9)

    def assign(self, state: tuple[int, int], element: tuple[int, int, Any], time: object) -> mo.Assigned:
        number, last = state
        if element[1] < last:
            return mo.Assigned((number + 1, element[1]), into=[number + 1], close=[number])
        return mo.Assigned((number, element[1]), into=[number])


class Widest(mo.Accumulator[tuple[int, int, Any], list[Any], str]):
    """The distance between the values."""

    def start(self) -> list[Any]:
        return []

    def add(self, held: list[Any], element: tuple[int, int, Any]) -> list[Any]:
        return sorted([*held, element[2]])

    def finish(self, held: list[Any]) -> str:
        return f"{held[0]}..{held[-1]}"


def verdict(element: tuple[int, int, Any]) -> mo.Tx:
    if element[1] % 5 == 0:
        return mo.Tx.COMMIT
    if element[1] % 7 == 0:
        return mo.Tx.DISCARD
    return mo.Tx.commit_after(element[1] + 4) if element[1] % 3 == 0 else mo.Tx.NONE


# floats are halves of small integers: their sums are exact, whatever the order
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "int": st.integers(-20, 20) | st.sampled_from([2**62, -(2**62)]),
    "float": st.integers(-9, 9).map(lambda n: n / 2) | st.sampled_from([math.nan, -0.0, math.inf]),
    "str": st.text("ab\N{GRINNING FACE}", max_size=3),
    "bool": st.booleans(),
}
OF_ANY: dict[str, Callable[[], Any]] = {
    "count": agg.count,
    "first": agg.first,
    "last": agg.last,
    "least": lambda: agg.min(lambda e: e[2]),
    "most": lambda: agg.max(lambda e: e[2]),
    "lowest": lambda: agg.min_element(lambda e: e[2]),
    "highest": lambda: agg.max_element(lambda e: e[2]),
    "latest": lambda: agg.reduce(lambda a, b: b if b[1] >= a[1] else a),
    "positions": lambda: agg.fold((0, 0), lambda acc, e: (acc[0] + e[1], max(acc[1], e[1]))),
    "text": lambda: agg.fold("", lambda text, e: f"{text}{e[1]},"),
    "content": lambda: agg.map(lambda elements: [e[2] for e in elements]),
    "hottest": lambda: agg.map(lambda es: sorted(e[1] for e in es if e[1] == max(f[1] for f in es))),
    "places": lambda: agg.map(lambda es: (es[0][0], max((e[1], e[0]) for e in es), len(es))),
    "differences": lambda: agg.map(lambda es: [e[1] - i for i, e in enumerate(es)]),
    "inverse": lambda: agg.map(lambda es: sum(6 // e[1] for e in es)),
    "own": Widest,
}
OF_NUMBERS: dict[str, Callable[[], Any]] = {
    "total": lambda: agg.sum(lambda e: e[2]),
    "mean": lambda: agg.mean(lambda e: e[2]),
}

lengths = st.integers(1, 12)
DESCRIPTIONS: st.SearchStrategy[Any] = st.one_of(
    st.builds(mo.CountWindow.sliding, lengths, lengths, st.booleans()),
    st.builds(mo.CountWindow.tumbling, lengths),
    st.builds(mo.EventTimeWindow.sliding, lengths, lengths, st.integers(-5, 5)),
    st.builds(mo.EventTimeWindow.session, lengths),
    st.builds(mo.LastK, st.integers(1, 4)),
    st.just(mo.AllWindow()),
    st.just(mo.TransactionWindow(verdict)),
    st.just(Climbing()),
)


@dataclass(frozen=True)
class Plan:
    """Elements (key, position in time, value), a description, the names of aggregates, and what surrounds them."""

    elements: list[tuple[int, int, Any]]
    desc: Any
    aggregates: tuple[str, ...]
    keyed: bool
    bounds: bool

    def on(self, context: mo.StreamContext) -> Any:
        """One text of all results in their order, so that the order matters."""
        return self.over(context.stream_iter(self.elements).add_timestamps(lambda e: e[1]))

    def over(self, stream: Any) -> Any:
        """The same over a stream with timestamps."""
        made = {name: (OF_ANY | OF_NUMBERS)[name]() for name in self.aggregates}
        windows = stream.group_by(lambda e: e[0]).window(self.desc) if self.keyed else stream.window_all(self.desc)
        results: Any = windows.aggregate(**made)
        results = results.with_bounds() if self.bounds else results
        plain = results.unkey() if self.keyed else results
        return plain.fold("", lambda text, result: f"{text}{result!r}\n")


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    kind = draw(st.sampled_from(sorted(VALUES)))
    element = st.tuples(st.integers(0, 2), st.integers(-15, 15), VALUES[kind])
    names = sorted(OF_ANY | (OF_NUMBERS if kind in ("int", "bool") else {}))
    return Plan(
        draw(st.lists(element, min_size=1, max_size=25)),
        draw(DESCRIPTIONS),
        tuple(draw(st.lists(st.sampled_from(names), min_size=1, max_size=3, unique=True))),
        draw(st.booleans()),
        draw(st.booleans()),
    )


def answer(plan: Plan, context: mo.StreamContext) -> Any:
    try:
        return plan.on(context).collect()
    except mo.ElementError as error:
        return error.operator, type(error.__cause__)


@settings(max_examples=300 if THOROUGH else 5)
@given(plan=plans())
def test_windows_on_spark_give_what_the_reference_gives(plan: Plan, spark: SparkSession) -> None:
    note(str(plan))
    expected = answer(plan, mo.StreamContext(engine="reference"))
    actual = answer(plan, mo.StreamContext(spark, config=mo.Config(progress=False)))
    assert actual == expected

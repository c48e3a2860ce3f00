"""Random plans: the reference, bounded Spark and unbounded Spark give the same, and fail for the same reason."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given, note, settings
from hypothesis import strategies as st

import morisot as mo
from tests.cases.functions import function

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

THOROUGH = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"

Kind = str | tuple[Any, ...]
"""The type of an element: "int", "float", "str", "bool", "maybe" (an int or None), or a pair of types."""

# -- what a user might write for each type of element: first what compiles to columns, last what does not --------------

MAPS: dict[str, dict[str, Kind]] = {
    "int": {
        "lambda n: n + 1": "int",
        "lambda n: n * 3 - 1": "int",
        "lambda n: n % 7": "int",
        "lambda n: -n // 4": "int",
        "lambda n: n if n > 0 else -n * 2": "int",
        "lambda n: 100 // n": "int",
        "lambda n: n / 4": "float",
        "lambda n: str(n)": "str",
        "lambda n: n > 3": "bool",
        "lambda n: (n % 3, str(n))": ("int", "str"),
        "lambda n: math.gcd(n, 12)": "int",
        "lambda n: bin(n).count('1')": "int",
        "lambda n: [1, 2, 3][n % 4]": "int",
        "lambda n: complex(n).real": "float",
    },
    "float": {
        "lambda x: x * 0.5": "float",
        "lambda x: x + 1": "float",
        "lambda x: -x": "float",
        "lambda x: x // 2.0": "float",
        "lambda x: x % 3.0": "float",
        "lambda x: 1 / x": "float",
        "lambda x: int(x)": "int",
        "lambda x: str(x)": "str",
        "lambda x: (x, 1)": ("float", "int"),
        "lambda x: math.floor(x)": "int",
        "lambda x: math.copysign(1.0, x)": "float",
        "lambda x: round(x, 1)": "float",
    },
    "str": {
        "lambda s: s.upper()": "str",
        "lambda s: s.strip()": "str",
        "lambda s: s + '!'": "str",
        "lambda s: s[:2]": "str",
        "lambda s: s[0]": "str",
        "lambda s: len(s)": "int",
        "lambda s: int(s)": "int",
        "lambda s: s.startswith('a')": "bool",
        "lambda s: (len(s), s)": ("int", "str"),
        "lambda s: ''.join(sorted(s))": "str",
        "lambda s: s.title()": "str",
        "lambda s: s.encode().hex()": "str",
    },
    "bool": {
        "lambda b: not b": "bool",
        "lambda b: b + 1": "int",
        "lambda b: 'yes' if b else 'no'": "str",
        "lambda b: complex(b).real": "float",
    },
    "maybe": {
        "lambda m: m": "maybe",
        "lambda m: m or 0": "int",
        "lambda m: m + 1": "int",
        "lambda m: 'none' if m is None else str(m)": "str",
        "lambda m: (m, 1)": ("maybe", "int"),
        "lambda m: None if m is None else m * 2": "maybe",
    },
    "pair": {
        "lambda t: t[0]": "first",
        "lambda t: t[1]": "second",
        "lambda t: (t[1], t[0])": "swapped",
        "lambda t: len(t)": "int",
        "lambda t: f'{t[0]}-{t[1]}'": "str",
        "lambda t: tuple(reversed(t))": "swapped",
    },
}

FILTERS = {
    "int": ("n > 0", "n % 2 == 0", "n % 3", "10 // n > 0", "math.gcd(n, 6) > 1"),
    "float": ("x > 0.0", "x == x", "x", "math.isfinite(x)"),
    "str": ("s", "len(s) > 1", "'a' in s", "s.isdigit()", "sorted(s) == list(s)"),
    "bool": ("b", "not b", "complex(b).real"),
    "maybe": (
        "m is not None",
        "m",
        "not (m is None or m < 0)",
        "m is not None and math.gcd(m, 6) > 1",
        "m == 3 or m is not None and complex(m).real > 1",
        "m > 0",
        "m is None or m > 0",
        "not m",
    ),
    "pair": ("t[0]", "t[0] != t[1]", "complex(len(t)).real > 1", "t[0] is not None", "t[0] and complex(t[0]).real"),
}
WITHOUT_NONE = FILTERS["maybe"][:6]
"""The filters after which the element is an int."""

FLAT_MAPS: dict[str, dict[str, Kind]] = {
    "int": {
        "lambda n: [n, -n]": "int",
        "lambda n: [] if n < 0 else [n]": "int",
        "lambda n: [(n, 'a'), (n + 1, 'b')]": ("int", "str"),
        "lambda n: range(n % 4)": "int",
        "lambda n: (str(x) for x in (n, n))": "str",
    },
    "float": {"lambda x: [x, x]": "float", "lambda x: [x] if x > 0 else []": "float", "lambda x: {x: 1}": "float"},
    "str": {"lambda s: s.split()": "str", "lambda s: [s, s + s]": "str", "lambda s: list(s)": "str"},
    "bool": {"lambda b: [b, not b]": "bool", "lambda b: iter([b])": "bool"},
    "maybe": {"lambda m: [m, None]": "maybe", "lambda m: iter([m])": "maybe"},
    "pair": {"lambda t: [t, t]": "same", "lambda t: [t[0]]": "first", "lambda t: iter([t[1]])": "second"},
}

FILTER_MAPS: dict[str, dict[str, Kind]] = {
    "int": {
        "lambda n: n * 2 if n % 2 else None": "int",
        "lambda n: (n, str(n)) if n > 0 else None": ("int", "str"),
        "lambda n: bin(n) if n > 0 else None": "str",
    },
    "float": {"lambda x: x / 2 if x > 0 else None": "float", "lambda x: math.floor(x) if x == x else None": "int"},
    "str": {
        "lambda s: s.upper() if s else None": "str",
        "lambda s: int(s) if s.isdigit() else None": "int",
        "lambda s: s.swapcase() if sorted(s) else None": "str",
    },
    "bool": {"lambda b: b or None": "bool"},
    "maybe": {"lambda m: m": "int", "lambda m: (m, 'a') if m is not None else None": ("int", "str")},
    "pair": {"lambda t: t if t[0] else None": "same", "lambda t: t[1] if t[0] else None": "second"},
}

KEYS: dict[str, dict[str, Kind]] = {
    "int": {
        "lambda n: n % 3": "int",
        "lambda n: n > 0": "bool",
        "lambda n: n / 2": "float",
        "lambda n: str(n)[0]": "str",
        "lambda n: (n % 2, 'k')": ("int", "str"),
        "lambda n: math.gcd(n, 6)": "int",
    },
    "float": {"lambda x: x": "float", "lambda x: x > 0": "bool", "lambda x: math.floor(x)": "int"},
    "str": {"lambda s: s[:1]": "str", "lambda s: len(s)": "int", "lambda s: ''.join(sorted(s))": "str"},
    "bool": {"lambda b: b": "bool", "lambda b: complex(b).real": "float"},
    "maybe": {"lambda m: m": "maybe", "lambda m: m is None": "bool", "lambda m: m or 0": "int"},
    "pair": {"lambda t: t[0]": "first", "lambda t: t": "same", "lambda t: tuple(reversed(t))": "swapped"},
}

NUMBERS = {
    "int": ("lambda n: n", "lambda n: n * 2", "lambda n: math.gcd(n, 12)"),
    "float": ("lambda x: x", "lambda x: 1.5", "lambda x: math.fabs(x)"),
    "str": ("lambda s: len(s)", "lambda s: sorted(s).count('a')"),
    "bool": ("lambda b: b",),
    "maybe": ("lambda m: m", "lambda m: m or 0", "lambda m: m if m is None else math.gcd(m, 12)"),
    "pair": ("lambda t: len(t)",),
}

ORDERS = {
    "int": ("lambda n: n", "lambda n: n % 5", "lambda n: math.gcd(n, 12)"),
    "float": ("lambda x: x", "lambda x: x // 10.0", "lambda x: math.copysign(1.0, x)"),
    "str": ("lambda s: s", "lambda s: len(s)", "lambda s: sorted(s)"),
    "bool": ("lambda b: b",),
    "maybe": ("lambda m: m or 0", "lambda m: -m", "lambda m: (m is None, m or 0)"),
    "pair": ("lambda t: t[0]", "lambda t: t", "lambda t: tuple(reversed(t))"),
}

REDUCES = {
    "int": ("lambda a, b: a + b", "lambda a, b: max(a, b)", "lambda a, b: math.gcd(a, b)"),
    "float": ("lambda a, b: a + b", "lambda a, b: math.fsum((a, b))"),
    "str": ("lambda a, b: min(a, b)", "lambda a, b: max(a, b, key=str)"),
    "bool": ("lambda a, b: a or b", "lambda a, b: bool(a & b)"),
}
"""Associative and commutative."""

IN_ORDER = {"str": ("lambda a, b: a + b", "lambda a, b: ''.join((a, b))")}
"""Associative only: what they give depends on the order, which a stream of a source has."""

ROWWISE = ("map", "filter", "flat_map", "filter_map")


@dataclass(frozen=True)
class Step:
    """A method call: its name, and its arguments as text."""

    method: str
    arguments: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f".{self.method}({', '.join(self.arguments)})"

    @property
    def values(self) -> list[Any]:
        return [function(text, f"<{text}>") if "lambda" in text else int(text) for text in self.arguments]

    def on(self, stream: Any) -> Any:
        return getattr(stream, self.method)(*self.values)

    def guarded(self, stream: Any, place: int, failures: Failures) -> Any:
        """The call on those elements only on which its functions succeed; the others are taken note of."""
        values = self.values
        for value in values:
            summed = self.method == "group_by_sum" and value is values[-1]  # None has no sum
            if callable(value) and value.__code__.co_varnames[0] != "a":  # what takes an accumulator never fails
                stream = stream.filter(failures.watching(value, place, none_fails=summed))
        return self.on(stream)


class Failures:
    """Which steps of a plan fail on an element; and which give an int that no 64 bits hold."""

    def __init__(self) -> None:
        self.failing: set[int] = set()
        self.overflowing: set[int] = set()

    def watching(self, called: Callable[..., Any], place: int, *, none_fails: bool = False) -> Callable[..., bool]:
        def succeeds(*arguments: Any) -> bool:
            takes_value_only = len(arguments) > called.__code__.co_argcount
            try:
                result = called(*arguments[1:]) if takes_value_only else called(*arguments)
                parts = list(result) if hasattr(result, "__iter__") else [result]
            except Exception:
                self.failing.add(place)
                return False
            if none_fails and None in parts:
                self.failing.add(place)
                return False
            if any(type(part) is int and not -(2**63) <= part < 2**63 for part in parts):
                self.overflowing.add(place)
                return False
            return True

        return succeeds


@dataclass(frozen=True)
class Plan:
    """Elements, steps, and what is known of the result."""

    elements: Sequence[Any]
    steps: tuple[Step, ...]
    element: Kind
    key: Kind | None = None
    ordered: bool = True
    approximate: bool = False
    """The result is a sum of floats, which depends on the order of addition."""
    positive_zero: bool = False
    """Floats have become keys, for which 0.0 and -0.0 are one: which of them is shown is Spark's choice."""

    def __str__(self) -> str:
        return f"ctx.stream_iter({list(self.elements)!r})" + "".join(map(str, self.steps))

    def on(self, stream: Any) -> Any:
        for step in self.steps:
            stream = step.on(stream)
        return stream

    def failures(self) -> Failures:
        failures = Failures()
        stream: Any = mo.StreamContext(engine="reference").stream_iter(self.elements)
        for place, step in enumerate(self.steps):
            stream = step.guarded(stream, place, failures)
        stream.collect()
        return failures

    def then(self, method: str, *arguments: str, **changes: Any) -> Plan:
        return replace(self, steps=(*self.steps, Step(method, arguments)), **changes)


# -- drawing a plan ----------------------------------------------------------------------------------------------------

INTS = st.one_of(st.integers(-5, 20), st.sampled_from([-(2**40), 2**40 + 1, 1000]))
FLOATS = st.one_of(
    st.floats(-1000, 1000, width=16), st.sampled_from([0.0, -0.0, 2.5, math.inf, -math.inf, math.nan, 1e-3])
)
TEXTS = st.one_of(st.text("ab 1,ß", max_size=5), st.sampled_from(["", "12", " 7 ", "²", "İ", "a b", "😀"]))
VALUES: dict[Kind, st.SearchStrategy[Any]] = {
    "int": INTS,
    "float": FLOATS,
    "str": TEXTS,
    ("int", "str"): st.tuples(INTS, TEXTS),
    ("float", "int"): st.tuples(FLOATS, INTS),
    "maybe": st.none() | INTS,
    ("maybe", "int"): st.tuples(st.none() | INTS, INTS),
}


def table(kind: Kind) -> str:
    return kind if isinstance(kind, str) else "pair"


def resolved(result: Kind, kind: Kind) -> Kind:
    """The type that "first", "swapped" … of a pair means."""
    if not isinstance(kind, tuple):
        return result
    named = {"first": kind[0], "second": kind[1], "swapped": kind[::-1], "same": kind}
    return named.get(result, result) if isinstance(result, str) else result


def has_floats(kind: Kind | None) -> bool:
    return kind == "float" or (isinstance(kind, tuple) and any(map(has_floats, kind)))


def has_none(kind: Kind) -> bool:
    return kind == "maybe" or (isinstance(kind, tuple) and any(map(has_none, kind)))


def keyed(text: str) -> str:
    """A function of the value as one of (key, value)."""
    return text.replace("lambda ", "lambda k, ", 1)


@st.composite
def plans(draw: st.DrawFn, rowwise: bool = False) -> Plan:
    """A plan of up to six operators; row-wise ones only, and perhaps a count by key at the end."""
    source = draw(st.sampled_from(sorted(VALUES, key=str)))
    elements = draw(st.lists(VALUES[source], min_size=1 if rowwise else 0, max_size=12))
    plan = Plan(tuple(elements), (), source)
    for _ in range(draw(st.integers(1, 6))):
        if not (plan.approximate or plan.positive_zero):
            plan = draw(st.sampled_from(methods(plan, rowwise)))(draw, plan)
    if rowwise and plan.key is None and draw(st.booleans()):
        plan = group(draw, plan, "group_by_count", "int")
    return plan


Drawing = Callable[[st.DrawFn, Plan], Plan]


def methods(plan: Plan, rowwise: bool) -> list[Drawing]:
    """The possible next operators after which the result is known."""
    name = table(plan.element)
    found: list[Drawing] = [row, row, row]
    if plan.key is None:
        found += [key_by]
        if not rowwise:
            found += [lambda draw, plan: group(draw, plan, "group_by_count", "int"), group_by_sum]
            if name in REDUCES:
                found += [reduce_assoc, group_by_reduce]
            if plan.ordered and not (name == "pair" and has_none(plan.element)):  # an order of None may fail
                found += [group_by_extreme]
    else:
        found += [unkey]
        if not rowwise and name in REDUCES:
            found += [reduce_assoc]
    if not rowwise:
        found += [lambda draw, plan: aggregated(plan, "count", "int")]
        if plan.ordered:
            found += [limit]
        if plan.ordered or not (has_floats(plan.element) or has_floats(plan.key)):
            found += [unique]
    return found


def row(draw: st.DrawFn, plan: Plan) -> Plan:
    method = draw(st.sampled_from(ROWWISE))
    name = table(plan.element)
    if method == "filter":
        variable = "t" if name == "pair" else {"int": "n", "float": "x", "str": "s", "bool": "b", "maybe": "m"}[name]
        test = draw(st.sampled_from(FILTERS[name]))
        text, result = f"lambda {variable}: {test}", "int" if test in WITHOUT_NONE else plan.element
    else:
        texts = {"map": MAPS, "flat_map": FLAT_MAPS, "filter_map": FILTER_MAPS}[method][name]
        text, kind = draw(st.sampled_from(sorted(texts.items(), key=str)))
        result = resolved(kind, plan.element)
    return plan.then(method, text if plan.key is None else keyed(text), element=result)


def key_by(draw: st.DrawFn, plan: Plan) -> Plan:
    text, kind = key_of(draw, plan)
    return plan.then(draw(st.sampled_from(["key_by", "group_by"])), text, key=kind)


def key_of(draw: st.DrawFn, plan: Plan) -> tuple[str, Kind]:
    text, kind = draw(st.sampled_from(sorted(KEYS[table(plan.element)].items(), key=str)))
    return text, resolved(kind, plan.element)


def unkey(draw: st.DrawFn, plan: Plan) -> Plan:
    method = draw(st.sampled_from(["unkey", "drop_key", "keys"]))
    results = {"unkey": (plan.key, plan.element), "drop_key": plan.element, "keys": plan.key}
    return plan.then(method, element=results[method], key=None)


def limit(draw: st.DrawFn, plan: Plan) -> Plan:
    return plan.then("limit", str(draw(st.integers(0, 8))), str(draw(st.integers(0, 3))))


def unique(draw: st.DrawFn, plan: Plan) -> Plan:
    with_floats = has_floats(plan.element) or has_floats(plan.key)
    return plan.then("unique", ordered=False, positive_zero=with_floats)


def aggregated(plan: Plan, method: str, result: Kind, *arguments: str) -> Plan:
    return plan.then(method, *arguments, element=result, ordered=False, positive_zero=has_floats(plan.key))


def reduction(draw: st.DrawFn, plan: Plan) -> str:
    name = table(plan.element)
    return draw(st.sampled_from(REDUCES[name] + (IN_ORDER.get(name, ()) if plan.ordered else ())))


def reduce_assoc(draw: st.DrawFn, plan: Plan) -> Plan:
    reduced = aggregated(plan, "reduce_assoc", plan.element, reduction(draw, plan))
    return replace(reduced, approximate=plan.element == "float")


def group(draw: st.DrawFn, plan: Plan, method: str, result: Kind, *arguments: str) -> Plan:
    text, kind = key_of(draw, plan)
    return aggregated(replace(plan, key=kind), method, result, text, *arguments)


def group_by_reduce(draw: st.DrawFn, plan: Plan) -> Plan:
    reduced = group(draw, plan, "group_by_reduce", plan.element, reduction(draw, plan))
    return replace(reduced, approximate=plan.element == "float")


def group_by_sum(draw: st.DrawFn, plan: Plan) -> Plan:
    result = "float" if plan.element == "float" else "int"
    summed = group(draw, plan, "group_by_sum", result, draw(st.sampled_from(NUMBERS[table(plan.element)])))
    return replace(summed, approximate=result == "float")


def group_by_extreme(draw: st.DrawFn, plan: Plan) -> Plan:
    method = draw(st.sampled_from(["group_by_min_element", "group_by_max_element"]))
    return group(draw, plan, method, plan.element, draw(st.sampled_from(ORDERS[table(plan.element)])))


# -- comparing ---------------------------------------------------------------------------------------------------------


def answer(run: Callable[[], list[Any]]) -> list[Any] | mo.ElementError:
    """What a run gives; an element's failure is an answer too."""
    try:
        return run()
    except mo.ElementError as error:
        return error


def compare(plan: Plan, actual: list[Any] | mo.ElementError, expected: list[Any] | mo.ElementError) -> None:
    """The answers are the same: to the type and (but for keys) the sign of zero, in order if there is one."""
    failures = plan.failures()
    operators = {plan.steps[place].method for place in failures.failing | failures.overflowing}
    if isinstance(actual, mo.ElementError):
        assert operators, f"{plan}\nfails on Spark only: {actual}"
        assert actual.operator in operators, f"{plan}\nfails in {actual.operator}, not in {operators}: {actual}"
    elif isinstance(expected, mo.ElementError):
        cut_short = any(step.method in CUTTING for step in plan.steps)  # what is cut off need not be computed
        assert cut_short, f"{plan}\ngives {actual} on Spark, but fails: {expected}"
    else:
        problem = f"{plan}\ngives {actual}, not {expected}"
        if plan.positive_zero:
            actual, expected = list(map(positive, actual)), list(map(positive, expected))
        left, right = (answers if plan.ordered else sorted(answers, key=shown) for answers in (actual, expected))
        if plan.approximate and plan.key is not None:
            assert [shown(key) for key, _ in left] == [shown(key) for key, _ in right], problem
            left, right = ([value for _, value in answers] for answers in (left, right))
        if plan.approximate:
            assert left == pytest.approx(right, rel=1e-9, abs=1e-6, nan_ok=True), problem
        else:
            assert list(map(shown, left)) == list(map(shown, right)), problem


CUTTING = frozenset({"limit", "zip", "join", "left_join", "outer_join", "interval_join", "route"})
"""Operators after which some elements, or parts of them, are not read."""


def positive(value: Any) -> Any:
    """The value with 0.0 for -0.0."""
    if isinstance(value, list | tuple):
        return type(value)(map(positive, value))
    return value + 0.0 if isinstance(value, float) else value


def shown(value: Any) -> str:
    """The value as text that tells 1 from 1.0 and True, and finds NaN equal to NaN."""
    return repr(value)


def reference(plan: Plan) -> list[Any]:
    return list(plan.on(mo.StreamContext(engine="reference").stream_iter(plan.elements)).collect())


def bounded(plan: Plan, spark: SparkSession) -> list[Any]:
    context = mo.StreamContext(spark, config=mo.Config(progress=False))
    return list(plan.on(context.stream_iter(plan.elements)).collect())


def unbounded(plan: Plan, spark: SparkSession, cuts: Sequence[int]) -> list[Any]:
    """The answer when the elements come in micro-batches that end where it is cut."""
    return mo.testing.run(plan.on, batches(plan.elements, cuts), engine="unbounded", spark=spark)


def batches(elements: Sequence[Any], cuts: Sequence[int]) -> list[list[Any]]:
    """The elements cut at some places."""
    ends = [*sorted(cuts), len(elements)]
    return [list(elements[start:end]) for start, end in zip([0, *ends[:-1]], ends, strict=True)]


@settings(max_examples=600 if THOROUGH else 10)
@given(plan=plans())
@example(plan=Plan((), (Step("map", ("lambda t: f'{t[0]}-{t[1]}'",)), Step("filter", ("lambda s: s",))), "str"))
def test_bounded_plans_give_what_the_reference_gives(plan: Plan, spark: SparkSession) -> None:
    note(str(plan))
    compare(plan, answer(lambda: bounded(plan, spark)), answer(lambda: reference(plan)))


@settings(max_examples=100 if THOROUGH else 2)
@given(plan=plans(rowwise=True), data=st.data())
def test_unbounded_plans_give_what_the_reference_gives(plan: Plan, data: st.DataObject, spark: SparkSession) -> None:
    cut = data.draw(st.integers(0, len(plan.elements)), label="cut")
    note(str(plan))
    compare(plan, answer(lambda: unbounded(plan, spark, [cut])), answer(lambda: reference(plan)))

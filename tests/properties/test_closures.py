"""A compiled closure gives what CPython gives, or fails: on every adversarial value, and on random expressions."""

# ruff: noqa: C416, E501, FURB110, FURB136, RUF005, SIM300 - what a user writes is the point

from __future__ import annotations

import datetime as dt
import functools
import itertools
import math
import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import Column, SparkSession

from morisot.compile.expr import Expr, Input
from morisot.compile.ladder import decide
from morisot.compile.verdict import ColumnForm
from morisot.errors import Location
from morisot.lower.columns import quoted, render
from morisot.plan.closure import Closure
from morisot.types.element import BOOL, DATE, DATETIME, FLOAT, INT, STR, Dict, List, Optional, Record, Tuple, Type
from morisot.types.infer import of_record_class

INTS = [
    0,
    1,
    -1,
    2,
    7,
    -7,
    63,
    64,
    10**9,
    94906267,
    2**53,
    2**53 + 1,
    -(2**53) - 1,
    2**62,
    2**63 - 1,
    -(2**63),
    -(2**63) + 1,
]
FLOATS = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    2.5,
    -2.5,
    3.7,
    1e-3,
    1e7,
    1e22,
    1e-320,
    2.0**53,
    2.0**63,
    -(2.0**63),
    math.inf,
    -math.inf,
    math.nan,
]
TEXTS = [
    "", " ", "a", "A", "ab", "  x y\t\nz ", "a,b,,c", ",", "12", " -7 ", "+12\n", "1_000", "1.5", "1e3", "1d", "nan", "0x1f", "\x1c1",
    "\x0012", "99999999999999999999", "-12", "--1", "+", "0x1p3", "-0X1P3", ".5", "5.", "-", "1.5e-3", "1\x7f", "12\x00", "١", "1١", "007", "-0", "aaa", ",,,,,",
    "2024-02-29", "2023-02-29", "0000-01-01", "2024-01-01T00:00:00", "2024-01-01 23:59:60", "20240101", "-٣", "ß", "İ", "ı", "ΑΣ", "ΑΣ Σ", "ΑΣ.", "Σ", "ŉ", "ǆ", "ﬁ", "e\u0301", "😀b", "a😀", "\x1ca\x1db", "a\x85b",
    "\u2003q\xa0", "x\u3000y", "\u200bz", "it's", 'quo"te', "back\\slash", "${x}", "a%b_c", "\u0295Σ", "\u019b", "日本 語", "l\u2028m",
]  # fmt: skip


TIES = [
    2.675, 1.005, 0.125, 0.375, 2.345, -0.001, -0.004999, 0.005, 0.285, 1.115, 123456.785, 1e15 + 0.25, 4503599627370495.5, 1e-9, 0.045,
    -2.675, 9.995, 99.995, 0.615, 1e6 + 0.005, 33.335, 1234567.891, -0.5, 1.5, 0.1 + 0.2, 1e9 + 0.015, 5e-324, 45035996273704.955,
]  # fmt: skip
DATES = [
    dt.date.min, dt.date.max, dt.date(1582, 10, 4), dt.date(1582, 10, 15), dt.date(1969, 12, 31), dt.date(1970, 1, 1), dt.date(2024, 2, 29),
    dt.date(2024, 12, 30), dt.date(2021, 1, 3), dt.date(999, 12, 31), dt.date(1000, 1, 1), dt.date(2023, 1, 1), dt.date(9999, 12, 30),
]  # fmt: skip
TIMES = [
    dt.datetime.min, dt.datetime.max, dt.datetime(1969, 12, 31, 23, 0, 0, 1), dt.datetime(1582, 10, 10, 1, 2, 3), dt.datetime(2024, 2, 29, 12, 0, 0, 500000),
    dt.datetime(1999, 12, 31, 23, 59, 59, 999999), dt.datetime(2024, 1, 1), dt.datetime(999, 6, 7, 8, 9, 10), dt.datetime(2024, 3, 31, 2, 30),
]  # fmt: skip


@dataclass(frozen=True)
class Order:
    """A record that is no tuple, with what it computes."""

    amount: int
    name: str
    price: float | None = None

    FEE = 3

    @property
    def doubled(self) -> int:
        return self.amount * 2 + self.FEE

    def times(self, n: int, by: int = 1) -> int:
        return self.doubled * n // by


class Point(NamedTuple):
    """A record that is a tuple."""

    x: int
    y: float | None
    name: str = "origin"


POINT = of_record_class(Point)
ORDER = of_record_class(Order)
TABLE = {0: "none", 7: "seven", -1: "minus", True: "one"}
PAIRS = {"a": (1, 0.5), "12": (2, None), "": (3, 1.5)}
LEAGUES = ["first", "second", "third"]
HOUR = dt.timedelta(hours=1)
LIMIT = 3
NAMES = frozenset({"a", "12", "😀b"})


def clamp(x: int) -> int:
    """A function of the user's that others call."""
    if x < 0:
        return 0
    return x if x < 100 else 100


def doublings(x: int) -> int:
    y = x
    y = y + y
    y = y + y
    y = y + y
    y = y + y
    y = y + y
    return y + y


def branches(x: int, y: int) -> tuple[int, str]:
    """Assignments in branches, and a division that must not be tried on the other way."""
    kind = "other"
    if y == 0:
        z = x
        kind = "zero"
    elif x > y:
        z = x // y
        z += z % 7
    else:
        z = y - x
    a, b = z, kind
    return a, b


def early(x: int | None) -> int | None:
    if x is None:
        return None
    half = x // 2
    if half > 10:
        return half - 1
    return -half


def guarded_share(x: int, y: int) -> int:
    if y != 0:
        q = x // y
        return q * q + q
    return 0


def matched(x: int) -> str:
    match x:
        case 0:
            kind = "none"
        case 1 | 2 | -1:
            return "few"
        case n if n > 50:
            kind = f"{n} is many"
        case _:
            kind = "some"
    return kind + "!"


def matched_tuple(t: tuple[int, str]) -> int:
    match t:
        case (0, _):
            return 0
        case (1 | 7, name):
            return len(name)
        case (n, "a") as pair:
            return n + len(pair)
    return -1


def measured(s: str) -> int:
    if s and (n := len(s.strip())) > 1:
        return n
    return -1 if (m := s.count("a")) > 0 and m < 3 else m


@dataclass(frozen=True)
class Case:
    """A function, the types of its parameters, and whether it refuses some values that CPython accepts."""

    function: Callable[..., Any]
    types: tuple[Type, ...]
    refuses: bool = False


def case(function: Callable[..., Any], *types: Type, refuses: bool = False) -> Case:
    return Case(function, types, refuses)


CASES = [
    # int
    case(lambda a, b: a + b, INT, INT),
    case(lambda a, b: a - b, INT, INT),
    case(lambda a, b: a * b, INT, INT),
    case(lambda a, b: a // b, INT, INT),
    case(lambda a, b: a % b, INT, INT),
    case(lambda a, b: a / b, INT, INT, refuses=True),
    case(lambda a, b: (a & b, a | b, a ^ b, ~a), INT, INT),
    case(lambda a, b: (a < b, a <= b, a > b, a >= b, a == b, a != b), INT, INT),
    case(lambda a, b: (min(a, b), max(a, b), min(a, b, 3)), INT, INT),
    case(lambda a, b: (a and b, a or b), INT, INT),
    case(lambda a, b: b != 0 and a // b > 1, INT, INT, refuses=True),
    case(lambda a, b: a if b else 10 // b, INT, INT),
    case(lambda a: (a // 3, a % 3, a // 7 % 5), INT),
    case(lambda a: (a // -3, a % -3), INT),
    case(lambda a: -a, INT),
    case(lambda a: abs(a), INT),
    case(lambda a: a**2, INT),
    case(lambda a: a**3, INT),
    case(lambda a: a << 5, INT),
    case(lambda a: (a >> 5, a >> 100), INT),
    case(lambda a: a / 3, INT, refuses=True),
    case(lambda a: (0 < a <= 10, not a, a in (1, 2, 7), a not in {1, 63}, a in [2, True]), INT),
    case(lambda a: (str(a), f"<{a}>", float(a), bool(a), int(a), round(a)), INT),
    case(lambda a: (a + 0.5, a > 0.5, a <= 2.5, a == 2.5, a != 7.0, a < 1e300 or a > 0), INT, refuses=True),
    case(lambda a: a * LIMIT + 2**10, INT),
    case(lambda a: clamp(a) + 1, INT),
    case(doublings, INT),
    case(branches, INT, INT),
    case(guarded_share, INT, INT),
    case(lambda a, f: (a < f, a <= f, a > f, a >= f, a == f, a != f), INT, FLOAT, refuses=True),
    case(lambda a, f: (a + f, f - a, a * f), INT, FLOAT),
    case(lambda a, k=LIMIT: a > k, INT),
    case(
        lambda a: (a // 8, a % 8, a // 1, a % 1, a // 2**62, a % 2**62, a % 7, a // 7, a // 1000, a % (2**62 + 1)), INT
    ),
    case(
        lambda a: (f"{a:05d}", f"{a:,}", f"{a:d}", f"{a:<6}|", f"{a:>6}", f"{a:^7}", f"{a:*^+9}", f"{a:+}", f"{a:=5}"),
        INT,
    ),
    case(lambda a: (f"{a:x}", f"{a:X}", f"{a:b}", f"{a:08x}", f"{a:>+12x}"), INT, refuses=True),
    case(lambda a: (f"{a:.2f}", f"{a:,.1f}", f"{a:.1%}", f"{a:012.3f}"), INT, refuses=True),
    case(lambda a: (f"{a!s:>5}", format(a, "3d"), format(a), round(a, 2)), INT),
    case(lambda a, b: divmod(a, b), INT, INT),
    case(lambda a: (TABLE.get(a), TABLE.get(a, "other"), a in TABLE), INT),
    case(lambda a: TABLE[a], INT),
    case(lambda a: LEAGUES[a], INT),
    case(lambda a: (y := a // 2) % 7 + y, INT),
    case(matched, INT),
    case(lambda a: chr(a), INT, refuses=True),
    case(lambda a: [i * 2 for i in range(a) if i % 2] if a < 100 else [], INT),
    case(lambda a: ([i for i in range(3, a, 2)], [i for i in range(5, a, -1)]) if -99 < a < 100 else ([], []), INT),
    case(lambda a: (isinstance(a, int), isinstance(a, (str, float)), isinstance(a, bool)), INT),
    case(functools.partial(clamp), INT),
    case(lambda a: {"a": a, "b": None}, INT),
    case(lambda a: {"x": str(a)}["x"] if a else "0", INT),
    case(lambda a: [a, 1] * 2, INT),
    # float
    case(lambda a: (f"{a:.2f}", f"{a:.0f}", f"{a:.1f}", f"{a:.5f}"), FLOAT, refuses=True),
    case(
        lambda a: (f"{a:,.2f}", f"{a:+.1f}", f"{a:09.2f}", f"{a:>12.3f}", f"{a:<+9.1f}|", f"{a:f}"), FLOAT, refuses=True
    ),
    case(lambda a: (f"{a:.1%}", f"{a:.0%}"), FLOAT, refuses=True),
    case(lambda a: (round(a, 2), round(a, 1), round(a, 0), round(a, 3)), FLOAT, refuses=True),
    case(lambda a: (round(a, 5), round(a, 10), round(a, 15)), FLOAT, refuses=True),
    case(lambda a, b: divmod(a, b), FLOAT, FLOAT),
    case(lambda a, b: (a + b, a - b, a * b), FLOAT, FLOAT),
    case(lambda a, b: a / b, FLOAT, FLOAT),
    case(lambda a, b: a % b, FLOAT, FLOAT),
    case(lambda a, b: a // b, FLOAT, FLOAT),
    case(lambda a, b: (a < b, a <= b, a > b, a >= b, a == b, a != b), FLOAT, FLOAT),
    case(lambda a, b: (min(a, b), max(a, b)), FLOAT, FLOAT),
    case(lambda a: (-a, abs(a), bool(a), a > 1.0, a < 1.0, a == 1.0, 1.0 > a, a != 0.5), FLOAT),
    case(lambda a: (a > 1, a <= 2, a == 1, 1 != a), FLOAT),
    case(lambda a: a in (1.0, 0.0, 2.5), FLOAT),
    case(lambda a: round(a), FLOAT),
    case(lambda a: int(a), FLOAT, refuses=True),
    case(lambda a: (math.floor(a), math.ceil(a)), FLOAT, refuses=True),
    case(lambda a: math.sqrt(a), FLOAT),
    case(lambda a: math.isnan(a), FLOAT),
    case(lambda a: str(a), FLOAT, refuses=True),
    case(lambda a: a if a > 0.0 else 0.0, FLOAT),
    # bool
    case(lambda p, q: (p and q, p or q, not p, p & q, p | q, p ^ q, p == q, p < q), BOOL, BOOL),
    case(lambda p, q: (p + q, p * 2, p + 0.5, str(p), int(p), float(q), -p, p == 1), BOOL, BOOL),
    # str
    case(lambda a: (len(a), bool(a), a * 2, a[::-1], a + "!", "a" in a, a not in ("a", "ß")), STR),
    case(lambda a: (a.lower(), a.upper()), STR, refuses=True),
    case(lambda a: (a.strip(), a.lstrip(), a.rstrip(), a.strip("ax "), a.lstrip("a"), a.rstrip("b")), STR),
    case(lambda a: a.split(), STR),
    case(lambda a: a.lower().split(), STR, refuses=True),
    case(
        lambda a: (a.split(","), a.split("a"), a.split(",", 1), a.split("a", maxsplit=1), a.split("|"), a.split("😀")),
        STR,
    ),
    case(lambda a: a.split(",")[1], STR),
    case(lambda a: a.split(",")[-2], STR),
    case(lambda a: (a.split(",")[0], a.split()[1:], a.split()[:-1], len(a.split())), STR),
    case(lambda a: (a.replace("a", "--"), a.replace(",", ""), a.startswith("a"), a.endswith(("b", "\n"))), STR),
    case(lambda a: (a[:2], a[1:], a[-2:], a[:-1], a[1:3], a[-3:-1], a[5:2]), STR),
    case(lambda a: a[0], STR),
    case(lambda a: a[-1], STR),
    case(lambda a: int(a), STR, refuses=True),
    case(lambda a: float(a), STR, refuses=True),
    case(lambda a: (f"{a}:{len(a)}", a in NAMES, ",".join(a.split())), STR),
    case(lambda a: a or "empty", STR),
    case(lambda a: [a, a + a], STR),
    case(lambda a: [(a, 1), ("it's", len(a))], STR),
    case(
        lambda a, b: (a == b, a < b, a >= b, a + b, b in a, a.startswith(b), a.endswith(b), a.find(b), min(a, b)),
        STR,
        STR,
    ),
    case(lambda a, i: a[i], STR, INT),
    case(lambda a, i: (a[i:], a[:i], a[1:i]), STR, INT),
    case(str.lower, STR, refuses=True),
    case(lambda a: (a.isdigit(), a.isalpha(), a.isalnum(), a.isupper(), a.islower(), a.isdecimal()), STR, refuses=True),
    case(lambda a: (a.isspace(), a.isascii(), a.count("a"), a.count(",,"), a.count("😀"), list(a), sorted(a)), STR),
    case(
        lambda a: (a.zfill(6), a.zfill(0), a.ljust(6), a.rjust(6, "é"), a.center(6), a.center(7), a.center(3, "-")), STR
    ),
    case(lambda a: (f"{a:<6}", f"{a:>6}", f"{a:^6}", f"{a:^7}", f"{a:😀>4}", f"{a:.2}", f"{a:>3.1s}"), STR),
    case(lambda a: (a.removeprefix("a"), a.removesuffix("b"), a.removeprefix(""), a.removesuffix("")), STR),
    case(lambda a, b: (a.removeprefix(b), a.removesuffix(b)), STR, STR),
    case(lambda a, b: a.index(b), STR, STR),
    case(lambda a: a.capitalize(), STR, refuses=True),
    case(lambda a: ord(a), STR),
    case(lambda a: (a.encode(), a.encode("utf-8")), STR),
    case(lambda a: [c for c in a if c not in ("a", " ")], STR),
    case(lambda a: {c: a.count("a") for c in a}, STR, refuses=True),
    case(lambda a: PAIRS.get(a, (0, None)), STR),
    case(lambda a: PAIRS[a], STR),
    case(measured, STR),
    case(lambda a: dt.date.fromisoformat(a), STR, refuses=True),
    case(lambda a: dt.datetime.fromisoformat(a), STR, refuses=True),
    # date and time
    case(
        lambda d: (
            d.weekday(),
            d.isoweekday(),
            d.isoformat(),
            str(d),
            d.isocalendar()[0],
            d.isocalendar()[1],
            d.isocalendar()[2],
        ),
        DATE,
    ),
    case(lambda d: (d.strftime("%d.%m. %j %a %b %B %A it's 100%% T"), f"{d:%d}"), DATE),
    case(lambda d: d.strftime("%Y-%m-%d"), DATE, refuses=True),
    case(lambda d: d + dt.timedelta(days=1), DATE),
    case(lambda d: d - dt.timedelta(hours=25), DATE),
    case(lambda d: d.year * 100 + d.month, DATE),
    case(
        lambda a, b: ((a - b).days, (a - b).seconds, a - b > dt.timedelta(0), abs(a - b).days, a < b, a == b),
        DATE,
        DATE,
    ),
    case(lambda a, b: (a - b).total_seconds(), DATE, DATE, refuses=True),
    case(lambda d, n: d + dt.timedelta(days=n), DATE, INT, refuses=True),
    case(lambda t: (t.weekday(), t.date(), t.isoformat(), str(t), t.isocalendar()[1], t.microsecond), DATETIME),
    case(lambda t: t.strftime("%H:%M:%S.%f %j %I %p %y"), DATETIME),
    case(lambda t: (t.strftime("%Y%m%d"), f"{t:%Y}"), DATETIME, refuses=True),
    case(lambda t: t + HOUR, DATETIME),
    case(lambda t: t - dt.timedelta(days=1, microseconds=1), DATETIME),
    case(
        lambda a, b: ((a - b).days, (a - b).seconds, (a - b).microseconds, a - b >= HOUR, (a - b) // HOUR),
        DATETIME,
        DATETIME,
    ),
    case(lambda a, b: ((a - b).total_seconds(), (a - b) / HOUR), DATETIME, DATETIME, refuses=True),
    case(lambda a, b: (min(a, b), max(a, b), a <= b, a != b, bool(a - b)), DATETIME, DATETIME),
    case(lambda t, n: t + dt.timedelta(seconds=n), DATETIME, INT, refuses=True),
    case(lambda y, m: dt.date(y, m, 28), INT, INT),
    case(lambda y, m: dt.datetime(2024, 1, 31, y, m), INT, INT),
    # dataclass
    case(lambda o: (o.amount, o.name), ORDER),
    case(lambda o: o.doubled, ORDER),
    case(lambda o: o.times(3, by=2), ORDER),
    case(lambda o: (replace(o, amount=1), bool(o), Order(o.amount, o.name)), ORDER),
    case(lambda a, b: (a == b, a != b), ORDER, ORDER, refuses=True),
    case(lambda a, b: a == b, POINT, POINT, refuses=True),
    case(lambda p: p._replace(name=p.name + "!"), POINT),
    case(operator.attrgetter("x", "name"), POINT),
    case(operator.itemgetter(1), Tuple((INT, STR))),
    case(matched_tuple, Tuple((INT, STR))),
    case(lambda x: x + 1 if isinstance(x, int) else 0, Optional(INT)),
    case(len, STR),
    # None
    case(lambda x: (x is None, x is not None, x == 1, x != 1, not x, x in (1, None), x in (1, 7)), Optional(INT)),
    case(lambda x: x + 1, Optional(INT)),
    case(lambda x: x + 1 if x is not None else 0, Optional(INT)),
    case(lambda x: x or 5, Optional(INT)),
    case(lambda x: x is not None and x > 3, Optional(INT)),
    case(lambda x: x is None or x > 3, Optional(INT)),
    case(lambda x: x if x else None, Optional(INT)),
    case(early, Optional(INT)),
    case(lambda x: (x == 0.5, x is None), Optional(FLOAT)),
    case(lambda a, b: a == b, Optional(INT), Optional(INT)),
    case(lambda a: (a, 1) if a > 0 else None, INT),
    case(lambda a: len(a) if a else -1, Optional(STR)),
    # tuple, record
    case(lambda t: (t[1], t[0] + 1, t[-1], t[:1]), Tuple((INT, STR))),
    case(lambda t: t, Tuple((INT, STR))),
    case(lambda t, u: (t == u, t < u, t >= u, t != u), Tuple((INT, STR)), Tuple((INT, STR))),
    case(lambda p: p.x > 3 and p.y is not None and p.y > 2.0, POINT),
    case(lambda p: (p.name, p[0]), POINT),
    case(lambda p: Point(p.x // 2, p.y, name=p.name + "'"), POINT),
    case(lambda p: Point(p.x // 2, None), POINT),
    # list
    case(lambda xs: (len(xs), bool(xs), 3 in xs, xs[1:], xs[:-1], xs + [1]), List(INT)),
    case(lambda xs: xs[0], List(INT)),
    case(lambda xs: xs[-2], List(INT)),
    case(lambda xs: xs if xs else [1], List(INT)),
    case(lambda xs: [x // 2 for x in xs if x > 0], List(INT)),
    case(lambda xs: (any(x > 5 for x in xs), all(x for x in xs), sorted(xs)), List(INT)),
    case(lambda xs: any(10 // x > 1 for x in xs), List(INT), refuses=True),
    case(lambda xs: sum(xs), List(INT), refuses=True),
    case(lambda xs: (max(xs), min(xs)), List(INT)),
    case(lambda xs: (sorted(xs, reverse=True), sorted(xs, key=lambda x: x % 7), any(xs), all(xs)), List(INT)),
    case(lambda xs: sorted(xs, key=lambda x: (x % 2, x // 7), reverse=True), List(INT)),
    case(lambda xs: (max(xs, default=5), min(xs, key=lambda x: x % 3, default=None)), List(INT)),
    case(lambda xs: max(xs, key=lambda x: x % 2), List(INT)),
    case(lambda xs: (xs == [0], xs == [], xs != [0, 1], xs < [0, 5], xs >= [1]), List(INT)),
    case(lambda a, b: (a == b, a < b, a + b), List(INT), List(INT)),
    case(lambda xs: sum(xs, 1), List(INT), refuses=True),
    case(lambda xs: sum(xs, 0.0), List(FLOAT)),
    case(lambda xs: sum(xs), List(FLOAT), refuses=True),
    case(
        lambda xs: (
            sorted(xs, key=len),
            sorted(xs, key=len, reverse=True),
            sorted(xs, key=str.strip),
            [x[:1] for x in xs],
        ),
        List(STR),
    ),
    case(lambda ps: sorted(ps, key=lambda p: p[1]), List(Tuple((INT, STR)))),
    case(lambda ps: max(ps, key=operator.itemgetter(1))[0], List(Tuple((INT, STR)))),
    case(lambda xs: ",".join(str(x) for x in xs), List(INT)),
    case(lambda ps: ps[0][1], List(Tuple((INT, STR)))),
    case(lambda ps: [name for x, name in ps if x], List(Tuple((INT, STR)))),
    case(lambda a: [(word, len(word)) for word in a.split() if word != "a"], STR),
    case(lambda a: [c for part in a.split() for c in part.split(",")], STR),
    # dict
    case(lambda d: d["k"], Dict(INT)),
    case(lambda d: (d.get("k"), d.get("k", 0), "k" in d, len(d)), Dict(INT)),
    case(lambda d: ([k for k in d], [(k, v) for k, v in d.items()], sorted(d.values()), list(d.keys())), Dict(INT)),
    case(lambda d: {k: v for k, v in d.items() if v != 1}, Dict(INT)),
]


def values_of(type_: Type, few: bool) -> list[Any]:
    """Adversarial values of a type; fewer where they are combined."""
    match type_:
        case Optional(inner):
            return [None, *values_of(inner, few)]
        case Tuple(items):
            return list(
                itertools.islice(zip(*(itertools.cycle(values_of(item, True)) for item in items), strict=False), 24)
            )
        case Record(cls, _, items):
            return [cls(*row) for row in values_of(Tuple(items), few)]
        case Dict(value):
            return [{}, {"k": values_of(value, True)[1]}, {"z": values_of(value, True)[2]}, {"k": 1, "": 2}]
        case List(item):
            pool = values_of(item, True)
            return [[], pool[:1], pool[:2], pool[:3], [pool[-1]] * 2]
    return {
        INT: INTS,
        FLOAT: FLOATS if few else FLOATS + TIES,
        BOOL: [True, False],
        STR: TEXTS[::3] + TEXTS[-12:] if few else TEXTS,
        DATE: DATES,
        DATETIME: TIMES,
    }[type_]


def rows_of(case_: Case) -> list[tuple[Any, ...]]:
    few = len(case_.types) > 1
    return list(itertools.product(*(values_of(type_, few) for type_ in case_.types)))


@pytest.fixture(scope="module")
def session(request: pytest.FixtureRequest) -> Iterator[SparkSession]:
    """A session where code generation really runs; constants are not folded away by a local relation."""
    wanted = {
        "spark.sql.ansi.enabled": "true",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.timestampType": "TIMESTAMP_NTZ",
        "spark.sql.optimizer.excludedRules": "org.apache.spark.sql.catalyst.optimizer.ConvertToLocalRelation",
        "spark.sql.shuffle.partitions": "1",
    }
    try:
        spark: SparkSession = request.getfixturevalue("spark")
    except pytest.FixtureLookupError:
        spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    before = {key: spark.conf.get(key, None) for key in wanted}
    for key, value in wanted.items():
        spark.conf.set(key, value)
    yield spark
    for key, value in before.items():
        spark.conf.unset(key) if value is None else spark.conf.set(key, value)


def arrow_type(type_: Type) -> pa.DataType:
    match type_:
        case Optional(inner):
            return arrow_type(inner)
        case List(item):
            return pa.list_(arrow_type(item))
        case Dict(value):
            return pa.map_(pa.string(), arrow_type(value))
        case Tuple() | Record():
            names = type_.names if isinstance(type_, Record) else [f"_{i}" for i in range(len(type_.items))]
            return pa.struct([(n, arrow_type(t)) for n, t in zip(names, type_.items, strict=True)])
    return {
        INT: pa.int64(),
        FLOAT: pa.float64(),
        BOOL: pa.bool_(),
        STR: pa.string(),
        DATE: pa.date32(),
        DATETIME: pa.timestamp("us"),
    }[type_]


def table_of(types: Sequence[Type], rows: Sequence[tuple[Any, ...]]) -> pa.Table:
    """One column for each leaf, named by parameter and path."""
    columns: dict[str, Any] = {"row": pa.array(range(len(rows)), pa.int64())}

    def add(type_: Type, values: list[Any], index: int, path: tuple[int, ...]) -> None:
        for place, (name, child) in enumerate(type_.children):
            parts = [value[place] if isinstance(value, tuple) else getattr(value, name) for value in values]
            add(child, parts, index, (*path, place))
        if not type_.children:
            columns[column_name(Input(index, path))] = pa.array([plain(v) for v in values], arrow_type(type_))

    for index, type_ in enumerate(types):
        add(type_, [row[index] for row in rows], index, ())
    return pa.table(columns)


def plain(value: Any) -> Any:
    if isinstance(value, list):
        return [plain(item) for item in value]
    return {f"_{place}": plain(item) for place, item in enumerate(value)} if type(value) is tuple else value


def column_name(leaf: Input) -> str:
    return "/".join(map(str, (f"p{leaf.parameter}", *leaf.path)))


def name_of(leaf: Input) -> str:
    return quoted(column_name(leaf))


FAILED = object()


def by_python(case_: Case, row: tuple[Any, ...]) -> Any:
    try:
        result = case_.function(*row)
    except Exception:
        return FAILED
    return FAILED if out_of_range(result) else result


def out_of_range(value: Any) -> bool:
    if type(value) is int:
        return not -(2**63) <= value < 2**63
    return isinstance(value, tuple | list) and any(map(out_of_range, value))


def by_spark(spark: SparkSession, forms: Sequence[ColumnForm], table: pa.Table) -> list[list[Any]]:
    """Each form's result for each row, FAILED where the expression fails: every expression is tried on its own."""
    frame = spark.createDataFrame(table).coalesce(1)
    outputs = []
    for number, form in enumerate(forms):
        for name, expr in form.shared:
            frame = frame.withColumn(f"{number}{name}", tried(spark, kept(expr, form, number)))
        leaves = enumerate(form.result.leaves())
        outputs += [tried(spark, kept(leaf, form, number)).alias(f"{number}:{place}") for place, leaf in leaves]
    result = frame.select("row", *outputs).toArrow().sort_by("row")
    return [
        [
            FAILED if None in row else assemble(form.type, iter([leaf for (leaf,) in row]))
            for row in columns(result, form, number)
        ]
        for number, form in enumerate(forms)
    ]


def columns(result: pa.Table, form: ColumnForm, number: int) -> Iterator[tuple[Any, ...]]:
    """The leaves of one form's result, row by row."""
    return zip(*(result[f"{number}:{place}"].to_pylist() for place in range(len(form.result.leaves()))), strict=True)


def kept(expr: Expr, form: ColumnForm, number: int) -> str:
    """The value in an array, which tells None from a failure; a shared value that failed fails where it is used."""
    text = render(expr, name_of)
    for name, _ in form.shared:
        column = quoted(f"{number}{name}")
        text = text.replace(
            quoted(name), f"(CASE WHEN {column} IS NULL THEN raise_error('shared') ELSE {column}[0] END)"
        )
    return f"array({text})"


def as_in_a_job(spark: SparkSession, forms: Sequence[ColumnForm], table: pa.Table) -> list[list[Any]]:
    """The results as a job computes them: nothing is tried, common subexpressions are computed once."""
    frame = spark.createDataFrame(table).coalesce(1)
    outputs = []
    for number, form in enumerate(forms):
        names = {quoted(name): quoted(f"{number}{name}") for name, _ in form.shared}

        def sql(expr: Expr, names: dict[str, str] = names) -> str:
            text = render(expr, name_of)
            for old, new in names.items():
                text = text.replace(old, new)
            return text

        for name, expr in form.shared:
            frame = frame.selectExpr("*", f"{sql(expr)} AS {names[quoted(name)]}")
        outputs += [f"{sql(leaf)} AS `{number}:{place}`" for place, leaf in enumerate(form.result.leaves())]
    result = frame.selectExpr("row", *outputs).toArrow().sort_by("row")
    return [
        [assemble(form.type, iter(row)) for row in columns(result, form, number)] for number, form in enumerate(forms)
    ]


def tried(spark: SparkSession, text: str) -> Column:
    """NULL where the expression fails; Spark has this for single functions only (try_add, …)."""
    jvm: Any = spark.sparkContext._jvm
    parsed = spark._jsparkSession.sessionState().sqlParser().parseExpression(text)
    wrapped = jvm.org.apache.spark.sql.catalyst.expressions.TryEval(parsed)
    return Column(jvm.org.apache.spark.sql.classic.ExpressionUtils.column(wrapped))


def assemble(type_: Type, leaves: Iterator[Any]) -> Any:
    if not type_.children:
        return from_column(type_, next(leaves))
    items = [assemble(child, leaves) for _, child in type_.children]
    return type_.cls(*items) if isinstance(type_, Record) else tuple(items)


def from_column(type_: Type, value: Any) -> Any:
    if value is None:
        return None
    match type_:
        case Optional(inner):
            return from_column(inner, value)
        case List(item):
            return [from_column(item, one) for one in value]
        case Tuple(items):
            return tuple(from_column(item, one) for item, one in zip(items, value.values(), strict=True))
        case Dict(item):
            return {key: from_column(item, one) for key, one in value}
        case Record(cls, _, items):
            return cls(*(from_column(item, one) for item, one in zip(items, value.values(), strict=True)))
    return value


def same(left: Any, right: Any) -> bool:
    """Equality that tells 1 from True and 1.0, 0.0 from -0.0, and lets NaN equal NaN."""
    if type(left) is not type(right):
        return False
    if isinstance(left, tuple | list):
        return len(left) == len(right) and all(map(same, left, right))
    return repr(left) == repr(right)


def compiled(case_: Case) -> ColumnForm:
    verdict = decide(Closure(case_.function, Location(__file__, 1), "map"), case_.types)
    assert isinstance(verdict, ColumnForm), f"{verdict.refusal} (line {verdict.refusal.line})"
    return verdict


def problems(case_: Case, results: list[Any], rows: list[tuple[Any, ...]]) -> list[str]:
    found = []
    for row, spark_value in zip(rows, results, strict=True):
        python_value = by_python(case_, row)
        if spark_value is FAILED and (python_value is FAILED or case_.refuses):
            continue
        if spark_value is FAILED or python_value is FAILED or not same(python_value, spark_value):
            shown = ["failed" if value is FAILED else repr(value) for value in (python_value, spark_value)]
            found.append(f"{row}: Python {shown[0]}, Spark {shown[1]}")
    return found


def groups() -> list[list[Case]]:
    """Cases over the same values, a few at a time: one query does them all."""
    by_types: dict[tuple[Type, ...], list[Case]] = {}
    for case_ in CASES:
        by_types.setdefault(case_.types, []).append(case_)
    return [cases[start : start + 8] for cases in by_types.values() for start in range(0, len(cases), 8)]


ELIMINATION = "spark.sql.subexpressionElimination.enabled"


def check(spark: SparkSession, cases: Sequence[Case], rows: list[tuple[Any, ...]]) -> None:
    forms = [compiled(case_) for case_ in cases]
    spark.conf.set(
        ELIMINATION, "false"
    )  # it hoists an expression that fails out of TryEval, which then catches nothing
    try:
        tried_ = by_spark(spark, forms, table_of(cases[0].types, rows))
    finally:
        spark.conf.unset(ELIMINATION)
    found = [
        problem for case_, results in zip(cases, tried_, strict=True) for problem in problems(case_, results, rows)
    ]
    assert not found[:5]
    whole = [place for place in range(len(rows)) if all(results[place] is not FAILED for results in tried_)]
    if whole:
        again = as_in_a_job(spark, forms, table_of(cases[0].types, [rows[place] for place in whole]))
        assert all(same([results[i] for i in whole], job) for results, job in zip(tried_, again, strict=True))


@pytest.mark.parametrize("cases", groups(), ids=lambda cases: ",".join(map(str, cases[0].types)))
def test_closures_give_what_python_gives(session: SparkSession, cases: list[Case]) -> None:
    check(session, cases, rows_of(cases[0]))


OPERATORS = {
    "int": (
        "({} + {})",
        "({} - {})",
        "({} * {})",
        "({} // {})",
        "({} % {})",
        "({} & {})",
        "min({}, {})",
        "max({}, {})",
    ),
    "float": (
        "({} + {})",
        "({} - {})",
        "({} * {})",
        "({} / {})",
        "({} // {})",
        "({} % {})",
        "min({}, {})",
        "max({}, {})",
    ),
    "bool": ("({} and {})", "({} or {})", "({} ^ {})"),
}
COMPARISONS = ("({} < {})", "({} <= {})", "({} == {})", "({} != {})", "({} >= {})")
LEAVES = {"int": ("a", "b", "3", "-2"), "float": ("f", "0.5"), "bool": ("p", "(a > 2)")}


def trees(kind: str, depth: int) -> st.SearchStrategy[str]:
    """Random expressions of a type, as text: the reader reads them like a user's."""
    if depth == 0:
        return st.sampled_from(LEAVES[kind])
    inner = trees(kind, depth - 1)
    pairs = [st.builds(str.format, st.sampled_from(OPERATORS[kind]), inner, inner)]
    if kind == "bool":
        for other in ("int", "float"):
            sides = trees(other, depth - 1)
            pairs.append(st.builds(str.format, st.sampled_from(COMPARISONS), sides, sides))
        pairs.append(st.builds("(not {})".format, inner))
    pairs.append(st.builds("({} if {} else {})".format, inner, trees("bool", depth - 1), inner))
    if kind == "int":
        pairs.append(st.builds("(-{})".format, inner))
    return st.one_of(st.sampled_from(LEAVES[kind]), *pairs)


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    return (tmp_path_factory.mktemp("expressions") / f"page{number}.py" for number in itertools.count())


@settings(
    max_examples=settings().max_examples // 5,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(texts=st.lists(st.one_of(*(trees(kind, 2) for kind in OPERATORS)), min_size=6, max_size=6))
def test_random_expressions_give_what_python_gives(
    session: SparkSession, pages: Iterator[Path], texts: list[str]
) -> None:
    page = next(pages)
    page.write_text("F = (\n" + "".join(f"    lambda a, b, f, p: {text},\n" for text in texts) + ")\n")
    namespace: dict[str, Any] = {}
    exec(compile(page.read_text(), str(page), "exec"), namespace)
    types = (INT, INT, FLOAT, BOOL)
    rows = [row for place, row in enumerate(itertools.product(INTS, INTS, FLOATS, [True, False])) if place % 37 == 0]
    check(session, [Case(function, types, refuses=True) for function in namespace["F"]], rows)

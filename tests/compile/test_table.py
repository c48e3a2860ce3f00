"""The table of what compiles: parameter types, a function's text, and its form with the result's type or the reason."""

# ruff: noqa: E501, PLW1641, RET504 - what a user writes is the point

from __future__ import annotations

import calendar
import dataclasses
import datetime as dt
import functools
import itertools
import math
import operator
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from morisot.compile.choose import verdict_of
from morisot.compile.ir.expressions import Input, Literal, walk
from morisot.compile.verdict import ColumnForm, KernelForm, StageForm, Verdict
from morisot.errors import Location
from morisot.plan.nodes.closure import Closure
from morisot.types.element import (
    ANY,
    BOOL,
    DATE,
    DATETIME,
    FLOAT,
    INT,
    STR,
    Decimal,
    Dict,
    Keyed,
    List,
    Optional,
    Tuple,
    Type,
)  # fmt: skip
from morisot.types.infer import of_record_class


class Point(NamedTuple):
    x: int
    y: float | None
    name: str = "origin"


@dataclasses.dataclass(frozen=True)
class Order:
    price: float
    amount: int

    RATE = 1.5

    @property
    def total(self) -> float:
        return self.price * self.amount

    def times(self, n: int) -> float:
        return self.total * n


@dataclasses.dataclass(frozen=True, eq=False)
class Odder(Order):
    def __eq__(self, other: object) -> bool:
        return True

    def __post_init__(self) -> None:
        pass


@dataclasses.dataclass
class Checked:
    price: float

    def __post_init__(self) -> None:
        assert self.price > 0


class Odd(Point):
    @property
    def x(self) -> int:
        return 1


def half(x: int) -> float:
    return x / 2


def recursive(x: int) -> int:
    return recursive(x)


def pow_of(x: int, y: int) -> int:
    return x * y


def spell(s: str) -> str:
    return s.swapcase()


STOP_WORDS = {"the", "a"}
POINT, ORDER, MAYBE = of_record_class(Point), of_record_class(Order), Optional(INT)
ODDER = of_record_class(Odder)
GLOBALS = {
    "math": math, "Point": Point, "Order": Order, "Checked": Checked, "half": half, "recursive": recursive,
    "STOP_WORDS": STOP_WORDS, "re": re, "spell": spell, "TABLE": {1: "one", 2: "two"}, "MIXED": {1: 1, 2: "two"},
    "LARGE": dict(enumerate(range(1000))), "NAMES": ["even", "odd"], "PAIRS": {("a", 1): (1, 0.5)},
    "partial": functools.partial, "operator": operator, "pow_of": pow_of, "replace": dataclasses.replace,
    "LARGE_TEXTS": {str(n): n for n in range(200)}, "strptime": dt.datetime.strptime,
    "date": dt.date, "timedelta": dt.timedelta, "RATE": 0.5, "HUGE": 2**70, "OPEN": object(),
}  # fmt: skip

COLUMN = [
    # parameters, text, result
    ((INT,), "lambda x: x * 2 + 1", "int"),
    ((INT,), "lambda x: x / 2", "float"),
    ((INT,), "lambda x: x // 2 % 3", "int"),
    ((INT,), "lambda x: x ** 3", "int"),
    ((INT,), "lambda x: x << 3 | x >> 1", "int"),
    ((INT,), "lambda x: -x if x < 0 else +x", "int"),
    ((INT,), "lambda x: x > 10 ** 9", "bool"),
    ((INT,), "lambda x: 0 < x <= 10", "bool"),
    ((INT,), "lambda x: x in (1, 2, 3)", "bool"),
    ((INT,), "lambda x: x not in {1, 2}", "bool"),
    ((INT,), "lambda x: x > 3 and x % 2 == 0 or not x", "bool"),
    ((INT,), "lambda x: x and x + 1", "int"),
    ((INT,), "lambda x: x + RATE", "float"),
    ((INT,), "lambda x: half(x) + 1.0", "float"),
    ((INT,), "lambda x: (x, str(x), [x, x])", "tuple[int, str, list[int]]"),
    ((INT,), "lambda x: None if x == 0 else 1 / x", "float | None"),
    ((INT,), "lambda x: (x, 1) if x else None", "tuple[int, int] | None"),
    ((INT,), "lambda x: [] if x < 0 else [x]", "list[int]"),
    ((INT,), "lambda x, by=3: x * by", "int"),
    ((INT,), "lambda x: x == 'a'", "bool"),
    ((INT, INT), "lambda a, b: max(a, b, 0)", "int"),
    ((INT, FLOAT), "lambda a, b: a + b", "float"),
    ((FLOAT,), "lambda x: x % 1.0 + x // 2.0", "float"),
    ((FLOAT,), "lambda x: round(x) + int(x) + math.floor(x)", "int"),
    ((FLOAT,), "lambda x: math.sqrt(abs(x))", "float"),
    ((BOOL,), "lambda p: p + 1", "int"),
    ((BOOL, BOOL), "lambda p, q: p & q | (p ^ q)", "bool"),
    ((STR,), "lambda s: s.strip().lower()", "str"),
    ((STR,), "lambda s: s.lower().split()", "list[str]"),
    ((STR,), "lambda s: s.split(',', maxsplit=1)[0]", "str"),
    ((STR,), "lambda s: s[1:-1] + s[0] + s[::-1]", "str"),
    ((STR,), "lambda s: s.startswith(('a', 'b')) and 'x' in s", "bool"),
    ((STR,), "lambda s: int(s) + len(s)", "int"),
    ((STR,), "lambda s: float(s.replace(',', '.'))", "float"),
    ((STR,), "lambda s: s not in STOP_WORDS", "bool"),
    ((STR,), "lambda s: f'{s}: {len(s)}'", "str"),
    ((STR,), "lambda w: (w, 1)", "tuple[str, int]"),
    ((STR,), "lambda s: [(w, 1) for w in s.split() if w not in STOP_WORDS]", "list[tuple[str, int]]"),
    ((STR,), "lambda s: ', '.join(w.strip() for w in s.split(';'))", "str"),
    ((STR,), "str.upper", "str"),
    ((STR,), "lambda s: 3 * s", "str"),
    ((INT,), "def f(x) -> int | None:\n    return x + 1", "int | None"),
    ((STR,), "len", "int"),
    ((MAYBE,), "lambda x: x + 1", "int"),
    ((MAYBE,), "lambda x: x", "int | None"),
    ((MAYBE,), "lambda x: x if x is not None else 0", "int"),
    ((MAYBE,), "lambda x: x or 0", "int"),
    ((MAYBE,), "lambda x: x is None or x > 3", "bool"),
    ((MAYBE, MAYBE), "lambda x, y: x == y", "bool"),
    ((Tuple((INT, STR)),), "lambda t: t[0] + len(t[-1])", "int"),
    ((Tuple((INT, STR)),), "lambda t: t < (3, 'a')", "bool"),
    ((Tuple((INT, STR)),), "lambda t: t + (1.5,)", "tuple[int, str, float]"),
    ((Keyed(STR, INT),), "lambda kv: (kv[1], kv[0])", "tuple[int, str]"),
    ((POINT,), "lambda p: p.x + p[0]", "int"),
    ((POINT,), "lambda p: Point(p.x, None, name='n')", "Point"),
    ((POINT,), "lambda p: Point(x=1, y=p.y)", "Point"),
    ((ORDER,), "lambda o: o.price * o.amount", "float"),
    ((ORDER,), "lambda o: Order(o.price, o.amount + 1)", "Order"),
    ((List(INT),), "lambda xs: sum(x * 2 for x in xs) + max(xs) + xs[-1]", "int"),
    ((List(INT),), "lambda xs: any(x > 2 for x in xs) and all(xs_ > 0 for xs_ in xs)", "bool"),
    ((List(STR),), "lambda xs: sorted(xs)[1:]", "list[str]"),
    ((Dict(INT),), "lambda d: d.get('k', 0) + d['z'] if 'z' in d else len(d)", "int"),
    ((DATETIME,), "lambda t: (t.year, t.hour)", "tuple[int, int]"),
    ((DATE, DATE), "lambda a, b: a < b", "bool"),
    ((ANY,), "lambda x: (x, 1)", "tuple[object, int]"),
    ((INT,), "lambda x: f'{x:05d}{x:,}{x:x}{x:>8}{x:+d}{x:.1f}'", "str"),
    ((FLOAT,), "lambda x: f'{x:.2f} {x:,.1f} {x:8.3f} {x:.0%}'", "str"),
    ((FLOAT,), "lambda x: round(x, 2)", "float"),
    ((STR,), "lambda s: f'{s:<6}{s:*>6}{s:^7}{s:.3}' + format(s, '>4')", "str"),
    ((STR,), "lambda s: s.isdigit() and s.isalpha() or s.isspace()", "bool"),
    ((STR,), "lambda s: s.zfill(5) + s.ljust(4) + s.rjust(6, '.') + s.center(7)", "str"),
    ((STR,), "lambda s: s.removeprefix('a').removesuffix('b').capitalize()", "str"),
    ((STR,), "lambda s: s.count('a') + s.index('a') + ord(s)", "int"),
    ((STR,), "lambda s: s.encode()", "bytes"),
    ((STR,), "lambda s: [c for c in s if c not in 'aeiou']", "list[str]"),
    ((STR,), "lambda s: sum(1 for c in s if c in 'aeiou') + sum(c == 'a' for c in s)", "int"),
    ((STR,), "lambda s: set(s) <= set('ACGT') and all(c in 'AC' for c in s)", "bool"),
    ((STR,), "lambda s: sorted(s) + list(s)", "list[str]"),
    ((INT,), "lambda x: {'a': x, 'b': None}", "dict[str, int | None]"),
    ((List(STR),), "lambda xs: {x: len(x) for x in xs}", "dict[str, int]"),
    ((Dict(INT),), "lambda d: [(k, v) for k, v in d.items()]", "list[tuple[str, int]]"),
    ((Dict(INT),), "lambda d: sum(d.values()) + max(v for v in d.values())", "int"),
    ((INT,), "lambda x: [i * x for i in range(x)]", "list[int]"),
    ((INT,), "lambda x: divmod(x, 7)", "tuple[int, int]"),
    ((INT,), "lambda x: TABLE[x] + TABLE.get(x, 'none')", "str"),
    ((INT,), "lambda x: TABLE.get(x)", "str | None"),
    ((INT,), "lambda x: NAMES[x % 2]", "str"),
    ((STR, INT), "lambda a, b: PAIRS[a, b]", "tuple[int, float]"),
    ((INT,), "partial(half)", "float"),
    ((INT,), "partial(pow_of, 3)", "int"),
    ((Tuple((INT, STR)),), "operator.itemgetter(1)", "str"),
    ((Tuple((INT, STR)),), "operator.itemgetter(1, 0)", "tuple[str, int]"),
    ((POINT,), "operator.attrgetter('name')", "str"),
    ((INT, INT), "operator.add", "int"),
    ((INT,), "lambda x: isinstance(x, int) and not isinstance(x, (str, bool))", "bool"),
    ((MAYBE,), "lambda x: x + 1 if isinstance(x, int) else 0", "int"),
    ((INT,), "lambda x: (y := x + 1) * y", "int"),
    ((STR,), "def f(s):\n    if s and (n := len(s)) > 3:\n        return n\n    return 0", "int"),
    ((List(INT),), "lambda xs: [y for x in xs if (y := x + 1) > 0]", "list[int]"),
    (
        (INT,),
        "def f(x):\n    match x:\n        case 1 | 2: return 'few'\n        case n if n > 9: return str(n)\n    return ''",
        "str",
    ),
    (
        (Tuple((INT, MAYBE)),),
        "def f(t):\n    match t:\n        case (0, None): y = 1\n        case (a, _): y = a\n    return y",
        "int",
    ),
    ((ORDER,), "lambda o: o.total + o.times(2) + o.RATE", "float"),
    ((ORDER, ORDER), "lambda a, b: a == b", "bool"),
    ((ORDER,), "lambda o: replace(o, amount=o.amount + 1)", "Order"),
    ((POINT,), "lambda p: p._replace(name='x')", "Point"),
    ((POINT,), "lambda p: 1 if p else 0", "int"),
    ((List(STR),), "lambda xs: sorted(xs, key=len, reverse=True)", "list[str]"),
    ((List(Tuple((INT, STR))),), "lambda xs: max(xs, key=lambda t: t[0])[1]", "str"),
    ((List(INT),), "lambda xs: min(xs, default=0, key=abs)", "int"),
    ((List(INT),), "lambda xs: xs == [1] or xs < [2] or xs != []", "bool"),
    ((List(FLOAT),), "lambda xs: sum(xs, 0.0)", "float"),
    ((List(INT),), "lambda xs: any(xs) and all(xs)", "bool"),
    ((DATE,), "lambda d: d + timedelta(days=1) - timedelta(1)", "date"),
    ((DATETIME, INT), "lambda t, n: t + timedelta(seconds=n)", "datetime"),
    ((DATE, DATE), "lambda a, b: (a - b).days", "int"),
    ((DATETIME, DATETIME), "lambda a, b: (a - b).total_seconds()", "float"),
    ((DATETIME, DATETIME), "lambda a, b: a - b < timedelta(hours=1)", "bool"),
    ((DATETIME,), "lambda t: t.strftime('%Y-%m-%d') + t.isoformat() + f'{t:%H}' + str(t)", "str"),
    ((DATETIME,), "lambda t: (t.date(), t.weekday(), t.isocalendar()[1])", "tuple[date, int, int]"),
    ((STR,), "lambda s: date.fromisoformat(s)", "date"),
    ((INT,), "lambda x: date(x, 1, 1)", "date"),
    ((Decimal(10, 2),), "lambda x: x", "Decimal(10, 2)"),
    ((INT,), "lambda x: x.bit_length() + x.bit_count() + hash(x)", "int"),
    ((INT,), "lambda x: bin(x) + hex(x)", "str"),
    ((INT,), "def f(x):\n    g = lambda y: y + x\n    return g(1)", "int"),
    ((INT,), "def f(x):\n    def g(y):\n        return y + x\n    return g(1) * g(2)", "int"),
    ((INT,), "def f(x):\n    assert x > 0\n    return x", "int"),
    ((INT,), "def f(x):\n    if x < 0:\n        raise ValueError\n    return (x, 'a')", "tuple[int, str]"),
    ((STR,), "def f(s):\n    try:\n        return int(s)\n    except ValueError:\n        return None", "int | None"),
    ((Dict(INT),), "def f(d):\n    try:\n        n = d['k']\n    except KeyError:\n        n = 0\n    return n", "int"),
    ((STR,), "def f(s):\n    a, b = s.split(',')\n    return a + b", "str"),
    ((STR,), "def f(s):\n    a, *rest, b = s.split(',')\n    return rest", "list[str]"),
    ((STR,), "def f(s):\n    a, b = (int(x) for x in s.split(','))\n    return a + b", "int"),
    ((Tuple((INT, STR, INT)),), "def f(t):\n    a, *_ = t\n    return a", "int"),
    ((STR,), "lambda s: s.title() + s.casefold() + '%s' % s + '{}'.format(s)", "str"),
    ((STR,), "lambda s: s.partition(',')[2] + s.rpartition(',')[0] + s.rsplit(',', 1)[-1]", "str"),
    ((STR,), "lambda s: s.rfind('a') + s.find('a', 1) + int(s, 16)", "int"),
    ((STR,), "lambda s: s.translate(str.maketrans('ab', 'cd', 'e'))", "str"),
    ((STR, STR), "lambda a, b: a.count(b) + len(a.replace(b, ''))", "int"),
    ((STR,), "lambda s: len(set(s)) + len({c for c in s} & {'a'})", "int"),
    ((STR,), "lambda s: set(s) <= set('ab') or set(s) == {'a'}", "bool"),
    ((STR,), "lambda s: [c for i, c in enumerate(s) if i % 2]", "list[str]"),
    ((STR,), "lambda s: [a + b for a, b in zip(s, s[1:])]", "list[str]"),
    ((STR,), "lambda s: list(map(str.strip, filter(None, s.split(','))))", "list[str]"),
    ((STR,), "lambda s: any(x in s for x in ('a', 'b'))", "bool"),
    ((STR,), "lambda s: next((c for c in s if c > 'a'), None)", "str | None"),
    ((STR,), "lambda s: dict(p.split('=') for p in s.split('&'))", "dict[str, str]"),
    ((STR,), "lambda s: NAMES.index(s) + LARGE_TEXTS.get(s, 0)", "int"),
    ((STR,), "lambda s: re.sub('[^a-z]', '', s)", "str"),
    ((STR,), "lambda s: int(m[1]) if (m := re.search(r'id=([0-9]+)', s)) else 0", "int"),
    ((STR,), "lambda s: re.findall(r'\\d+', s) + re.split(',', s)", "list[str]"),
    ((STR,), "lambda s: strptime(s, '%m/%d/%Y').date()", "date"),
    ((DATE,), "lambda d: (d.replace(day=1), d.toordinal(), d.timetuple().tm_yday)", "tuple[date, int, int]"),
    ((DATETIME,), "lambda t: t.replace(minute=0, second=0, microsecond=0)", "datetime"),
    ((Dict(INT),), "lambda d: {**d, 'n': 1} | {'m': 2}", "dict[str, int]"),
    ((Dict(INT),), "lambda d: max(d, key=d.get) + sorted(d)[0]", "str"),
    ((List(FLOAT),), "lambda xs: max(xs) - min(xs)", "float"),
    ((List(INT),), "lambda xs: [*xs[::-1], 1]", "list[int]"),
    ((INT,), "lambda x: {1: 'st', 2: 'nd'}.get(x, 'th')", "str"),
    ((INT,), "lambda x: f'{x!r}'", "str"),
]

STAGE = [
    # parameters, text, part of the reason
    ((ANY,), "lambda x: x + 1", "the type of x is not known"),
    ((ANY,), "lambda x: x == 1", "the result of == on object and int is not known"),
    ((ANY,), "lambda x: x is None", "is None is not known"),
    ((ANY,), "lambda x: 1 if x else 2", "is true is not known"),
    ((Decimal(10, 2),), "lambda x: x * 2", "computing with a value of type Decimal(10, 2) has no column form"),
    ((FLOAT,), "lambda x: x ** 2", "** on float and int has no exact column form"),
    ((STR,), "lambda s: len(set(s.split()))", "Python counts the distinct words of a text faster than Spark"),
    ((INT,), "lambda x: x ** -1", "** on int and int"),
    ((INT, INT), "lambda x, y: x << y", "<< on int and int"),
    ((INT,), "lambda x: x + HUGE", "HUGE has an int beyond 64 bits"),
    ((INT,), "lambda x: 1 if x else 1.0", "int in one branch and float in the other"),
    ((INT,), "lambda x: x or 'none'", "is int or str"),
    ((INT,), "lambda x: 1 // 0", "always fails"),
    ((INT,), "lambda x: None", "returns only None"),
    ((INT,), "lambda x: []", "it is empty, or has only None"),
    ((INT,), "lambda x: [x, 'a']", "items of type int and str"),
    ((INT,), "lambda x: {x: 1}", "a dict whose keys are not constant texts"),
    ((INT,), "lambda x: {'a': x, 'b': ''}", "values of type int and str"),
    ((INT,), "lambda x: {}", "empty dict"),
    ((INT,), "lambda x: OPEN", "an object of the class object is not a value"),
    ((INT,), "lambda x: OPEN.limit + x", "read from an object"),
    ((INT,), "lambda x: print(x)", "print has no column form"),
    ((INT,), "lambda x: recursive(x)", "calls itself"),
    ((INT,), "lambda x: missing + x", "missing is not defined"),
    ((INT,), "lambda x, y: x", "gets no argument y"),
    ((INT, INT), "lambda x: x", "takes 1 arguments and gets 2"),
    ((INT,), "lambda *xs: xs", "*args"),
    ((INT,), "lambda x: math.sin(x)", "math.sin has no exact column form: Java may return another last digit"),
    ((STR,), "lambda s: re.sub('a', 'b', s, flags=re.I)", "re.sub has no column form"),
    ((STR,), "lambda s: spell(s)", "in spell: the method swapcase of str"),
    ((INT,), "lambda x: f'{x:_}'", "the format specification '_' of int"),
    ((INT, INT), "lambda x, n: f'{x:{n}}'", "a format specification that varies"),
    ((FLOAT,), "lambda x: f'{x:g}'", "the format specification 'g' of float"),
    ((STR,), "lambda s: f'{s!r}'", "!r and !a"),
    ((FLOAT,), "lambda x: round(x, -2)", "round(float, int)"),
    ((DATE, DATE), "lambda a, b: a - b", "a timedelta has no column form"),
    ((DATETIME,), "lambda t: t.timestamp()", "the method timestamp of datetime"),
    ((DATETIME,), "lambda t: t.strftime('%c')", "datetime.strftime"),
    ((DATE,), "lambda d: d.isocalendar()", "the method isocalendar of date"),
    ((INT,), "lambda x: TABLE[x] if x else TABLE.pop()", "the method pop of dict has no column form"),
    ((INT,), "lambda x: MIXED[x]", "the dict has values of type int and str"),
    ((INT,), "lambda x: LARGE[x]", "a dict of 1000 keys"),
    ((List(INT),), "lambda xs: TABLE.get(xs)", "cannot be hashed"),
    ((List(FLOAT),), "lambda xs: sorted(xs, key=lambda x: -x)", "sorted by float has no exact column form"),
    ((List(FLOAT), List(FLOAT)), "lambda a, b: a == b", "comparing list[float]"),
    ((List(INT),), "lambda xs: max(xs, key=OPEN)", "object has no column form"),
    ((INT,), "lambda x: isinstance(x, x)", "isinstance of a class that is not constant"),
    ((ANY,), "lambda x: isinstance(x, int)", "the class of a value of type object"),
    ((INT,), "lambda x: (x > 0 and (y := x) > 1) or y > 1", "y is used before it is set"),
    ((INT,), "def f(x):\n    y = 1\n    return (y := x) + y", "set by := and again"),
    ((INT,), "lambda x: lambda y: x", "a lambda inside is not a value"),
    ((INT,), "def f(x):\n    match x:\n        case int(): return 1\n    return 0", "the pattern int()"),
    ((ODDER,), "lambda o: o.total", "the attribute total of Odder"),
    ((INT,), "lambda x: x is 3", "`is` has a column form for None only"),
    ((INT,), "lambda x: max(x, 1, key=abs)", "max(x, 1, key=abs) has no column form"),
    ((INT,), "lambda x: sum([x], start=x)", "sum(start=…) has no column form"),
    ((FLOAT,), "lambda x: -0.0 if x else x", "has the float -0.0"),
    ((FLOAT,), "lambda x: x in (1.0, math.nan)", "NaN"),
    ((STR,), "lambda s: s.split('')", "str.split"),
    ((STR,), "lambda s: s + 1", "+ on str and int"),
    ((STR,), "lambda s: s < 1", "comparing str with int"),
    ((STR,), "lambda s: s[::2]", "a slice with a step"),
    ((Tuple((INT, INT)), INT), "lambda t, i: t[i]", "the index of a tuple is not a constant"),
    ((Tuple((INT, INT)),), "lambda t: t[2]", "out of range"),
    ((Tuple((FLOAT, INT)),), "lambda t: t < (1.0, 2)", "the order of tuples with floats"),
    ((ORDER,), "lambda o: o[0]", "not a tuple"),
    ((ODDER, ODDER), "lambda a, b: a == b", "an == of its own"),
    ((ORDER,), "lambda o: o.taxes", "the attribute taxes of Order"),
    ((FLOAT,), "lambda x: Checked(x)", "a constructor of its own"),
    ((of_record_class(Odd),), "lambda p: p.x", "computed by the class"),
    ((List(FLOAT),), "lambda xs: sorted(xs)", "sorted(list[float])"),
    ((INT,), "def f(x):\n    for i in range(3):\n        x += i\n    return x", "a for loop"),
    ((INT,), "def f(x):\n    if x > 0:\n        y = 1\n    return y", "y is not set on every path"),
    ((INT,), "def f(x):\n    y = 1 if x else 2\n    y: int = y\n    yield y", "is a generator"),
    ((Dict(INT), Dict(INT)), "lambda a, b: a == b", "== on dict[str, int]"),
    ((INT,), "lambda x: x + 2 ** 62 * 4", "a value that no column can hold"),
    ((INT,), "def f(x):\n    x.real = 1\n    return x", "assigning to x.real"),
    ((INT,), "def f(x):\n    y = 1.0\n    if x:\n        y = 2\n    return y", "y is int after one branch and float"),
    ((INT,), "def f(x) -> float:\n    return x", "declared to return float and returns int"),
    ((STR,), "lambda s: set(s)", "no value that a column can hold"),
    ((STR,), "lambda s: list(set(s))", "list(set[str])"),
    ((STR,), "lambda s: re.match('a', s)", "re.Match"),
    ((STR,), "lambda s: re.sub('(?i)a', 'b', s)", "may match differently in Java"),
    ((STR,), "lambda s: re.sub('(ab)+', 'b', s)", "may match differently in Java"),
    ((STR,), "lambda s: re.sub('a*', 'b', s)", "may match differently in Java"),
    ((STR,), "lambda s: re.search('(a)?b', s)[1]", "a group that may be missing"),
    ((STR,), "lambda s: bool(re.search(r'\\bx', s))", "may match differently in Java"),
    ((STR,), "lambda s: strptime(s, '%d %B %Y')", "strptime"),
    ((STR,), "lambda s: hash(s)", "hash(str)"),
    ((INT,), "def f(x):\n    y = x\n    g = lambda: y\n    y = 2\n    return g()", "is set more than once"),
    (
        (INT,),
        "def f(x):\n    def g(y, *, z=1):\n        return y + z\n    return g(x)",
        "unless its parameters are plain",
    ),
    (
        (INT,),
        "def f(x):\n    def g(y, z=1):\n        return y + z\n    return g(x, 2)",
        "unless its parameters are plain",
    ),
    ((INT,), "def f(x):\n    def g(*ys):\n        return ys[0]\n    return g(x)", "unless its parameters are plain"),
    ((INT,), "def f(x):\n    def g(**ys):\n        return x\n    return g()", "unless its parameters are plain"),
    ((INT,), "def f(x):\n    raise ValueError", "raises on every path"),
    (
        (STR,),
        "def f(s):\n    try:\n        return s + 'a'\n    except OSError:\n        return ''",
        "no operation in this try",
    ),
    ((STR,), "lambda s: '%(a)s' % s", "this template has no column form"),
    ((STR,), "lambda s: '{} {0}'.format(s)", "numbers its fields in two ways"),
    ((DATE,), "lambda d: d.replace(hour=1)", "replace(hour=…)"),
    ((STR,), "lambda s: next(iter(s))", "next without a default"),
]


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    return (tmp_path_factory.mktemp("functions") / f"page{number}.py" for number in itertools.count())


@pytest.fixture
def function_of(pages: Iterator[Path]) -> Callable[[str], Callable[..., Any]]:
    """The function a text makes, in a file of its own, as a user's."""

    def make(text: str) -> Callable[..., Any]:
        page = next(pages)
        namespace: dict[str, Any] = dict(GLOBALS)
        page.write_text(text if text.startswith("def ") else f"f = {text}\n")
        exec(compile(page.read_text(), str(page), "exec", dont_inherit=True), namespace)
        return namespace["f"]  # type: ignore[no-any-return]

    return make


Maker = Callable[[str], Callable[..., Any]]


def verdict_on(function: Callable[..., Any], *parameters: Type, returns: Type | None = None) -> Verdict:
    return verdict_of(Closure(function, Location(__file__, 1), "map", returns), parameters)


@pytest.mark.filterwarnings("ignore::SyntaxWarning")
@pytest.mark.parametrize(("parameters", "text", "result"), COLUMN, ids=[text for _, text, _ in COLUMN])
def test_column(function_of: Maker, parameters: tuple[Type, ...], text: str, result: str) -> None:
    verdict = verdict_on(function_of(text), *parameters)
    assert isinstance(verdict, ColumnForm), verdict.refusal
    assert str(verdict.type) == result


@pytest.mark.filterwarnings("ignore::SyntaxWarning")
@pytest.mark.parametrize(("parameters", "text", "reason"), STAGE, ids=[text for _, text, _ in STAGE])
def test_no_column(function_of: Maker, parameters: tuple[Type, ...], text: str, reason: str) -> None:
    verdict = verdict_on(function_of(text), *parameters)
    assert isinstance(verdict, StageForm | KernelForm), verdict
    assert reason in verdict.refusal.reason


def test_a_declared_type_must_be_the_compiled_one() -> None:
    assert isinstance(verdict_on(lambda x: x + 1, INT, returns=INT), ColumnForm)
    verdict = verdict_on(lambda x: x + 1, INT, returns=FLOAT)
    assert isinstance(verdict, StageForm)
    assert verdict.type == FLOAT
    assert "declared to return float" in verdict.refusal.reason


def test_a_stage_has_the_declared_type() -> None:
    def loud(x: int) -> str:
        return repr(x)

    assert verdict_on(loud, INT).type == STR
    assert verdict_on(lambda x: eval(repr(x)), INT).type == ANY


def test_a_refusal_says_where() -> None:
    verdict = verdict_on(lambda x: repr(x), INT)
    assert isinstance(verdict, StageForm)
    assert verdict.refusal.line == test_a_refusal_says_where.__code__.co_firstlineno + 1


def test_a_stage_names_what_it_captured() -> None:
    table = {1: "one"}
    verdict = verdict_on(lambda x: table[x] + STOP_WORDS.pop(), INT)
    assert isinstance(verdict, StageForm)
    assert verdict.captured == ("STOP_WORDS", "table")


def test_a_verdict_is_decided_once() -> None:
    closure = Closure(lambda x: x + 1, Location(__file__, 1), "map")
    assert verdict_of(closure, (INT,)) is verdict_of(closure, (INT,))
    assert verdict_of(closure, (INT,)) is not verdict_of(closure, (FLOAT,))


def test_a_verdict_does_not_change_with_what_was_captured() -> None:
    names = ["a", "b"]
    closure = Closure(lambda s: s in names, Location(__file__, 1), "filter")
    before = verdict_of(closure, (STR,))
    names.append("c")
    assert verdict_of(closure, (STR,)) is before
    assert isinstance(before, ColumnForm)
    assert {part.value for part in walk(before.result.leaves()[0]) if isinstance(part, Literal)} == {"a", "b"}


def size(form: ColumnForm) -> int:
    exprs = (*form.result.leaves(), *(expr for _, expr in form.shared))
    return sum(1 for expr in exprs for _ in walk(expr))


def test_doublings_stay_small() -> None:
    def grow(y: int) -> int:
        y = y + y
        y = y + y
        y = y + y
        y = y + y
        y = y + y
        y = y + y
        y = y + y
        y = y + y
        y = y + y
        y = y + y
        y = y + y
        y = y + y
        return y

    form = verdict_on(grow, INT)
    assert isinstance(form, ColumnForm)
    assert size(form) < 100


def grow_a_lot(y: int) -> int:
    y = y + y + y
    y = y + y + y
    y = y + y + y
    y = y + y + y
    y = y + y + y
    y = y + y + y
    y = y + y + y
    y = y + y + y
    return y


def test_what_cannot_be_shared_is_refused_before_it_explodes() -> None:
    verdict = verdict_on(lambda xs: [grow_a_lot(x) for x in xs], List(INT))
    assert isinstance(verdict, StageForm)
    assert "too large" in verdict.refusal.reason


def test_a_list_that_is_used_twice_is_shared() -> None:
    def ends(s: str) -> tuple[str, str]:
        words = [word.strip(".") for word in s.split()]
        return words[0], words[-1]

    form = verdict_on(ends, STR)
    assert isinstance(form, ColumnForm)
    assert len(form.shared) == 1


def test_many_branches_stay_small() -> None:
    def bits(x: int) -> int:
        n = 0
        if x & 1:
            n += 1
        if x & 2:
            n += 1
        if x & 4:
            n += 1
        if x & 8:
            n += 1
        if x & 16:
            n += 1
        return n

    form = verdict_on(bits, INT)
    assert isinstance(form, ColumnForm)
    assert size(form) < 100


def test_a_shared_value_is_computed_only_where_it_may_be() -> None:
    def ratio(x: int, y: int) -> int:
        if y != 0:
            q = x // y
            return q * q
        return 0

    form = verdict_on(ratio, INT, INT)
    assert isinstance(form, ColumnForm)
    (_, shared), *_ = [entry for entry in form.shared if entry[1].raises]
    assert type(shared).__name__ == "Case"


def test_a_condition_that_can_fail_is_decided_in_order() -> None:
    for function in (lambda x: x != 0 and 10 // x > 1, lambda x: 10 // x > 1 and x != 0):
        form = verdict_on(function, INT)
        assert isinstance(form, ColumnForm)
        assert type(form.result.expr).__name__ == "Case"


def test_filters_stay_plain_for_push_down() -> None:
    form = verdict_on(lambda p: p.x > 3 and p.name == "a" and p.y is not None, POINT)
    assert isinstance(form, ColumnForm)
    assert not form.raises
    assert not any(type(part).__name__ == "Case" for leaf in form.result.leaves() for part in walk(leaf))
    assert {part.path for leaf in form.result.leaves() for part in walk(leaf) if isinstance(part, Input)} == {
        (0,),
        (1,),
        (2,),
    }


def test_the_days_of_a_month_have_a_column_form_and_its_first_day_where_it_is_an_int() -> None:
    def form(function: Callable[..., Any]) -> str:
        return str(verdict_of(Closure(function, Location(__file__, 1), "map"), (INT, INT)).form)

    first = "column" if type(calendar.monthrange(2024, 2)[0]) is int else "stage"  # an enum from Python 3.12 on
    assert form(lambda year, month: calendar.monthrange(year, month)[1]) == "column"
    assert form(lambda year, month: calendar.monthrange(year, month)) == first
    assert form(lambda year, month: calendar.monthrange(year, month)[0]) == first
    assert form(lambda year, month: calendar.monthrange(year, month)[0] == 1) == first
    assert form(lambda year, month: 1 if calendar.monthrange(year, month)[0] else 2) == first
    assert form(lambda year, month: f"{calendar.monthrange(year, month)[0]}") == first

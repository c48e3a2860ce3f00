"""Closures as users write them give what CPython gives, or fail, on every adversarial value.

`test_proof` does the same with closures that are generated.
"""

# ruff: noqa: B905, C402, C416, FURB110, FURB136, FURB171, PLC3002, RUF005, RUF007, RUF034, SIM300, UP031, UP032, F841 - the point is what a user writes

from __future__ import annotations

import calendar
import datetime as dt
import functools
import itertools
import math
import operator
import re
import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest
from pyspark.sql import SparkSession

from morisot.compile.choose import verdict_of
from morisot.compile.verdict import ColumnForm
from morisot.errors import Location
from morisot.plan.nodes.closure import Closure
from morisot.types.element import BOOL, DATE, DATETIME, FLOAT, INT, STR, Dict, List, Optional, Record, Tuple, Type
from morisot.types.infer import of_record_class
from tests.properties.proof.columns import set_for_proof, tried
from tests.properties.proof.outcomes import FAILED, by_python, same
from tests.properties.proof.tables import table_of
from tests.properties.proof.values import POOLS, TEXTS
from tests.properties.proof.world import Order, Point

POINT = of_record_class(Point)
PAIR = Tuple((INT, STR))
ORDER = of_record_class(Order)
TABLE = {0: "none", 7: "seven", -1: "minus", True: "one"}
PAIRS = {"a": (1, 0.5), "12": (2, None), "": (3, 1.5)}
LEAGUES = ["first", "second", "third"]
HOUR = dt.timedelta(hours=1)
EPOCH = dt.date(1970, 1, 1)
NOON = dt.datetime(2024, 2, 29, 12)
LIMIT = 3
NAMES = frozenset({"a", "12", "😀b"})


def clamp(x: int) -> int:
    """A user function that others call."""
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


def matched_for_nothing(s: str, n: int) -> bool:
    match s.split()[n]:
        case word if word < "b":
            return LIMIT > 2
    return not LIMIT > 3


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


def quotient_of_text(a: str, b: int) -> int:
    """`int(a)` fails first, whatever b is."""
    try:
        return int(a) // b
    except ZeroDivisionError:
        return 0


def either_failure(a: str, b: int) -> int:
    try:
        return ord(a[1]) // b
    except IndexError:
        return -1
    except ZeroDivisionError:
        return 0


def early_statement(a: str, b: int) -> int:
    """The first statement is evaluated before the one that is handled."""
    try:
        whole = int(a)
        part = 10 // b
    except ZeroDivisionError:
        return -1
    return whole % 7 + part % 7


def right_operand(a: str, b: int) -> float:
    try:
        return float(a) + 10 // b
    except ZeroDivisionError:
        return 0.5


def tried_in_branch(a: str, b: int) -> int:
    if b < 7:
        try:
            return (int(a) % 5 if b > 0 else 1) // b
        except (ZeroDivisionError, ValueError):
            return 3
    return b


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


def unread_local(x: int, y: int) -> int:
    share = x // y
    if x > 0:
        return share
    return 0


def unread_on_one_way(x: int, y: int) -> int:
    if x > 2:
        share = x % y
        whole = x // (y - 1)
    else:
        share = whole = 0
    return 5 if x > 7 else share + whole


def unread_match(x: int, y: int) -> int:
    match (x // y, y):
        case (_, 7):
            return 1
    return 1


def set_in_branch(x: int, y: int) -> bool:
    """A set that may fail is computed on one way only."""
    if y == 0:
        return x > 0
    return {x // y, x} > {x, 2}


def match_in_branch(a: str, b: int) -> str:
    found = WORD.search(a * (7 // b)) if b > 0 else None
    return found[2] if found else "no"


def first_of(x: int, _: int) -> int:
    return x


def parsed(s: str) -> float | None:
    try:
        return float(s)
    except ValueError:
        return None


def parsed_int(s: str) -> int:
    try:
        n = int(s)
        m = n + 1
    except (ValueError, TypeError):
        return -1
    else:
        return m


def quotient(a: int, b: int) -> int:
    try:
        return a // b
    except ZeroDivisionError:
        return 0


def looked_up(d: dict[str, int]) -> int:
    try:
        found = d["k"]
    except KeyError:
        found = -7
    return found + 1 if found < 5 else found


def at_two(xs: list[int]) -> int:
    try:
        return xs[2]
    except IndexError as error:
        return len(xs) + 100
    except Exception:
        return -1


def pair_of(s: str) -> tuple[str, str]:
    try:
        a, b = s.split(",")
    except ValueError:
        return "", s
    return b, a


def positive(x: int) -> int:
    if x < 0:
        raise ValueError(x)
    return x * 2 if x < 100 else x


def in_a_far_place(x: int) -> bool:
    match [(x, "a")][9007199254740993]:  # noqa: PLE0643 - Python fails, and so must the column
        case (1 | 7, text):
            return text == "a"
    return x != 3


def with_inner(x: int, y: int) -> int:
    def larger(a: int, b: int) -> int:
        if a > b:
            return a - x
        return b

    half = lambda n: n // 2  # noqa: E731
    return half(larger(x, y)) + larger(y, 3)  # type: ignore[no-any-return, no-untyped-call]


@dataclass(frozen=True)
class Made:
    """A record with a constructor beside its own."""

    a: int
    b: str

    @classmethod
    def of(cls, text: str) -> Made:
        return cls(len(text), text[:1])


VOWELS = str.maketrans("aeiou", "AEIOU", "x,")
DOUBLED = str.maketrans({"a": None, "b": "é"})
LETTERS = ["b", "a", "b", ""]
MANY = {n * 7: f"{n}!" for n in range(120)}
NAMED = {f"{n}": n for n in range(60)}
CHECKS = (("a", 1), ("b", 2), ("12", 3))
WORD = re.compile(r"(\w+)\W+(\w+)")
PARTS = re.compile(r"(\S*?)([a-cé]*)(\d+)?,?([^,]*)")


@dataclass(frozen=True)
class Case:
    """A function, the types of its parameters, and whether it refuses some values that CPython accepts."""

    function: Callable[..., Any]
    types: tuple[Type, ...]
    refuses: bool = False


def case(function: Callable[..., Any], *types: Type, refuses: bool = False) -> Case:
    return Case(function, types, refuses)


def hottest(counts: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """A local that the items of a comprehension are compared with."""
    most = max(count for _, count in counts)
    return sorted(pair for pair in counts if pair[1] == most)


def rotated(pair: tuple[int, tuple[str, int]]) -> tuple[int, int, str]:
    a, (b, c) = pair
    return c, a, b


def starred(pair: tuple[int, int]) -> int:
    first, *rest = pair
    *before, last = (*rest, first, 7)
    return before[0] - last + len(rest)


CASES = [
    # what is evaluated first decides
    case(quotient_of_text, STR, INT, refuses=True),
    case(either_failure, STR, INT, refuses=True),
    case(early_statement, STR, INT, refuses=True),
    case(right_operand, STR, INT, refuses=True),
    case(tried_in_branch, STR, INT, refuses=True),
    case(lambda a: {1: "st"}.get(a, str(1 // a)), INT),
    case(lambda xs: max(xs, default=10 // len(xs)), List(INT)),
    case(lambda d: d.get("k", d["z"]), Dict(INT)),
    case(lambda a, b: (max(a, b), min(a, b), divmod(a, b))[0], INT, INT, refuses=True),
    case(set_in_branch, INT, INT, refuses=True),
    # both operands of a comparison are evaluated before it
    case(lambda a, b: ((a, 1 // b) == (1, 2), (None, 1 // b) != (a, 2), None == 1 // b), INT, INT, refuses=True),
    case(lambda a, b: (a, 1 // b) < (1, 2), INT, INT, refuses=True),
    case(lambda a, b: (a, 1 // b) in ((1, 2), (2, a)), INT, INT, refuses=True),
    case(lambda a, b: b if (None if a > 2 else 1, "ab"[a]) == (3, "a") else a, INT, INT, refuses=True),
    case(lambda xs: [x for x in xs if (x, 10 // x) == (1, 10)], List(INT), refuses=True),
    case(lambda x: x == 1.0 / (0.0 if x is None else x), Optional(FLOAT), refuses=True),
    case(match_in_branch, STR, INT, refuses=True),
    # Spark's optimizer drops a test, or an operand, that the result does not depend on
    case(matched_for_nothing, STR, INT, refuses=True),
    case(lambda s, n: True if s.split()[n] == "b" else not LIMIT > 3, STR, INT, refuses=True),
    case(lambda s, n: (1 if s.split()[n] == "b" else 2) > 0, STR, INT, refuses=True),
    case(lambda s, n: len("x" if int(s) > n else "y"), STR, INT, refuses=True),
    case(lambda s, n: (n + 1 if int(s) > 3 else 1 + n) > 2, STR, INT, refuses=True),
    case(lambda s, n: n if int(s) > 3 else (n if n > LIMIT or LIMIT == 3 else 0), STR, INT, refuses=True),
    case(lambda s, n: int(s) > n and LIMIT > 3, STR, INT, refuses=True),
    case(lambda s, n: (int(s) > n or LIMIT == 3) and (s == s or n > 1), STR, INT, refuses=True),
    case(lambda s, n: int(s) == int(s), STR, INT, refuses=True),
    case(lambda s, n: (7 // n >= 7 // n, 1 // n < 1 // n, 7 % n != 7 % n), STR, INT, refuses=True),
    case(lambda s, n: {"a": 1, "b": 1}["a" if int(s) > n else "b"], STR, INT, refuses=True),
    case(lambda s, n: (1 // n) is not None, STR, INT, refuses=True),
    # a container compares by identity first
    case(lambda a, b: (a in (a, b), b in [a, b], a not in (b, 1.0)), FLOAT, FLOAT, refuses=True),
    case(lambda a: ((a, math.nan) == (a, math.nan), (a, 1) in ((a, 1), (a, 2))), FLOAT, refuses=True),
    case(lambda a: ((a, 1.5) == (a, 1.5), a in (1.5, 2)), FLOAT, refuses=True),
    # int
    case(lambda a, b: a + b, INT, INT),
    case(lambda a, b: a - b, INT, INT),
    case(lambda a, b: a * b, INT, INT),
    case(lambda a, b: a // b, INT, INT),
    case(lambda a, b: a % b, INT, INT),
    case(lambda a: (a // 10 * 10, 7 * (a // 7), a - a % 10, a // 1000 * 1000 + 999), INT, refuses=True),
    case(lambda a: (a // 8 * 8, a - a % 8, a // 10 * 5 % 3, (a // 10) * (a // 1000000000000)), INT, refuses=True),
    case(lambda a: a // 3 * 3, INT),
    case(lambda a: a // 2**62 * 2**62, INT),
    case(lambda a: a - a % -3, INT),
    case(
        lambda a: (a // 60 // 24, a // 4 // 5, a // 2**40 // 2**40, a // 3 // -5, (a // 7) // 7 // 7 * 343),
        INT,
        refuses=True,
    ),
    case(lambda a, b: (a // b * b, a - a % b), INT, INT, refuses=True),
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
    case(guarded_share, INT, INT, refuses=True),
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
    # what is evaluated and then dropped
    case(unread_local, INT, INT, refuses=True),
    case(unread_on_one_way, INT, INT, refuses=True),
    case(unread_match, INT, INT, refuses=True),
    case(lambda a, b: first_of(1, a // b), INT, INT, refuses=True),
    case(lambda a, b: (a // b, 1)[1], INT, INT, refuses=True),
    case(lambda a, b: [a // b, 1][1], INT, INT, refuses=True),
    case(lambda a, b: {"x": a % b, "y": 1}["y"], INT, INT, refuses=True),
    case(lambda a, b: (1 if a // b > 2 else 1, a // b is None, isinstance(a % b, int)), INT, INT, refuses=True),
    case(lambda a, b: (a // b > 2 and False, a % b > 2 or True), INT, INT, refuses=True),
    case(lambda a, b: 1 in (1, a // b), INT, INT, refuses=True),
    case(lambda a, b: Order(a // b, "x").name, INT, INT, refuses=True),
    case(lambda a, b: (lambda _: 1)(a // b), INT, INT, refuses=True),
    case(lambda a, b: len((a // b, 1)), INT, INT, refuses=True),
    case(lambda xs: [(10 // x, 1)[1] for x in xs], List(INT)),
    case(lambda xs: [first_of(1, 10 // x) for x in xs if (x % 3, x)[1]], List(INT)),
    case(lambda a: (a[9223372036854775807:], a[:9223372036854775807], a[-9223372036854775807:]), STR),
    case(lambda a: a[9223372036854775807], STR),
    case(lambda xs: xs[-9223372036854775807], List(INT)),
    case(quotient, INT, INT, refuses=True),
    case(positive, INT),
    case(with_inner, INT, INT),
    case(in_a_far_place, INT),
    case(lambda a: (hash(a), hash(a > 2)), INT, refuses=True),
    case(lambda a: (bin(a), hex(a), a.bit_length(), a.bit_count()), INT, refuses=True),
    case(lambda a: math.sqrt(a), INT),
    case(lambda a: (MANY.get(a), MANY.get(a, ""), a in MANY), INT),
    case(lambda a: MANY[a], INT),
    case(lambda a: ({1: "st", 2: "nd"}.get(a, "th"), {0: 5, 7: 1}[7]), INT),
    case(lambda a: ("%d|%5d|%-5d|%05d|%+d|%i" % (a, a, a, a, a, a), "%.1f" % 0.25, f"{a!r}"), INT),
    case(lambda a: ("%x|%08X" % (a, a), "{:,}|{:>8d}".format(a, a)), INT, refuses=True),
    case(
        lambda a: (
            [a > n for n in (0, 7)],
            sum(a >= n for n in (1, 64, 10**9)),
            sum([a > 1, a > 2]),
            [n for n in (1, 7) if n != a],
        ),
        INT,
    ),
    case(lambda a: [name for bit, name in enumerate(("r", "w")) if a >> bit & 1], INT),
    case(lambda a: next((n for n in range(5) if n > a), 99), INT),
    case(lambda a: max((a, 3)) if False else min([a, 7]), INT),  # type: ignore[redundant-expr]
    # float
    case(lambda a: (f"{a:.2f}", f"{a:.0f}", f"{a:.1f}", f"{a:.5f}"), FLOAT, refuses=True),
    case(
        lambda a: (f"{a:,.2f}", f"{a:+.1f}", f"{a:09.2f}", f"{a:>12.3f}", f"{a:<+9.1f}|", f"{a:f}"), FLOAT, refuses=True
    ),
    case(lambda a: (f"{a:.1%}", f"{a:.0%}"), FLOAT, refuses=True),
    case(lambda a: (round(a, 2), round(a, 1), round(a, 0), round(a, 3)), FLOAT, refuses=True),
    case(lambda a: (round(a, 5), round(a, 10), round(a, 15)), FLOAT, refuses=True),
    case(lambda a: (a // 1, a // 1.0, a // True), FLOAT),
    case(lambda a: int(a // 1), FLOAT, refuses=True),
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
    case(lambda a: (math.isinf(a), math.isfinite(a)), FLOAT),
    case(lambda a: math.trunc(a), FLOAT, refuses=True),
    case(lambda a: "%.2f|%8.1f" % (a, a), FLOAT, refuses=True),
    # bool
    case(lambda p, q: (p and q, p or q, not p, p & q, p | q, p ^ q, p == q, p < q), BOOL, BOOL),
    case(lambda p, q: (p + q, p * 2, p + 0.5, str(p), int(p), float(q), -p, p == 1), BOOL, BOOL),
    # str
    case(lambda a: (len(a), bool(a), a * 2, a[::-1], a + "!", "a" in a, a not in ("a", "ß")), STR),
    case(lambda a: (a.lower(), a.upper()), STR, refuses=True),
    case(lambda a: (a.strip(), a.lstrip(), a.rstrip(), a.strip("ax "), a.lstrip("a"), a.rstrip("b")), STR),
    case(lambda a: a.split(), STR),
    case(lambda a: a.lower().split(), STR, refuses=True),
    case(lambda a: ("-".join(a.strip("-. ").split()), "".join(a.split()), " - ".join(a.split())), STR),
    case(lambda a: "-".join(a.lower().strip("-. ").split()), STR, refuses=True),
    case(lambda a: (" ".join(a.split()), a.strip().split(" ")[0], a.strip(None)), STR),
    case(lambda a: (a.split(",")[-1], a.split("a", 1)[0], a.split("|")[0], a.split("😀")[0], a.split("ab")[0]), STR),
    case(lambda a: (list(a) == list(a)[::-1], list(a) < list(a.strip()), [*a] != [*a[::-1]]), STR),
    case(lambda a: [c for c in a if c.isalnum()] == [c for c in a if c.isalnum()][::-1], STR, refuses=True),
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
    case(parsed, STR, refuses=True),
    case(parsed_int, STR, refuses=True),
    case(pair_of, STR),
    case(
        lambda a: (a.partition(","), a.rpartition(","), a.partition("aa"), a.rpartition("aa"), a.rpartition("😀")), STR
    ),
    case(lambda a: (a.rsplit(",", 1), a.rsplit("a", maxsplit=1), a.rsplit(","), a.rsplit(), a.rsplit(",", -1)), STR),
    case(lambda a: (a.rfind(","), a.rfind("aa"), a.find("a", 1), a.find(",", -2), a.find("b", 99), a.rfind("😀")), STR),
    case(lambda a: a.rindex(","), STR),
    case(lambda a: a.index("a", 1), STR),
    case(lambda a: a.title(), STR, refuses=True),
    case(lambda a: a.casefold(), STR, refuses=True),
    case(lambda a: a.splitlines(), STR, refuses=True),
    case(lambda a: (a.translate(VOWELS), a.translate(DOUBLED), a.translate(str.maketrans("1", "١"))), STR),
    case(lambda a: (int(a, 16), int(a, 2)), STR, refuses=True),
    case(lambda a: int(a, 8), STR, refuses=True),
    case(lambda a, b: a.count(b), STR, STR, refuses=True),
    case(lambda a, b: a.replace(b, "-"), STR, STR, refuses=True),
    case(lambda a, i: (a.find("a", i), a.find(",", i)), STR, INT, refuses=True),
    case(lambda a: ("%s|%5s|%-5s|%.2s|100%%" % (a, a, a, a), "{}-{0}".replace("{0}", a), "%s" % a), STR),
    case(lambda a: ("<{}>{:>6}".format(a, a), "{0}{1}{0}".format(a, len(a)), "{x:^5}".format(x=a)), STR),
    case(lambda a: (len(set(a)), sorted(set(a.split())), set(a) <= set("ab,"), set(a) == {"a"}, "a" in set(a)), STR),
    case(
        lambda a: (sorted({c for c in a} & {"a", "b"}), len(set(a) | {"q"}), sorted(set(a) - set("a,")), bool(set(a))),
        STR,
    ),
    case(lambda a: (set(a) < set("abc"), set(a) >= {"a"}, set(a) > {"b"}, set(a) != set("ab")), STR),
    case(lambda a: [(i, c) for i, c in enumerate(a)], STR),
    case(lambda a: [f"{i}{c}" for i, c in enumerate(a.split(","), 1) if c], STR),
    case(lambda a: [x + y for x, y in zip(a, a[1:])], STR),
    case(lambda a: list(zip(a.split(","), range(2))), STR),
    case(lambda a: (list(map(str.strip, a.split(","))), list(filter(None, a.split(","))), list(reversed(a))), STR),
    case(lambda a: (sum(c == "a" for c in a), sum(map(len, a.split(","))), any(map(str.isspace, a))), STR),
    case(
        lambda a: (
            any(x in a for x in ("a", "1")),
            all(len(a) > n for n in range(2)),
            [x for x in ("a", "b") if x in a],
        ),
        STR,
    ),
    case(
        lambda a: (sum(1 for c in a if c in "ab,\0"), sum(c in "aé\u0301" for c in a), len([c for c in a if c != "a"])),
        STR,
    ),
    case(
        lambda a: (all(c in "ab " for c in a), any(c in "ab" for c in a), set(a) <= set("ab1"), set(a) <= {"a", "bb"}),
        STR,
    ),
    case(lambda a: (all(c not in "a," for c in a), any(c not in "ab" for c in a), set(a) <= {"\U0001f642", "a"}), STR),
    case(
        lambda a: ("".join(c for c in a if c not in "a,\u0301"), any(c == "a" or c in ("b", "1") for c in a.strip())),
        STR,
    ),
    case(lambda a: [c for c in a.lower() if c.isalnum()], STR, refuses=True),
    case(lambda a: ("".join(c for c in a if c.isdigit()), sum(1 for c in a if c.isalpha())), STR, refuses=True),
    case(lambda a: (len([c for c in a if c.isdigit()]), [c + "!" for c in a if c.isalpha()]), STR, refuses=True),
    case(lambda a: next((c for c in a if c > "a"), "?"), STR),
    case(lambda a: next((n for name, n in CHECKS if name == a), None), STR),
    case(lambda a: {c: i for i, c in enumerate(a)}, STR),
    case(lambda a: dict(p.split("a") for p in a.split(",")), STR),
    case(lambda a: dict(zip(a, a[1:])), STR),
    case(lambda a: LETTERS.index(a), STR),
    case(lambda a: (LETTERS.count(a), NAMED.get(a), NAMED.get(a, -1), a in NAMED), STR),
    case(lambda a: NAMED[a], STR),
    case(lambda a: Made.of(a), STR),
    case(lambda a: [*a.split(","), "x", *a], STR),
    case(lambda a: (a.split(",")[::-1], zlib.crc32(a.encode())), STR),
    case(lambda a: [part for part in (p.strip() for p in a.split(",")) if part], STR),
    case(lambda a: re.sub(r"[aeiou,]", "$1", a), STR),
    case(lambda a: (re.sub(r"\s+", " ", a), re.sub(r"[^\w.]", "", a), re.split(r",|\s", a)), STR, refuses=True),
    case(
        lambda a: (re.findall(r"\d+", a), re.findall(r"(\w)[ab,]", a), re.search("^a?b?$", a) is not None),
        STR,
        refuses=True,
    ),
    case(
        lambda a: (bool(re.match(r"[+-]?\d+", a)), re.fullmatch(r"[+-]?\d{1,3}(,|\.)?\d*?", a) is None),
        STR,
        refuses=True,
    ),
    case(lambda a: (re.search(r".$", a) is None, bool(re.match(".*", a)), bool(re.search(r"\Aa|b\Z", a))), STR),
    case(lambda a: (m.group(1), m[2], m.group()) if (m := WORD.search(a)) else None, STR, refuses=True),
    case(lambda a: re.search(r"(a)(b|,)", a).groups(), STR),  # type: ignore[union-attr]
    case(lambda a: m[2] + m[1] if (m := re.match(r"([a-z]*)([^a-z]?)(b*)", a)) else "", STR, refuses=True),
    case(lambda a: (m[3], m[1]) if (m := re.match(r"([a-z]+)(,|b)(.*)", a)) else None, STR, refuses=True),
    case(lambda a: (m[1], m[2], m[4], m[0]) if (m := PARTS.match(a)) else None, STR, refuses=True),
    case(
        lambda a: re.fullmatch(r"([+-]?)([0-9]*)(.*)", a).groups() if "\n" not in a else ("", "", ""),  # type: ignore[union-attr]
        STR,
        refuses=True,
    ),
    case(lambda a: sorted(a.split(","), key=lambda p: (-len(p), p)), STR),
    case(lambda a: sorted(enumerate(a), key=lambda pair: (pair[1], -pair[0]), reverse=True), STR),
    case(lambda a: dt.datetime.strptime(a, "%Y-%m-%d"), STR, refuses=True),
    case(lambda a: dt.datetime.strptime(a, "%Y-%m-%dT%H:%M:%S").hour, STR, refuses=True),
    # date and time
    case(
        lambda d: (d.toordinal(), d.timetuple().tm_yday, d.isocalendar().week, d.isocalendar().year, d.replace(day=1)),
        DATE,
    ),
    case(lambda d: d.replace(year=2023), DATE),
    case(lambda d: d.replace(2024, 2), DATE),
    case(lambda d, n: d.replace(day=n), DATE, INT, refuses=True),
    case(
        lambda t: (
            t.toordinal(),
            t.replace(minute=0, second=0, microsecond=0),
            t.replace(hour=t.hour // 2),
            t.replace(microsecond=5),
        ),
        DATETIME,
    ),
    case(lambda t: t.replace(day=30), DATETIME),
    case(lambda t, n: t.replace(minute=n), DATETIME, INT, refuses=True),
    case(lambda y: calendar.isleap(y), INT),
    case(lambda y, m: calendar.monthrange(y, m)[1], INT, INT, refuses=True),
    # from Python 3.12 on the first day is an enum, and has no column form
    *([case(lambda y, m: calendar.monthrange(y, m), INT, INT, refuses=True)] * (sys.version_info < (3, 12))),
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
    case(lambda x: (bool(x), not x, 1 if x else 0, x in (x,), x in [EPOCH, None]), Optional(DATE)),
    case(lambda x: (bool(x), not x, 1 if x else 0, x in (x,), (x or NOON).hour), Optional(DATETIME)),
    case(lambda x: (bool(x), not x, "p" if x else "", x in (x, (1, "a")), (x or (0, ""))[1]), Optional(PAIR)),
    case(lambda x: (bool(x), not x, 1 if x else 0, x == x), Optional(ORDER)),
    case(
        lambda x, y: (x in (x,), x in (y, 1), x not in [y], y in (None, x), 1 in (x, y)), Optional(INT), Optional(INT)
    ),
    case(lambda x, y: x in (y, 0.5), Optional(FLOAT), Optional(FLOAT), refuses=True),
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
    case(lambda t: "%d %s" % t, Tuple((INT, STR))),
    case(lambda t, u: (t == u, t < u, t >= u, t != u), Tuple((INT, STR)), Tuple((INT, STR))),
    case(lambda p: p.x > 3 and p.y is not None and p.y > 2.0, POINT),
    case(lambda p: (p.name, p[0]), POINT),
    case(lambda p: Point(p.x // 2, p.y, name=p.name + "'"), POINT),
    case(lambda p: Point(p.x // 2, None), POINT),
    # the items of a pair
    case(lambda p: (*p, 1), Tuple((INT, Tuple((STR, INT))))),
    case(lambda p: (0, *p[1], *p), Tuple((INT, Tuple((STR, INT))))),
    case(rotated, Tuple((INT, Tuple((STR, INT))))),
    case(lambda p: (lambda a, b: f"{a}{b[0]}")(*p), Tuple((INT, Tuple((STR, INT))))),
    case(starred, Tuple((INT, INT)), refuses=True),
    case(lambda p: clamp(max(*p, 3)), Tuple((INT, INT))),
    case(lambda p: guarded_share(*p), Tuple((INT, INT)), refuses=True),
    case(lambda p: ([*p], "{}-{}".format(*p), first_of(*p), max(*(9, 2))), Tuple((INT, INT))),
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
    case(lambda a, b: (sum([a, b, 0.1, -a, 1e100, b, -1e100], a), sum([a, b, 0.1, 0.2, 0.3])), FLOAT, FLOAT),
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
    case(lambda xs: (max(xs), min(xs)), List(FLOAT), refuses=True),
    case(
        lambda xs: (
            len(set(xs)),
            sorted(set(xs)),
            sorted(set(xs), key=lambda x: (x % 2, x)),
            max(set(xs), key=lambda x: (x % 2, x), default=0),
            set(xs) <= {0, 1},
            [b - a for a, b in zip(xs, xs[1:]) if abs(a) < 99 and abs(b) < 99],
        ),
        List(INT),
    ),
    case(
        lambda xs: (
            xs[::-1],
            all(a <= b for a, b in zip(xs, xs[1:])),
            [i for i, x in enumerate(xs) if x > 0],
            [*xs, 1],
        ),
        List(INT),
    ),
    case(at_two, List(INT)),
    case(lambda xs: sum(i * (x % 7) for i, x in enumerate(xs)), List(INT)),
    case(
        lambda ps: (sorted(ps), max(ps, default=None), dict((name, x) for x, name in ps), len(set(ps))),
        List(Tuple((INT, STR))),
    ),
    case(lambda ps: sorted(ps, key=lambda p: p[1]), List(Tuple((INT, STR)))),
    case(lambda ps: max(ps, key=operator.itemgetter(1))[0], List(Tuple((INT, STR)))),
    case(hottest, List(Tuple((INT, INT)))),
    case(lambda ps: sorted(ps, reverse=True), List(Tuple((INT, STR)))),
    case(lambda ps: sorted(((s, (i, s)) for i, s in ps), reverse=True), List(Tuple((INT, STR)))),
    case(lambda ps: min((s, -i // 2) for i, s in ps), List(Tuple((INT, STR)))),
    case(lambda ps: [(*rest, first) for first, *rest in ps], List(Tuple((INT, STR)))),
    case(lambda ps: [(b, *a) for *a, b in ps], List(Tuple((INT, STR)))),
    case(lambda xs: [x for x in xs if x is not None], List(Optional(INT))),
    case(lambda ps: sum(len(name) for _, (_, name) in enumerate(ps)), List(Tuple((INT, STR)))),
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
    case(looked_up, Dict(INT)),
    case(lambda d: ({**d, "k": 9}, {**d, "q": 1, **d}, {"z": 0, "k": 2} | d, d | {"n": 3}, d | d), Dict(INT)),
    case(lambda d: (sorted(d), list(d), sorted(d.items()), max(d, default="?"), len(set(d))), Dict(INT)),
    case(lambda d: max(d, key=d.get), Dict(INT), refuses=True),
    case(
        lambda d: (
            all(k in d for k in ("k", "z")),
            any(k in d for k in ("k", "")),
            dict(d.items()),
            [k for k, _ in sorted(d.items(), key=lambda kv: -kv[1])] if all(-99 < v < 99 for v in d.values()) else [],
        ),
        Dict(INT),
    ),
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
    return TEXTS[::3] + TEXTS[-12:] if type_ == STR and few else POOLS[type_]


def rows_of(case_: Case) -> list[tuple[Any, ...]]:
    few = len(case_.types) > 1
    return list(itertools.product(*(values_of(type_, few) for type_ in case_.types)))


@pytest.fixture(scope="module")
def session(request: pytest.FixtureRequest) -> Iterator[SparkSession]:
    """A session where generated code really runs."""
    with set_for_proof(request.getfixturevalue("spark")) as spark:
        yield spark


def compiled(case_: Case) -> ColumnForm:
    verdict = verdict_of(Closure(case_.function, Location(__file__, 1), "map"), case_.types)
    assert isinstance(verdict, ColumnForm), f"{verdict.refusal} (line {verdict.refusal.line})"
    return verdict


def problems(case_: Case, results: list[Any], rows: list[tuple[Any, ...]]) -> list[str]:
    found = []
    for row, spark_value in zip(rows, results, strict=True):
        python_value = by_python(case_.function, row)
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


def check(spark: SparkSession, cases: Sequence[Case], rows: list[tuple[Any, ...]]) -> None:
    forms = [compiled(case_) for case_ in cases]
    results = tried(spark, forms, table_of(cases[0].types, rows))
    found = [problem for case_, values in zip(cases, results, strict=True) for problem in problems(case_, values, rows)]
    assert not found[:5]


@pytest.mark.jvm
@pytest.mark.parametrize("cases", groups(), ids=lambda cases: ",".join(map(str, cases[0].types)))
def test_closures_give_what_python_gives(session: SparkSession, cases: list[Case]) -> None:
    check(session, cases, rows_of(cases[0]))

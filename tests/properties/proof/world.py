"""What generated closures may name: records, functions of a user's, and captured constants."""

from __future__ import annotations

import datetime as dt
import math
import operator
import re
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple


class Point(NamedTuple):
    """A record that is a tuple."""

    x: int
    y: float | None
    name: str = "origin"


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


@dataclass(frozen=True)
class Bag:
    """A record with a field that is empty unless it is given."""

    n: int
    items: list[int] = field(default_factory=list)


LIMIT = 3
RATE = 0.1
SEPARATOR = ","
TABLE = {0: "none", 7: "seven", -1: "minus", True: "one"}
SIZES = {"a": 1, "": 0, "12": 12, "ß": 2, "😀b": 3}
LEAGUES = ["first", "second", "third", ""]
NAMES = frozenset({"a", "12", "😀b", ""})
HOUR = dt.timedelta(hours=1)
DAY = dt.timedelta(days=1)
EPOCH = dt.date(1970, 1, 1)
NOON = dt.datetime(2024, 2, 29, 12)
WORD = re.compile(r"([a-z]+)")
NUMBER = re.compile(r"([+-]?\d+)")
FIELDS = re.compile("([^,]*),(.*)")


def clamp(n: int) -> int:
    if n < 0:
        return 0
    return min(100, n)


def share(part: int, whole: int, places: int = 1) -> float:
    if whole == 0:
        return 0.0
    return round(part / whole, 2) * places


def label(text: str, n: int) -> str:
    short = text[:3]
    if not short:
        return "-"
    return f"{short}#{n}" if n % 2 else short.upper()


def or_zero(n: int | None) -> int:
    return 0 if n is None else n


def collatz(n: int) -> int:
    steps = 0
    while n > 1 and steps < 50:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


def horner(x: float, n: int) -> float:
    total = 0.0
    for k in range(n % 7):
        total = total * x + k
    return total


NAMESPACE: dict[str, Any] = {
    "dt": dt, "math": math, "operator": operator, "replace": replace, "Point": Point, "Order": Order, "Bag": Bag,
    "LIMIT": LIMIT, "RATE": RATE, "SEPARATOR": SEPARATOR, "TABLE": TABLE, "SIZES": SIZES, "LEAGUES": LEAGUES,
    "NAMES": NAMES, "HOUR": HOUR, "DAY": DAY, "EPOCH": EPOCH, "NOON": NOON, "clamp": clamp, "share": share,
    "label": label, "or_zero": or_zero, "collatz": collatz, "horner": horner, "re": re, "WORD": WORD,
    "NUMBER": NUMBER, "FIELDS": FIELDS,
}  # fmt: skip
"""The globals of every generated closure."""

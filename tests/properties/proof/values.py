"""Values to try: those where languages differ, and ordinary ones beside them."""

# ruff: noqa: E501 - a row of a table is a line

from __future__ import annotations

import datetime as dt
import math
import random
import struct
from typing import Any

from morisot.types.element import (
    BOOL,
    BYTES,
    DATE,
    DATETIME,
    FLOAT,
    INT,
    STR,
    Dict,
    List,
    Optional,
    Record,
    Tuple,
    Type,
)

INTS = [
    0, 1, -1, 2, -2, 3, 7, -7, 10, 63, 64, 100, 999, 1000, 10**9, 2**31 - 1, -(2**31), 2**32, 94906267, 3037000500,
    2**53 - 1, 2**53, 2**53 + 1, -(2**53) - 1, 2**61 - 1, 2**62, 2**63 - 1, -(2**63), -(2**63) + 1,
]  # fmt: skip
FLOATS = [
    0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.7, 1e-3, 9.99e-4, 1e7, 9999999.0, 1e16, 1e22, 1e-320, 5e-324,
    2.2250738585072014e-308, 1.7976931348623157e308, -1e308, 2.0**53, 2.0**53 + 2, 2.0**63, -(2.0**63), 2.0**62,
    math.inf, -math.inf, math.nan, 0.1, 0.1 + 0.2, 0.49999999999999994, 4503599627370497.5, math.pi, 1e15 + 0.25,
    2.675, 1.005, 0.125, 0.375, 2.345, -0.001, -0.004999, 0.005, 0.285, 1.115, 123456.785, 45035996273704.955, 99.995,
]  # fmt: skip
TEXTS = [
    "", " ", "a", "A", "b", "ab", "aaa", "  x y\t\nz ", "a,b,,c", ",", ",,,,,", "12", " -7 ", "+12\n", "1_000", "1.5", "1e3", "1d", "nan",
    "0x1f", "\x1c1", "\x0012", "12\x00", "99999999999999999999", "-9223372036854775808", "-12", "--1", "+", "-", "0x1p3", ".5", "5.", "1.5e-3",
    "1\x7f", "١", "1١", "-٣", "007", "-0", "2024-02-29", "2023-02-29", "0000-01-01", "2024-01-01T00:00:00", "2024-01-01 23:59:60",
    "20240101", "ß", "ẞ", "SS", "İ", "ı", "i̇", "ΑΣ", "ΑΣ Σ", "ΑΣ.", "Σ", "ς", "ŉ", "ǆ", "ǅ", "Ǆ", "ﬁ", "e\u0301", "é", "ô", "👍🏽", "👨‍👩‍👧",
    "😀b", "a😀", "\x1ca\x1db", "a\x1e\x1fb", "a\x85b", "\u2003q\xa0", "x\u3000y", "\u200bz", "\ufeffq", "it's", 'quo"te', "back\\slash",
    "${x}", "a%b_c", "%s", "{}", "\u0295Σ", "\u019b", "日本 語", "l\u2028m", "a\r\nb", "\U0010ffff", "\ud7ff", "x" * 300 + "ß", "ab," * 200,
]  # fmt: skip
BLOBS = [b"", b"a", b"ab", b"\x00", b"\xff\xfe", b"\x80", b"a\x00b", "ß😀".encode(), bytes(range(256))]
DATES = [
    dt.date.min, dt.date.max, dt.date(1, 1, 2), dt.date(9999, 12, 30), dt.date(1582, 10, 4), dt.date(1582, 10, 10),
    dt.date(1582, 10, 15), dt.date(1969, 12, 31), dt.date(1970, 1, 1), dt.date(2024, 2, 29), dt.date(2024, 12, 30),
    dt.date(2021, 1, 3), dt.date(999, 12, 31), dt.date(1000, 1, 1), dt.date(2023, 1, 1), dt.date(1900, 2, 28),
    dt.date(2018, 11, 4),  # a day whose first hour São Paulo skipped
]  # fmt: skip
TIMES = [
    dt.datetime.min, dt.datetime.max, dt.datetime(1969, 12, 31, 23, 0, 0, 1), dt.datetime(1582, 10, 10, 1, 2, 3),
    dt.datetime(2024, 2, 29, 12, 0, 0, 500000), dt.datetime(1999, 12, 31, 23, 59, 59, 999999), dt.datetime(2024, 1, 1),
    dt.datetime(999, 6, 7, 8, 9, 10), dt.datetime(2024, 3, 31, 2, 30), dt.datetime(1, 1, 1, 0, 0, 0, 1), dt.datetime(1970, 1, 1),
    dt.datetime(2018, 11, 4, 0, 30, 0, 120), dt.datetime(2018, 11, 4), dt.datetime(2018, 2, 17, 23, 30),  # skipped and repeated hours
]  # fmt: skip
POOLS: dict[Type, list[Any]] = {
    INT: INTS, FLOAT: FLOATS, BOOL: [True, False], STR: TEXTS, BYTES: BLOBS, DATE: DATES, DATETIME: TIMES,
}  # fmt: skip
_LETTERS = "aabbcA ,.-_019 \t\nßéİΣ😀日'\"\\$%"
_DAYS = (dt.date.max - dt.date.min).days


class Values:
    """Chooses values of a type: half of them adversarial, the others ordinary ones."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance

    def of(self, type_: Type) -> Any:
        chance = self.chance
        match type_:
            case Optional(inner):
                return None if chance.random() < 0.3 else self.of(inner)
            case Tuple(items):
                return tuple(map(self.of, items))
            case Record(cls, _, items):
                return cls(*map(self.of, items))
            case List(item):
                return [self.of(item) for _ in range(chance.choice([0, 1, 1, 2, 2, 3, 4, 7]))]
            case Dict(value):
                return {self.of(STR): self.of(value) for _ in range(chance.choice([0, 1, 2, 3, 5]))} | (
                    {"k": self.of(value)} if chance.random() < 0.5 else {}
                )
        if chance.random() < 0.5:
            return chance.choice(POOLS[type_])
        return self._ordinary(type_)

    def _ordinary(self, type_: Type) -> Any:
        chance = self.chance
        if type_ == INT:
            return chance.choice([chance.randint(-9, 9), chance.randint(-9, 9), chance.randint(-(10**6), 10**6)])
        if type_ == FLOAT:
            any_bits: float = struct.unpack("d", chance.randbytes(8))[0]
            cents = chance.randint(-(10**5), 10**5) / 1000
            return chance.choice([chance.uniform(-3, 3), cents, float(chance.randint(-9, 9)), any_bits])
        if type_ == STR:
            return "".join(chance.choice(_LETTERS) for _ in range(chance.randint(0, 6)))
        if type_ == DATE:
            return dt.date.min + dt.timedelta(days=chance.randint(0, _DAYS))
        if type_ == DATETIME:
            seconds = chance.randint(0, _DAYS * 86400)
            return dt.datetime.min + dt.timedelta(seconds=seconds, microseconds=chance.choice([0, 1, 999_999, 500_000]))
        if type_ == BYTES:
            return chance.randbytes(chance.randint(0, 4))
        return chance.random() < 0.5

    def rows(self, types: tuple[Type, ...], count: int) -> list[tuple[Any, ...]]:
        """Rows of arguments."""
        return [tuple(map(self.of, types)) for _ in range(count)]

"""Closures that call functions of their own program, or get one from outside."""

import functools
import operator

from benchmarks.closures.entry import closure, numeric_loop
from benchmarks.closures.rows import (
    Order,
    Trip,
    Visit,
    floats,
    int_pairs,
    ints,
    orders,
    readings,
    sentences,
    trips,
    visits,
    word_lists,
)

THRESHOLDS = {"IT": 50.0, "FR": 80.0, "DE": 100.0}
COUNTRY_NAMES = {
    "IT": "Italy", "FR": "France", "DE": "Germany", "ES": "Spain", "AT": "Austria", "GB": "United Kingdom",
    "NO": "Norway", "PT": "Portugal", "US": "United States", "CH": "Switzerland",
}  # fmt: skip
POSTCODES = {f"{n:03d}": f"district {n // 10}" for n in range(150)}


def clamp(x: float, low: float = 0.0, high: float = 1.0) -> float:
    """Into the range."""
    return low if x < low else min(x, high)


def is_european(country: str) -> bool:
    """Whether the shop's lawyers think so."""
    return country in COUNTRY_NAMES and country not in ("US", "GB")


def rate_for(country: str) -> float:
    """The tax rate of a country."""
    if not is_european(country):
        return 0.0
    return 0.22 if country == "IT" else 0.2


def cleaned(word: str) -> str:
    """Without what surrounds it."""
    return word.strip(".,!?").lower()


def scaled_by(x: float, factor: float) -> float:
    """The product."""
    return x * factor


def power(base: int, exponent: int) -> int:
    """By multiplying."""
    result = 1
    for _ in range(exponent):
        result = result * base % 1_000_007
    return result


def adder(n: int):  # type: ignore[no-untyped-def]
    """A closure in the narrow sense."""
    return lambda x: x + n


closure(floats, "clamped", float)(lambda x: clamp(x / 100))
closure(floats, "clamped_far", float)(lambda x: clamp(x, low=-500.0, high=500.0))
closure(ints, "plus_seven", int)(adder(7))
closure(floats, "partly", float)(functools.partial(scaled_by, factor=2.5))
closure(readings, "by_attribute", float)(operator.attrgetter("value"))
closure(int_pairs, "by_item", int)(operator.itemgetter(1))
closure(sentences, "upper", str)(str.upper)


@closure(orders)
def taxed(o: Order) -> float:
    return o.amount * (1 + rate_for(o.country))


@closure(orders)
def country_name(o: Order) -> str:
    return COUNTRY_NAMES.get(o.country, o.country)


@closure(orders)
def over_threshold(o: Order) -> bool:
    return o.amount > THRESHOLDS.get(o.country, 75.0)


@closure(orders)
def district(o: Order) -> str:
    return POSTCODES.get(f"{o.id % 200:03d}", "elsewhere")


@closure(sentences)
def cleaned_words(text: str) -> list[str]:
    return [cleaned(word) for word in text.split()]


@closure(sentences)
def mapped_words(text: str) -> list[str]:
    return list(map(cleaned, text.split()))


@closure(word_lists)
def long_words(words: list[str]) -> list[str]:
    return list(filter(lambda word: len(word) > 4, words))


@closure(visits)
def is_interesting(v: Visit) -> bool:
    def shop(path: str) -> bool:
        return path.startswith("/shop")

    return shop(v.path) and v.status < 400


@closure(trips)
def best_value(t: Trip) -> float:
    def per_person(total: float) -> float:
        return total / t.passengers

    return round(min(per_person(t.fare), per_person(t.fare + t.tip)), 2)


@numeric_loop(int_pairs)
def power_of(pair: tuple[int, int]) -> int:
    return power(pair[0], pair[1] % 50)

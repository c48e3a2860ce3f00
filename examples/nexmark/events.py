"""The events of Nexmark: persons, auctions and bids.

Of 50 consecutive events the first is a person, the next 3 are auctions, and 46 are bids. Event `i` depends only on `i`
and the seed, so any number of instances generates the same events, each its own range.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

import morisot as mo

Numbers = npt.NDArray[np.int64]
Columns = dict[str, Any]

PERIOD, PERSONS, AUCTIONS = 50, 1, 3
BIDS = PERIOD - PERSONS - AUCTIONS
FIRST_ID = 1_000
FIRST_CATEGORY, CATEGORIES = 10, 5
HOT = 100
"""Popular ids are multiples of this number."""
ACTIVE_PERSONS, ACTIVE_AUCTIONS, AHEAD = 1_000, 100, 10
"""Events name one of the last persons or auctions, or one of the next."""
HORIZON = 1_666
"""An auction lasts as long as twice this number of events, at most."""
EVENTS_PER_SECOND = 10_000
CHUNK = 4_096

STATES = np.array(["az", "ca", "id", "or", "wa", "wy"])
CITIES = np.array(
    ["phoenix", "los angeles", "san francisco", "boise", "portland", "bend", "redmond", "seattle", "kent"]
)
FIRST_NAMES = np.array(["peter", "paul", "luke", "john", "saul", "vicky", "kate", "julie", "sarah", "deiter", "walter"])
LAST_NAMES = np.array(["shultz", "abrams", "spencer", "white", "bartels", "walton", "smith", "jones", "noris"])
CHANNELS = np.array(["google", "facebook", "baidu", "apple"])


LABELS = [(number, f"label {number}") for number in range(100)]
"""The side input of query 13."""


class Person(NamedTuple):
    """A person who registers."""

    id: int
    name: str
    email: str
    credit_card: str
    city: str
    state: str
    date_time: int


class Auction(NamedTuple):
    """An item for sale, from `date_time` until `expires`. Times are milliseconds."""

    id: int
    item_name: str
    description: str
    initial_bid: int
    reserve: int
    date_time: int
    expires: int
    seller: int
    category: int


class Bid(NamedTuple):
    """A price that a person offers in an auction."""

    auction: int
    bidder: int
    price: int
    channel: str
    url: str
    date_time: int


# -- random numbers ------------------------------------------------------------------------------------------------


def uniform(event: Numbers, field: int, seed: int) -> npt.NDArray[np.float64]:
    """A number in [0, 1) for each event and field: the output function of SplitMix64 on a counter."""
    with np.errstate(over="ignore"):
        state = event.astype(np.uint64) * np.uint64(16) + np.uint64(field)
        state = (state + np.uint64(seed << 40)) * np.uint64(0x9E3779B97F4A7C15)
        state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        state ^= state >> np.uint64(31)
    return (state >> np.uint64(11)).astype(np.float64) / 2.0**53


class Draw:
    """Random values of some events. Each call uses the next field."""

    def __init__(self, events: Numbers, seed: int) -> None:
        self._events, self._seed, self._field = events, seed, 0

    def fraction(self) -> npt.NDArray[np.float64]:
        self._field += 1
        return uniform(self._events, self._field, self._seed)

    def below(self, limit: Numbers | int) -> Numbers:
        """Integers from 0 to `limit` - 1."""
        return (self.fraction() * limit).astype(np.int64)

    def one_of(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        chosen: npt.NDArray[Any] = values[self.below(len(values))]
        return chosen

    def price(self) -> Numbers:
        return np.rint(100 * 10 ** (6 * self.fraction())).astype(np.int64)


# -- ids and times -------------------------------------------------------------------------------------------------


def time_of(events: Numbers) -> Numbers:
    return events * 1_000 // EVENTS_PER_SECOND


def last_person(events: Numbers) -> Numbers:
    """The number of the newest person at each event, counted from 0."""
    return events // PERIOD


def last_auction(events: Numbers) -> Numbers:
    """The number of the newest auction at each event, counted from 0; -1 if there is none."""
    offset = events % PERIOD
    return AUCTIONS * (events // PERIOD) + np.where(offset == 0, -1, np.clip(offset - 1, 0, AUCTIONS - 1))


def active_person(events: Numbers, draw: Draw) -> Numbers:
    known = last_person(events) + 1
    active = np.minimum(known, ACTIVE_PERSONS)
    return known - active + draw.below(active + AHEAD)


def active_auction(events: Numbers, draw: Draw) -> Numbers:
    newest = last_auction(events)
    oldest = np.maximum(newest - ACTIVE_AUCTIONS, 0)
    return oldest + draw.below(newest - oldest + 1 + AHEAD)


# -- columns of events ---------------------------------------------------------------------------------------------


def persons(numbers: Numbers, seed: int) -> Columns:
    """The persons with these numbers, counted from 0."""
    events = numbers * PERIOD
    draw = Draw(events, seed)
    first, last = draw.one_of(FIRST_NAMES), draw.one_of(LAST_NAMES)
    names = np.char.add(np.char.add(first, " "), last)
    return {
        "id": FIRST_ID + numbers,
        "name": names,
        "email": np.char.add(np.char.replace(names, " ", "."), "@example.com"),
        "credit_card": np.char.zfill(draw.below(10**16).astype(str), 16),
        "city": draw.one_of(CITIES),
        "state": draw.one_of(STATES),
        "date_time": time_of(events),
    }


def auctions(numbers: Numbers, seed: int) -> Columns:
    """The auctions with these numbers, counted from 0."""
    events = numbers // AUCTIONS * PERIOD + PERSONS + numbers % AUCTIONS
    draw = Draw(events, seed)
    hot = last_person(events) // HOT * HOT
    initial, times = draw.price(), time_of(events)
    horizon = time_of(events + HORIZON) - times
    return {
        "id": FIRST_ID + numbers,
        "item_name": np.char.add("item ", draw.below(1_000).astype(str)),
        "description": np.char.add("lot ", draw.below(10**9).astype(str)),
        "initial_bid": initial,
        "reserve": initial + draw.price(),
        "date_time": times,
        "expires": times + 1 + draw.below(2 * horizon),
        "seller": FIRST_ID + np.where(draw.fraction() < 3 / 4, hot, active_person(events, draw)),
        "category": FIRST_CATEGORY + draw.below(CATEGORIES),
    }


def bids(numbers: Numbers, seed: int) -> Columns:
    """The bids with these numbers, counted from 0."""
    events = numbers // BIDS * PERIOD + PERSONS + AUCTIONS + numbers % BIDS
    draw = Draw(events, seed)
    hot_auction, hot_bidder = last_auction(events) // HOT * HOT, last_person(events) // HOT * HOT + 1
    channel = draw.one_of(CHANNELS)
    return {
        "auction": FIRST_ID + np.where(draw.fraction() < 1 / 2, hot_auction, active_auction(events, draw)),
        "bidder": FIRST_ID + np.where(draw.fraction() < 3 / 4, hot_bidder, active_person(events, draw)),
        "price": draw.price(),
        "channel": channel,
        "url": np.char.add(np.char.add("https://auction.example.com/", channel), "/item"),
        "date_time": time_of(events),
    }


# -- sources -------------------------------------------------------------------------------------------------------


def counts(events: int) -> tuple[int, int, int]:
    """The numbers of persons, auctions and bids among the first events."""
    periods, rest = divmod(events, PERIOD)
    found = [min(rest, PERSONS), min(max(rest - PERSONS, 0), AUCTIONS), max(rest - PERSONS - AUCTIONS, 0)]
    return periods * PERSONS + found[0], periods * AUCTIONS + found[1], periods * BIDS + found[2]


class Table:
    """The events of one kind as a parallel source: instance i of n generates the i-th part of them, in order."""

    def __init__(self, columns: Callable[[Numbers, int], Columns], row: type, size: int, seed: int) -> None:
        self.columns, self.row, self.size, self.seed = columns, row, size, seed

    def __call__(self, instance: int, instances: int) -> Iterator[Any]:
        stop = self.size * (instance + 1) // instances
        for start in range(self.size * instance // instances, stop, CHUNK):
            made = self.columns(np.arange(start, min(start + CHUNK, stop)), self.seed)
            yield from map(self.row, *(values.tolist() for values in made.values()))


class Streams(NamedTuple):
    """The streams that queries read: three kinds of events, and a small table."""

    persons: mo.Stream[Person]
    auctions: mo.Stream[Auction]
    bids: mo.Stream[Bid]
    labels: mo.Stream[tuple[int, str]]


def tables(events: int, seed: int = 1) -> list[Table]:
    """The persons, auctions and bids among the first events."""
    kinds: list[tuple[Any, Any]] = [(persons, Person), (auctions, Auction), (bids, Bid)]
    return [Table(columns, row, size, seed) for (columns, row), size in zip(kinds, counts(events), strict=True)]


def generated(ctx: mo.StreamContext, events: int, seed: int = 1) -> Streams:
    """The first events, as streams that are generated in parallel."""
    people, opened, offered = (ctx.stream_par_iter(table, returns=table.row) for table in tables(events, seed))
    return Streams(people, opened, offered, ctx.stream_iter(LABELS))

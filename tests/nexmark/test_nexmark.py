"""Nexmark: the generator has the published proportions, and each query gives the results of plain Python."""

from __future__ import annotations

import inspect
import itertools
import json
import random
from bisect import bisect_left
from collections.abc import Callable, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import morisot as mo
from nexmark import events
from nexmark.events import Auction, Bid, Person, Streams
from nexmark.queries import QUERIES, winning
from tests.driver.run import drive
from tests.nexmark.oracle import ORACLES, Lists

FACTS = [json.loads(line) for line in (Path(__file__).parent / "facts.jsonl").read_text().splitlines()]


SAMPLE = ("q3", "q4", "q5", "q8")
"""Joins, the largest of a group, and windows of windows: the other queries run on Spark in `make thorough`."""
SIZE = 8_000
time_of = attrgetter("date_time")


def fact(name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(each for each in FACTS if each.get("fact") == name)
    return found


Case = tuple[mo.StreamContext, tuple[str, ...]]


THOROUGH = pytest.param("spark", marks=[pytest.mark.jvm, pytest.mark.thorough])


@pytest.fixture(params=["reference", pytest.param("sample", marks=pytest.mark.jvm), THOROUGH])
def case(request: pytest.FixtureRequest) -> Case:
    """A context on the reference engine and on Spark, and the queries that run there."""
    if request.param == "reference":
        return mo.StreamContext(engine="reference"), tuple(QUERIES)
    ctx = mo.StreamContext(request.getfixturevalue("spark"), config=mo.Config(progress=False))
    return ctx, SAMPLE if request.param == "sample" else tuple(QUERIES)


def results(case: Case, streams: Streams) -> dict[str, list[Any]]:
    """The results of the queries, of one run."""
    ctx, names = case
    handles = {name: QUERIES[name](streams).collect_vec() for name in names}
    ctx.execute()
    return {name: sorted(handle.get(), key=repr) for name, handle in handles.items()}


def expected(case: Case, lists: Lists) -> dict[str, list[Any]]:
    return {name: sorted(ORACLES[name](lists), key=repr) for name in case[1]}


@pytest.mark.parametrize("fact", [each for each in FACTS if "event" in each], ids=lambda fact: str(fact["event"]))
def test_ids_and_times_of_an_event(fact: dict[str, Any]) -> None:
    event = np.array([fact["event"]])
    assert events.time_of(event)[0] == fact["ts_ms_flink"]
    assert events.FIRST_ID + events.last_person(event)[0] == fact["last_person_id"]
    if fact["last_auction_id"] is not None:
        assert events.FIRST_ID + events.last_auction(event)[0] == fact["last_auction_id"]
    hot = {
        "hot_seller": events.last_person(event)[0] // events.HOT * events.HOT,
        "hot_auction": events.last_auction(event)[0] // events.HOT * events.HOT,
        "hot_bidder": events.last_person(event)[0] // events.HOT * events.HOT + 1,
    }
    assert all(events.FIRST_ID + hot[name] == fact[name] for name in hot if name in fact)


def test_the_kinds_of_events_have_the_published_proportions() -> None:
    known = fact("counts")
    assert events.counts(known["events"]) == (known["persons"], known["auctions"], known["bids"])
    assert [sum(events.counts(size)) for size in (0, 1, 3, 4, 5, 50, 99, 101)] == [0, 1, 3, 4, 5, 50, 99, 101]


def test_an_auction_lasts_at_most_twice_the_horizon() -> None:
    """The last value of the time is drawn, and none beyond it."""
    known = fact("default horizon of an auction")
    assert known["events_ahead"] == events.HORIZON
    lasts = {auction.expires - auction.date_time for auction in events.tables(200_000)[1](0, 1)}
    assert min(lasts) == 1
    assert max(lasts) - 2 * known["ms_at_10k_eps"] in (0, 2)  # times are rounded down, so that some horizons are 167


def test_instances_together_generate_the_same_events() -> None:
    for table in events.tables(10_000):
        alone = list(table(0, 1))
        assert [row for instance in range(3) for row in table(instance, 3)] == alone
        assert len(set(alone)) == len(alone)


def test_half_of_the_bids_are_on_popular_auctions() -> None:
    bids = list(events.tables(50_000)[2](0, 1))
    popular = sum(bid.auction % events.HOT == 0 for bid in bids) / len(bids)
    assert 0.5 < popular < 0.53
    assert all(100 <= bid.price <= 100_000_000 for bid in bids)


def test_no_query_has_more_than_thirty_lines() -> None:
    for query in (*QUERIES.values(), winning):
        assert len(inspect.getsource(query).splitlines()) <= 30


@pytest.mark.parametrize("case", ["reference", THOROUGH], indirect=True)
def test_the_queries_give_the_results_of_plain_python(case: Case) -> None:
    lists = Lists(*(list(table(0, 1)) for table in events.tables(SIZE)))
    assert results(case, events.generated(case[0], SIZE)) == expected(case, lists)


@pytest.mark.parametrize("nulls", [False, True], ids=["values", "nulls"])
def test_ties_and_repeated_ids(case: Case, chance: random.Random, *, nulls: bool) -> None:
    """Few ids, prices and times, in any order: ties in each query, several persons and auctions with one id."""
    lists, ctx = drawn(chance, nulls=nulls), case[0]
    streams = Streams(
        ctx.stream_iter(list(lists.persons)),
        ctx.stream_iter(list(lists.auctions)),
        ctx.stream_iter(list(lists.bids)),
        ctx.stream_iter(events.LABELS),
    )
    assert results(case, streams) == expected(case, lists)


STORES_ALL = {"q3": "join", "q4": "join", "q6": "join", "q9": "join"}
"""The queries that are refused on unbounded input, and the operator that would store all elements."""


@pytest.mark.parametrize("name", [name for name in QUERIES if name not in STORES_ALL])
@pytest.mark.parametrize("nulls", [False, True], ids=["values", "nulls"])
def test_unbounded_queries_give_the_same_results(name: str, chance: random.Random, *, nulls: bool) -> None:
    """Events arrive in the order of time, in micro-batches of the same times."""
    people, opened, bids = drawn(chance, nulls=nulls)
    lists = Lists(sorted(people, key=time_of), sorted(opened, key=time_of), sorted(bids, key=time_of))
    times = sorted(chance.sample(range(30_000), 4))
    found = drive(unbounded(name), [cut(rows, times) for rows in lists], chance, ends=True)
    assert sorted(found.results, key=repr) == sorted(ORACLES[name](lists), key=repr)
    assert not any(found.metrics["late"].values())


@pytest.mark.parametrize("name", STORES_ALL)
def test_a_query_that_would_store_all_elements_is_refused(name: str, chance: random.Random) -> None:
    sentence = f"{STORES_ALL[name]} cannot run on unbounded input: each element would have to be stored for a partner"
    with pytest.raises(mo.PlanError, match=sentence):
        drive(unbounded(name), [[list(rows)] for rows in drawn(chance)], chance)


def unbounded(name: str) -> Callable[[Any, Any, Any], Any]:
    """The query as a program of three unbounded inputs, and the bounded labels."""
    return lambda people, opened, bids: QUERIES[name](
        Streams(people, opened, bids, bids._context.stream_iter(events.LABELS))
    )


def cut(rows: Sequence[Any], times: list[int]) -> list[list[Any]]:
    """The rows in micro-batches, each with the rows before the next time."""
    places = [0, *(bisect_left(rows, time, key=time_of) for time in times), len(rows)]
    return [list(rows[begin:end]) for begin, end in itertools.pairwise(places)]


NULLABLE = {
    Person: ("name", "city", "state"),
    Auction: ("item_name", "seller", "category"),
    Bid: ("bidder", "channel", "url"),
}
"""The fields that may be null: those that queries do not compare by order or compute with."""


def drawn(chance: random.Random, *, nulls: bool = False) -> Lists:
    def number(limit: int) -> int:
        return chance.randrange(limit)

    def rows(size: int, make: Callable[[], Any]) -> list[Any]:
        return [some_null(make()) for _ in range(size)]

    def some_null(row: Any) -> Any:
        return row._replace(**{name: None for name in NULLABLE[type(row)] if nulls and number(4) == 0})

    def person() -> Person:
        name, state = f"name {number(3)}", chance.choice(["or", "id", "wa"])
        return Person(number(5), name, "", "", "", state, number(30_000))

    def auction() -> Auction:
        start = number(20_000)
        return Auction(
            id=number(20) * 41,
            item_name="item",
            description="",
            initial_bid=1,
            reserve=number(4),
            date_time=start,
            expires=start + number(20_000),
            seller=number(5),
            category=10 + number(2),
        )

    return Lists(
        rows(8, person),
        rows(60, auction),
        rows(200, lambda: Bid(number(20) * 41, number(4), number(6), "", "", number(30_000))),
    )

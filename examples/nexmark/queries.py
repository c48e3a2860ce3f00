"""The queries of Nexmark. Each takes the streams and returns a stream of results.

Times do not decrease in a stream, so windows of event time wait for no late elements: `delay=0`.
"""

from __future__ import annotations

from typing import Any

import morisot as mo
from nexmark.events import Auction, Bid, Streams

Q5_WINDOW, Q5_SLIDE = "10s", "2s"
Q7_WINDOW = Q8_WINDOW = "10s"
Q11_GAP = "1s"


def q0(streams: Streams) -> mo.Stream[Bid]:
    """All bids."""
    return streams.bids


def q1(streams: Streams) -> mo.Stream[Bid]:
    """The bids with prices in euros."""
    return streams.bids.map(lambda b: Bid(b.auction, b.bidder, b.price * 908 // 1000, b.channel, b.url, b.date_time))


def q2(streams: Streams) -> mo.Stream[tuple[int, int]]:
    """The prices offered for some auctions."""
    return streams.bids.filter(lambda b: b.auction % 123 == 0).map(lambda b: (b.auction, b.price))


def q3(streams: Streams) -> mo.Stream[tuple[str, str, str, int]]:
    """The local sellers of a category."""
    local = streams.persons.filter(lambda p: p.state in ("or", "id", "ca"))
    sold = streams.auctions.filter(lambda a: a.category == 10)
    joined = local.join(sold, lambda p: p.id, lambda a: a.seller).drop_key()
    return joined.map(lambda pair: (pair[0].name, pair[0].city, pair[0].state, pair[1].id))


def winning(streams: Streams) -> mo.KeyedStream[int, tuple[Auction, Bid]]:
    """Each auction with its highest valid bid; of equal prices the first."""
    offers = streams.auctions.join(streams.bids, lambda a: a.id, lambda b: b.auction).drop_key()
    valid = offers.filter(
        lambda pair: pair[1].price >= pair[0].reserve and pair[0].date_time <= pair[1].date_time < pair[0].expires
    )
    return valid.group_by_max_element(lambda pair: pair[0].id, lambda pair: pair[1].price)


def q4(streams: Streams) -> mo.KeyedStream[int, float]:
    """The average winning price of each category."""
    return winning(streams).drop_key().group_by_avg(lambda pair: pair[0].category, lambda pair: pair[1].price)


def hottest(counts: list[tuple[int, int]]) -> list[tuple[int, int]]:
    most = max(count for _, count in counts)
    return sorted(pair for pair in counts if pair[1] == most)


def q5(streams: Streams) -> mo.Stream[mo.Windowed[int, list[tuple[int, int]]]]:
    """The auctions with the most bids of the last ten seconds, every two seconds."""
    by_auction = streams.bids.add_timestamps(lambda b: b.date_time, delay=0).group_by(lambda b: b.auction)
    counts = by_auction.window(mo.EventTimeWindow.sliding(Q5_WINDOW, Q5_SLIDE)).count().unkey()
    # the counts of a window have its end as timestamp
    return counts.window_all(mo.EventTimeWindow.tumbling(Q5_SLIDE)).map(hottest).with_bounds()


def q6(streams: Streams) -> mo.KeyedStream[int, float]:
    """The average price of the last ten auctions that each seller has closed."""
    closed = winning(streams).drop_key().sorted_by(lambda pair: (pair[0].expires, pair[0].id))
    prices = closed.group_by(lambda pair: pair[0].seller).map(lambda seller, pair: pair[1].price)
    return prices.window(mo.CountWindow.sliding(10, 1)).mean()


def q7(streams: Streams) -> mo.Stream[Any]:
    """The highest bid of every ten seconds; of equal prices the first."""
    bids = streams.bids.add_timestamps(lambda b: b.date_time, delay=0)
    windows = bids.window_all(mo.EventTimeWindow.tumbling(Q7_WINDOW))
    return windows.reduce(lambda a, b: b if b.price > a.price else a).with_bounds()


def q8(streams: Streams) -> mo.Stream[tuple[int, str, int]]:
    """The persons who opened an auction within the ten seconds in which they registered."""
    people = streams.persons.add_timestamps(lambda p: p.date_time, delay=0).group_by(lambda p: p.id)
    opened = streams.auctions.add_timestamps(lambda a: a.date_time, delay=0).group_by(lambda a: a.seller)
    joined = people.window(mo.EventTimeWindow.tumbling(Q8_WINDOW)).join(opened).drop_key()
    return joined.map(lambda pair: (pair[0].id, pair[0].name, pair[1].reserve))


def q9(streams: Streams) -> mo.Stream[tuple[int, int, int, int]]:
    """The winning bid of each auction: auction, seller, bidder, price."""
    return winning(streams).drop_key().map(lambda pair: (pair[0].id, pair[0].seller, pair[1].bidder, pair[1].price))


def q11(streams: Streams) -> mo.KeyedStream[int, mo.Windowed[int, int]]:
    """The number of bids in each session of a bidder."""
    by_bidder = streams.bids.add_timestamps(lambda b: b.date_time, delay=0).group_by(lambda b: b.bidder)
    return by_bidder.window(mo.EventTimeWindow.session(Q11_GAP)).count().with_bounds()


def q12(streams: Streams) -> mo.KeyedStream[int, int]:
    """The number of bids of each bidder in ten seconds of processing time."""
    by_bidder = streams.bids.group_by(lambda b: b.bidder)
    return by_bidder.window(mo.ProcessingTimeWindow.tumbling("10s")).count()


def q13(streams: Streams) -> mo.Stream[tuple[int, int, int, str]]:
    """The bids with a value from a bounded side input."""
    joined = streams.bids.join(streams.labels, lambda b: b.auction % 100, lambda pair: pair[0]).drop_key()
    return joined.map(lambda pair: (pair[0].auction, pair[0].bidder, pair[0].price, pair[1][1]))


QUERIES = {query.__name__: query for query in (q0, q1, q2, q3, q4, q5, q6, q7, q8, q9, q11, q12, q13)}

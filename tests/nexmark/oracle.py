"""The queries of Nexmark in plain Python, over lists."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from morisot import Windowed
from nexmark.events import LABELS, Auction, Bid, Person

Results = list[Any]


class Lists(NamedTuple):
    """The events that the queries read."""

    persons: Sequence[Person]
    auctions: Sequence[Auction]
    bids: Sequence[Bid]


def q0(lists: Lists) -> Results:
    return list(lists.bids)


def q1(lists: Lists) -> Results:
    return [bid._replace(price=bid.price * 908 // 1000) for bid in lists.bids]


def q2(lists: Lists) -> Results:
    return [(bid.auction, bid.price) for bid in lists.bids if bid.auction % 123 == 0]


def q3(lists: Lists) -> Results:
    return [
        (person.name, person.city, person.state, auction.id)
        for person in lists.persons
        for auction in lists.auctions
        if person.state in ("or", "id", "ca") and auction.category == 10 and person.id == auction.seller
    ]


def winning(lists: Lists) -> dict[int, tuple[Auction, Bid]]:
    """The winner of each auction id. Ties go to the first pair: auctions in order, and for each of them its bids."""
    bids: dict[int, list[Bid]] = defaultdict(list)
    for bid in lists.bids:
        bids[bid.auction].append(bid)
    best: dict[int, tuple[Auction, Bid]] = {}
    for auction in lists.auctions:
        for bid in bids[auction.id]:
            if bid.price < auction.reserve or not auction.date_time <= bid.date_time < auction.expires:
                continue
            if auction.id not in best or bid.price > best[auction.id][1].price:
                best[auction.id] = auction, bid
    return best


def q4(lists: Lists) -> Results:
    prices: dict[int, list[int]] = defaultdict(list)
    for auction, bid in winning(lists).values():
        prices[auction.category].append(bid.price)
    return [(category, sum(each) / len(each)) for category, each in prices.items()]


def q5(lists: Lists, size: int = 10_000, slide: int = 2_000) -> Results:
    windows: dict[int, Counter[int]] = defaultdict(Counter)
    for bid in lists.bids:
        last = bid.date_time // slide * slide
        for start in range(last, last - size, -slide):
            windows[start + size][bid.auction] += 1
    found = []
    for end, counts in windows.items():
        most = max(counts.values())
        found.append(Windowed(end, end + slide, sorted(pair for pair in counts.items() if pair[1] == most)))
    return found


def q6(lists: Lists) -> Results:
    prices: dict[int, list[int]] = defaultdict(list)
    for auction, bid in sorted(winning(lists).values(), key=lambda pair: (pair[0].expires, pair[0].id)):
        prices[auction.seller].append(bid.price)
    return [
        (seller, sum(each[start : start + 10]) / 10)
        for seller, each in prices.items()
        for start in range(len(each) - 9)
    ]


def q7(lists: Lists, size: int = 10_000) -> Results:
    best: dict[int, Bid] = {}
    for bid in lists.bids:
        start = bid.date_time // size * size
        if start not in best or bid.price > best[start].price:
            best[start] = bid
    return [Windowed(start, start + size, bid) for start, bid in best.items()]


def q8(lists: Lists, size: int = 10_000) -> Results:
    return [
        (person.id, person.name, auction.reserve)
        for person in lists.persons
        for auction in lists.auctions
        if person.id == auction.seller and person.date_time // size == auction.date_time // size
    ]


def q9(lists: Lists) -> Results:
    return [(auction.id, auction.seller, bid.bidder, bid.price) for auction, bid in winning(lists).values()]


def q11(lists: Lists, gap: int = 1_000) -> Results:
    times: dict[int, list[int]] = defaultdict(list)
    for bid in lists.bids:
        times[bid.bidder].append(bid.date_time)
    return [(bidder, session) for bidder, each in times.items() for session in _sessions(sorted(each), gap)]


def _sessions(times: list[int], gap: int) -> Iterable[Windowed[int, int]]:
    start = 0
    for stop in range(1, len(times) + 1):
        if stop == len(times) or times[stop] - times[stop - 1] > gap:
            yield Windowed(times[start], times[stop - 1] + gap, stop - start)
            start = stop


def q12(lists: Lists) -> Results:
    """A bounded run processes all elements at one instant."""
    return list(Counter(bid.bidder for bid in lists.bids).items())


def q13(lists: Lists) -> Results:
    labels = dict(LABELS)
    return [(bid.auction, bid.bidder, bid.price, labels[bid.auction % 100]) for bid in lists.bids]


ORACLES: dict[str, Callable[[Lists], Results]] = {
    each.__name__: each for each in (q0, q1, q2, q3, q4, q5, q6, q7, q8, q9, q11, q12, q13)
}

"""Run queries of Nexmark: `python examples/run_nexmark.py q4 q7 --events 100000`."""

from __future__ import annotations

import argparse

import morisot as mo
from nexmark.events import generated
from nexmark.queries import QUERIES

SHOWN = 3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("queries", nargs="*", metavar="QUERY", help=f"some of {', '.join(QUERIES)} (all)")
    parser.add_argument("--events", type=int, default=100_000, help="persons, auctions and bids together")
    given = parser.parse_args()
    unknown = set(given.queries) - set(QUERIES)
    if unknown:
        parser.error(f"there is no query {', '.join(sorted(unknown))}")
    with mo.StreamContext() as ctx:
        streams = generated(ctx, given.events)
        for name in given.queries or QUERIES:
            results = sorted(QUERIES[name](streams).collect())
            print(f"{name}: {len(results):,} results, the first of them {', '.join(map(str, results[:SHOWN]))}")


if __name__ == "__main__":
    main()

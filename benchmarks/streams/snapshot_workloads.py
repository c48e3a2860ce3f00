"""The workloads of `benchmarks.streams.snapshots`, and what Noir with persistence has published about them."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import morisot as mo
from benchmarks.data.text import text
from benchmarks.nexmark.data import Paths
from nexmark.events import Auction, Bid, Person, Streams
from nexmark.queries import QUERIES

Job = Callable[[mo.StreamContext, Path], None]
"""Defines a job, which may write files into a directory."""


@dataclass(frozen=True)
class Published:
    """Times of Noir with persistence for 1 million events or lines on 12 cores; the number and size of snapshots."""

    off: str
    end: str
    coarse: str
    middle: str
    fine: str
    items: str = "–"


PUBLISHED = {
    "q0": Published("68.3 ms", "61.2 ms (1, 3.6 KB)", "50 ms: 71.0 (2)", "10 ms: 72.0 (7)", "5 ms: 74.3 (14, 24 KB)"),
    "q1": Published("68.5 ms", "68.3 ms (1, 3.6 KB)", "50 ms: 71.5 (2)", "10 ms: 72.3 (7)", "5 ms: 74.7 (14, 24 KB)"),
    "q2": Published("68.9 ms", "69.0 ms (1, 3.6 KB)", "50 ms: 72.2 (2)", "10 ms: 74.3 (7)", "5 ms: 75.8 (14, 24 KB)"),
    "q3": Published(
        "86.6 ms", "83 ms (1, 20 KB)", "50 ms: 98 (8.3 MB)", "10 ms: 125 (8, 51 MB)", "5 ms: 184 (17, 113 MB)"
    ),
    "q4": Published(
        "246 ms", "185 ms (1, 27 KB)", "90 ms: 300 (3, 94 MB)", "50 ms: 634 (8, 326 MB)", "30 ms: 1499 (16–30, 942 MB)"
    ),
    "q5": Published(
        "86.5 ms", "85 ms (1)", "50 ms: 93 (2.6 MB)", "10 ms: 129 (12, 27 MB)", "5 ms: 249 (30–40, 86 MB), drift"
    ),
    "q6": Published("255 ms", "188 ms (1)", "90 ms: 307 (3, 96 MB)", "50 ms: 644", "30 ms: 1872 (1.13 GB)"),
    "q7": Published("73.8 ms", "74.5 ms (1, 11 KB)", "50 ms: 77.2", "10 ms: 83.0 (9)", "5 ms: 90.4 (18, 89 KB)"),
    "q8": Published("89.5 ms", "84 ms (1)", "50 ms: 88", "10 ms: 127 (9, 29 MB)", "5 ms: 192 (20, 57 MB)"),
    "wc-fold": Published(
        "2.26 s",
        "2.43 s (1)",
        "100 ms: 2.46 s (25, 16 MB)",
        "10 ms: 3.00 s (297, 204 MB)",
        "–",
        "12.2 s (~100, 1.46 GB)",
    ),
    "wc-assoc": Published("1.83 s", "1.78 s (1)", "100 ms: 1.86 s", "10 ms: 1.97 s (180, 5.3 MB)", "–", "1.90 s (100)"),
}


def query(name: str, paths: Paths) -> Job:
    """A query of Nexmark, whose result is written as Parquet."""

    def define(ctx: mo.StreamContext, out: Path) -> None:
        streams = Streams(
            ctx.stream_parquet(paths.persons, Person),
            ctx.stream_parquet(paths.auctions, Auction),
            ctx.stream_parquet(paths.bids, Bid),
            ctx.stream_iter([(0, "")]),
        )
        results: Any = QUERIES[name](streams)
        results.write_parquet(out / "result", mode="overwrite")

    return define


def word_fold(lines: mo.Stream[str]) -> mo.KeyedStream[str, int]:
    words = lines.flat_map(lambda line: line.split())
    return words.group_by(lambda word: word).fold(0, lambda total, _: total + 1)


def word_count(lines: mo.Stream[str]) -> mo.KeyedStream[str, int]:
    return lines.flat_map(lambda line: line.split()).group_by_count(lambda word: word)


def words(name: str, directory: Path) -> Job:
    """A word count, whose result is written as Parquet."""
    count = {"wc-fold": word_fold, "wc-assoc": word_count}[name]

    def define(ctx: mo.StreamContext, out: Path) -> None:
        lines = ctx.stream_parquet(directory).map(lambda row: row.line, returns=str)
        count(lines).write_parquet(out / "result", mode="overwrite")

    return define


def text_files(directory: Path, size: int, number: int) -> int:
    """Writes a text to files, because a source split consists of whole files. Returns the number of lines."""
    lines = text(size).read_text(encoding="utf-8").splitlines()
    for index in range(number):
        part = lines[index * len(lines) // number : (index + 1) * len(lines) // number]
        pq.write_table(pa.table({"line": part}), directory / f"{index:03}.parquet")
    return len(lines)


# --- the loop ---


def is_prime(n: int) -> bool:
    return all(n % divisor for divisor in range(2, int(n**0.5) + 1))


def noted(n: int, seen: str) -> int:
    """Notes that the work before the loop runs. One byte is written per element of the sample."""
    if n % 1000 == 0:
        with open(seen, "a") as file:  # noqa: PTH123 - in a worker
            file.write("x")
    return n


def added(left: int, right: int) -> int:
    return left + right


class BrokenOffError(Exception):
    """Ends a loop in the middle."""


def loop(most: int, rounds: int, *, breaks_at: int | None = None) -> Job:
    """Work before a loop, and a loop over its result. It may break off in a round."""

    def define(ctx: mo.StreamContext, out: Path) -> None:
        seen = os.fspath(out / "seen")
        asked = [0]

        def continues(_: int) -> bool:
            asked[0] += 1
            if asked[0] == breaks_at:
                raise BrokenOffError
            return True

        numbers = ctx.stream_iter(range(2, most)).map(lambda n: noted(n, seen), returns=int).filter(is_prime)
        numbers.replay(
            rounds,
            0,
            lambda s, state: s.map(lambda n: (n + state.value) % 7),
            added,
            lambda state, delta: (state + delta) % 1009,
            continues,
            delta=0,
        ).write_parquet(out / "result", mode="overwrite")

    return define

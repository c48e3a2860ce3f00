"""Every path on which an error is reported: programs that fail on a text, and what they must raise."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import morisot as mo

Program = Callable[[Any], Any]


class RejectedError(Exception):
    """An exception of the program's own."""


def fails(text: str) -> str:
    raise RejectedError(text)


def loops_then_divides(text: str, number: int) -> int:
    total = 0
    for step in range(number):
        total += step // (number - number)
    return total


class Cell(NamedTuple):
    number: int


PROGRAMS: dict[str, Program] = {
    "map": lambda s: s.map(fails),
    "filter": lambda s: s.filter(fails),
    "flat_map": lambda s: s.flat_map(lambda t: [fails(t)], returns=str),
    "group_by": lambda s: s.group_by(fails),
    "fold": lambda s: s.fold("", lambda held, t: fails(t)),
    "reduce": lambda s: s.reduce(lambda held, t: fails(t)),
    "fold_assoc": lambda s: s.fold_assoc("", lambda held, t: fails(t), lambda a, b: a + b),
    "group_by_reduce": lambda s: s.group_by_reduce(lambda t: 1, lambda a, b: fails(b)),
    "rich_map": lambda s: s.rich_map(0, lambda state, t: (state, fails(t))),
    "keyed rich_map": lambda s: s.group_by(lambda t: t).rich_map(0, lambda state, k, t: (state, fails(t))),
    "window map": lambda s: s.window_all(mo.CountWindow.tumbling(2)).map(lambda ts: fails(ts[-1])),
    "window fold": lambda s: (
        s.group_by(lambda t: 1).window(mo.CountWindow.tumbling(2)).fold("", lambda held, t: fails(t))
    ),
    "time window": lambda s: (
        s.add_timestamps(lambda t: 1, delay=0)
        .window_all(mo.EventTimeWindow.tumbling(10))
        .fold("", lambda held, t: fails(t))
    ),
}
"""Programs over texts whose function fails with the text as the exception's argument."""

NATIVE: dict[str, Program] = {
    "column": lambda s: s.map(lambda t: int(t)),
    "column behind text": lambda s: s.map(lambda t: (t, len(t))).map(lambda pair: 10 // (pair[1] - pair[1])),
    "kernel": lambda s: s.map(lambda t: (t, len(t))).map(
        lambda pair: loops_then_divides(pair[0], pair[1]), returns=int
    ),
}
"""Programs over texts whose compiled form fails first: the text is in the value that Spark's error quotes."""


def run_loop(ctx: mo.StreamContext, texts: list[str]) -> None:
    """A loop that is one job."""
    state, _ = ctx.stream_iter(texts).iterate(
        2, 0, lambda s, state: s.map(fails), lambda d, t: d, lambda s, d: s, lambda s: True, delta=0
    )
    state.collect()


def run_loop_by_rounds(ctx: mo.StreamContext, texts: list[str]) -> None:
    """A loop whose body moves elements."""
    state, _ = ctx.stream_iter(texts).iterate(
        2,
        0,
        lambda s, state: s.sorted_by(lambda t: t).map(fails),
        lambda d, t: d,
        lambda s, d: s,
        lambda s: True,
        delta=0,
    )
    state.collect()


def run_local_fold(ctx: mo.StreamContext, texts: list[str]) -> None:
    ctx.stream_iter(texts).replay(
        2, "", lambda s, state: s, lambda d, t: fails(t), lambda s, d: s, lambda s: True, delta=""
    ).collect()


def run_delta_iterate(ctx: mo.StreamContext, texts: list[str]) -> None:
    ctx.stream_iter(texts).group_by(lambda t: t).delta_iterate(
        2, lambda k, v, d: fails(d), lambda k, v: v, lambda k, v: v, lambda d: True, lambda changed: changed
    ).collect()


def run_generator(ctx: mo.StreamContext, texts: list[str]) -> None:
    text = texts[0]

    def generated(instance: int, instances: int) -> Iterator[str]:
        yield fails(text)

    ctx.stream_par_iter(generated).collect()


LOOPS: dict[str, Callable[[mo.StreamContext, list[str]], None]] = {
    "barrier loop": run_loop,
    "loop by rounds": run_loop_by_rounds,
    "local fold": run_local_fold,
    "delta_iterate": run_delta_iterate,
    "generator": run_generator,
}
"""Bounded programs that are no function from a stream to a stream."""


class FailingSource(mo.OffsetSource[str]):
    """A user's source that fails with a text."""

    def __init__(self, text: str) -> None:
        self.text = text

    def initial_offset(self) -> dict[str, Any]:
        return {"n": 0}

    def read(self, start: dict[str, Any]) -> tuple[list[str], dict[str, Any]]:
        raise RejectedError(self.text)


class FailingSink(mo.Sink[str]):
    """A user's sink that fails with what it gets."""

    def open(self) -> None: ...

    def last_committed(self) -> int | None:
        return None

    def prepare(self, batch: int, elements: Any) -> None:
        fails(elements[-1])

    def commit(self, batch: int) -> None: ...

    def close(self) -> None: ...


def write_csv(file: Path, text: str) -> None:
    with file.open("w", newline="", encoding="utf-8") as out:
        rows = csv.writer(out)
        rows.writerow(["number"])
        rows.writerow([1])
        rows.writerow([text])


def write_json(file: Path, text: str) -> None:
    file.write_text(json.dumps({"number": 1}) + "\n" + json.dumps({"number": text}) + "\n", encoding="utf-8")

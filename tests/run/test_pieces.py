"""Bounded jobs with snapshots: which part of a plan runs in pieces."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import morisot as mo
from morisot.plan.pieces import cut
from morisot.run.engine import refuse_unbounded
from morisot.run.listing import in_pieces

Program = Callable[[mo.StreamContext], Any]


def numbers(ctx: mo.StreamContext) -> mo.Stream[int]:
    return ctx.stream_iter(list(range(10)))


PARTS: dict[str, tuple[Program, list[str]]] = {
    "rows": (lambda ctx: numbers(ctx).map(lambda n: n + 1).filter(lambda n: n > 2), ["filter"]),
    "sort": (lambda ctx: numbers(ctx).map(lambda n: n + 1).sorted_by(lambda n: n), ["map"]),
    "sort at once": (lambda ctx: numbers(ctx).sorted_by(lambda n: n), []),
    "nothing": (numbers, []),
    "aggregate": (lambda ctx: numbers(ctx).group_by_count(lambda n: n % 2).filter(lambda k, n: n > 1), ["count"]),
    "first keys": (lambda ctx: numbers(ctx).group_by_count(lambda n: n % 2).unkey().limit(1), ["key_by"]),
    "count window": (lambda ctx: numbers(ctx).window_all(mo.CountWindow.tumbling(3)).sum(), ["window"]),
    "rest of windows": (lambda ctx: numbers(ctx).window_all(mo.CountWindow.sliding(3, 3, exact=False)).sum(), []),
    "clock": (lambda ctx: numbers(ctx).window_all(mo.ProcessingTimeWindow.tumbling("1s")).count(), []),
    "time": (
        lambda ctx: numbers(ctx).add_timestamps(lambda n: n).window_all(mo.EventTimeWindow.tumbling(3)).sum(),
        ["window"],
    ),
    "join": (lambda ctx: numbers(ctx).join(numbers(ctx), lambda n: n, lambda n: n), ["join"]),
    "outer join": (lambda ctx: numbers(ctx).outer_join(numbers(ctx), lambda n: n, lambda n: n), ["key_by", "key_by"]),
    "merge": (lambda ctx: numbers(ctx).map(lambda n: n).merge(numbers(ctx)), ["map"]),
    "left out": (lambda ctx: numbers(ctx).map(lambda n: n).map(lambda n: 1 // n, on_error="skip"), ["map"]),
    "loop": (
        lambda ctx: (
            numbers(ctx)
            .map(lambda n: n)
            .replay(2, 0, lambda s, state: s, lambda d, n: d, lambda s, d: s, lambda s: True, delta=0)
        ),
        [],
    ),
    "cache": (lambda ctx: numbers(ctx).map(lambda n: n).cache().map(lambda n: n), []),
}


@pytest.mark.parametrize("name", PARTS)
def test_what_runs_in_pieces(name: str) -> None:
    program, expected = PARTS[name]
    found = cut([program(mo.StreamContext(engine="reference"))._node], refuse_unbounded)
    assert [type(part.end).__name__ for part in found.parts] == [
        "".join(word.title() for word in each.split("_")) for each in expected
    ]
    assert bool(found.problem) is not bool(found.parts)


def test_explain_says_what_a_crash_costs(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    ctx = mo.StreamContext(engine="spark", snapshots=mo.Snapshots(tmp_path))
    mapped = numbers(ctx).map(lambda n: n + 1)
    for stream in (mapped, mapped.sorted_by(lambda n: n), numbers(ctx).sorted_by(lambda n: n)):
        stream.explain()
    said = [line for line in capsys.readouterr().out.splitlines() if line.startswith("with snapshots: ")]
    here = r"tests/run/test_pieces.py:\d+"
    assert said[0] == "with snapshots: runs in pieces, and a crash costs the one under way"
    assert re.fullmatch(
        rf"with snapshots: runs in pieces up to map \(.*{here}\), and a crash costs the one under way; what follows "
        "begins again",
        said[1],
    )
    assert re.fullmatch(
        rf"with snapshots: sorted_by \(.*{here}\) needs all elements at once; the job begins again after a crash",
        said[2],
    )


def test_files_gather_in_pieces() -> None:
    assert in_pieces([], largest=None, number=20) == []
    assert in_pieces([0, 0], largest=None, number=20) == [range(2)]
    assert len(in_pieces([7] * 1000, largest=None, number=20)) == 20
    assert in_pieces([5, 5, 5], largest=0, number=20) == [range(1), range(1, 2), range(2, 3)]

"""Loops as JSON to keep, and as the README's table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.loops.workload import BY_HAND, MLLIB, MORISOT, NUMBA, Timing


def as_json(title: str, timings: Sequence[Timing]) -> dict[str, Any]:
    """What was measured of one workload."""
    return {
        "title": title,
        "variants": {
            one.variant: {
                "seconds": one.seconds,
                "rounds": max(1, one.outcome.rounds),
                "loop_seconds": one.outcome.loop_seconds,
            }
            for one in timings
        },
    }


def table(document: dict[str, Any]) -> str:
    """Seconds of a round, with the whole job in brackets."""
    machine = document["machine"]
    rows = ["| a round (whole job) | Morisot | by hand | MLlib | plain numba |", "|---|---|---|---|---|"]
    for workload in document["workloads"].values():
        cells = (_cell(workload["variants"].get(name)) for name in (MORISOT, BY_HAND, MLLIB, NUMBA))
        rows.append(f"| {workload['title']} | {' | '.join(cells)} |")
    rows.append("")
    rows.append(
        "Wall-clock time, the fastest run; by hand: a loop over DataFrames (PageRank in the state: five rounds; "
        "collatz: RDD lambdas, on a tenth of the "
        f"numbers); plain numba: arrays in one process with as many threads, loading not counted; "
        f"{machine['cores']} cores, Spark {machine['spark']}, Python {machine['python']}."
    )
    return "\n".join(rows)


def _cell(variant: dict[str, Any] | None) -> str:
    if variant is None or variant["loop_seconds"] is None:
        return "–"
    round_ = variant["loop_seconds"] / variant["rounds"]
    each = f"{round_ * 1000:.1f} ms" if round_ < 1 else f"{round_:.1f} s"
    return f"{each} ({variant['seconds']:.1f} s)"

"""Timings of loops as JSON, and as a table of docs/guide/performance.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.loops.workload import BY_HAND, MLLIB, MORISOT, NUMBA, Timing


def as_json(title: str, size: int, timings: Mapping[str, Sequence[Timing]]) -> dict[str, Any]:
    """What was measured of one workload: the fastest run of each variant, and the cost of all."""
    variants = {variant: {"size": size, **_variant(runs)} for variant, runs in timings.items()}
    return {"title": title, "variants": variants}


def fastest(runs: Sequence[Timing]) -> Timing:
    """The run that is shown."""
    return min(runs, key=lambda run: run.seconds)


def _variant(runs: Sequence[Timing]) -> dict[str, Any]:
    best = fastest(runs)
    return {
        "seconds": best.seconds,
        "rounds": max(1, best.outcome.rounds),
        "loop_seconds": best.outcome.loop_seconds,
        "runs": [{"cpu_seconds": run.cpu_seconds, "wall_seconds": run.seconds} for run in runs],
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

"""The results as a table to read and as JSON to keep."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rich.table import Table

from benchmarks.workload import DATAFRAME, MORISOT, RDD

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rich.console import Console

    from benchmarks.harness import Measurement, Options, Result

LABELS = {MORISOT: "Morisot", DATAFRAME: "DataFrame by hand", RDD: "RDD lambdas"}


def _cpu(one: Measurement) -> float:
    return one.cpu_seconds


def _wall(one: Measurement) -> float:
    return one.wall_seconds


def as_json(results: Sequence[Result], machine: dict[str, Any], options: Options) -> dict[str, Any]:
    """Everything that was measured; a ratio is per unit of data, to the hand-written DataFrame code."""
    return {
        "machine": machine,
        "options": asdict(options),
        "workloads": {
            result.workload.name: {
                "title": result.workload.title,
                "unit": result.workload.unit,
                "variants": {one.variant: _variant(result, one) for one in result.measurements},
            }
            for result in results
        },
    }


def _variant(result: Result, one: Measurement) -> dict[str, Any]:
    if not one.runs:
        return {"size": one.size, "problem": one.problem}
    return {
        "size": one.size,
        "runs": [asdict(cost) for cost in one.runs],
        "cpu_seconds": one.cpu_seconds,
        "wall_seconds": one.wall_seconds,
        "cpu_ratio": result.ratio(one, _cpu),
        "wall_ratio": result.ratio(one, _wall),
    }


def write_json(document: dict[str, Any], path: Path) -> None:
    """Keep the numbers."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, indent=2) + "\n")


def show(results: Sequence[Result], machine: dict[str, Any], console: Console) -> None:
    """The table of ratios to the DataFrame code written by hand, and below it what failed."""
    title = "{cpu}, {cores} cores, {memory_gb} GB, Spark {spark}, Java {java}, Python {python}".format(**machine)
    table = Table(
        title=title,
        caption="medians of warm runs (smallest to largest); CPU of driver, JVM, workers; ratios to DataFrame by hand",
    )
    for name in ("workload", "variant", "data", "runs"):
        table.add_column(name, justify="right" if name in ("data", "runs") else "left", no_wrap=True)
    for name in ("CPU s", "CPU ratio", "wall s", "wall ratio"):
        table.add_column(name, justify="right", no_wrap=True)
    for result in results:
        for one in result.measurements:
            table.add_row(*_row(result, one), end_section=one is result.measurements[-1])
    console.print(table)
    for result in results:
        if notice := _part_of_the_data(result):
            console.print(notice)
        for one in result.measurements:
            if one.problem is not None:
                console.print(
                    f"{result.workload.name}, {LABELS[one.variant]}: {one.problem}", markup=False, style="red"
                )


def _row(result: Result, one: Measurement) -> tuple[str, ...]:
    part = "*" if one.size != max(other.size for other in result.measurements) else ""
    head = (result.workload.title, LABELS[one.variant], f"{one.size:,} {result.workload.unit}{part}")
    if not one.runs:
        return (*head, "0", "not run" if one.problem is None else "failed", "", "", "")
    cpu = [run.cpu_seconds for run in one.runs]
    wall = [run.wall_seconds for run in one.runs]
    return (
        *head,
        str(len(one.runs)),
        f"{one.cpu_seconds:.2f} ({min(cpu):.2f}-{max(cpu):.2f})",
        _times(result.ratio(one, _cpu), part),
        f"{one.wall_seconds:.2f} ({min(wall):.2f}-{max(wall):.2f})",
        _times(result.ratio(one, _wall), part),
    )


def _times(ratio: float | None, part: str) -> str:
    return "" if ratio is None else f"{ratio:.2f}{part}"


def _part_of_the_data(result: Result) -> str | None:
    sizes = {one.size for one in result.measurements}
    if len(sizes) < 2:
        return None
    share = min(sizes) / max(sizes)
    unit = result.workload.unit.removesuffix("s")
    ran = f"RDD lambdas ran on {share:.0%} of the data"
    return f"* {result.workload.title}: {ran}; their ratio is per {unit}, fixed costs included"

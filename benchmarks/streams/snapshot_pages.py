"""The results of `python -m benchmarks.streams.snapshots` as tables of docs/guide/snapshots.md."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import median
from typing import Any

from benchmarks.streams.snapshot_workloads import PUBLISHED

_MODES = {"off": "off", "end": "one at the end", "coarse": "coarse", "middle": "middle", "fine": "fine"}
_ITEMS = {"items/5": "1/5 of the elements", "items/20": "1/20"}
_LOOP = {"off": "off", "end": "at the end", "middle": "every 0.5 s", "rounds/5": "5 in all", "resumed": "resumed"}


def table(document: Mapping[str, Any]) -> str:
    """Two rows for each workload: as published, and as measured."""
    rows = [
        f"| workload | | {' | '.join(_MODES.values())} | by items |",
        "|---" * (len(_MODES) + 3) + "|",
    ]
    for name, published in PUBLISHED.items():
        if name in document["workloads"]:
            theirs = [published.off, published.end, published.coarse, published.middle, published.fine, published.items]
            rows.append(f"| {name} | Noir | {' | '.join(theirs)} |")
            found = document["workloads"][name]["modes"]
            ours = [_cell(found, mode) for mode in _MODES]
            by_items = "; ".join(f"{title}: {_cell(found, mode)}" for mode, title in _ITEMS.items())
            rows.append(f"| | Morisot | {' | '.join(ours)} | {by_items} |")
    measured = [each for name, each in document["workloads"].items() if name in PUBLISHED]
    return "\n".join([*rows, "", _conditions(measured)] if measured else rows)


def _conditions(measured: list[Mapping[str, Any]]) -> str:
    facts = measured[0]["machine"]
    sizes = sorted({f"{each['size']:,} {each['unit']}" for each in measured})
    counts = {len(mode["runs"]) for each in measured for mode in each["modes"].values()}
    runs = " or ".join(map(str, sorted(counts)))
    return (
        f"Morisot: {' or '.join(sizes)}, the median of {runs} runs in a warm session; the ratio to the time "
        "without snapshots; in parentheses their number, the size of the saved files, and the mean interval divided "
        f"by the requested one (lag). {facts['cores']} cores, {facts['memory_gb']} GB, PySpark {facts['pyspark']}."
    )


def _cell(found: Mapping[str, Any], mode: str) -> str:
    seconds = _seconds(found, mode)
    if mode == "off":
        return f"{seconds:.2f} s"
    last = found[mode]["runs"][-1]
    said = [f"{last['snapshots']}", _size(last["size"])]
    requested = found[mode]["requested"]
    if requested is not None:
        if last["interval"] is not None:
            said.append(f"lag {last['interval'] / requested:.1f}")
        return f"{requested:g} s: {seconds:.2f} s, {seconds / _seconds(found, 'off'):.2f} ({', '.join(said)})"
    return f"{seconds:.2f} s, {seconds / _seconds(found, 'off'):.2f} ({', '.join(said)})"


def _seconds(found: Mapping[str, Any], mode: str) -> float:
    return float(median(each["seconds"] for each in found[mode]["runs"]))


def _size(size: int) -> str:
    return f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{size / 1e3:.0f} KB"


def loops(document: Mapping[str, Any]) -> str:
    """A loop of 10, 100 and 500 rounds, and its second half with the saved work before it."""
    rows = [f"| rounds | {' | '.join(_LOOP.values())} | work repeated |", "|---" * (len(_LOOP) + 2) + "|"]
    found = {name: each for name, each in document["workloads"].items() if name.startswith("loop-")}
    for name, each in sorted(found.items(), key=lambda item: int(item[0].removeprefix("loop-"))):
        cells = [_cell(each["modes"], mode) for mode in _LOOP]
        repeated = each["modes"]["resumed"]["repeated_work"]
        rows.append(f"| {name.removeprefix('loop-')} | {' | '.join(cells)} | {repeated:.0%} |")
    if not found:
        return "\n".join(rows)
    size = next(iter(found.values()))["size"]
    said = (
        f"A filter of the primes below {size:,}, and a `replay` over them. `resumed` was broken off in the middle: it "
        "has the saved work before the loop and the last state. `off` is what a job without snapshots repeats. The "
        "evaluation of Noir has these values only in figures: the differences shrink as the rounds grow."
    )
    return "\n".join([*rows, "", said])

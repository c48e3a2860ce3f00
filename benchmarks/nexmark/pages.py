"""The results of `python -m benchmarks.nexmark` as tables of docs/guide/nexmark.md."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benchmarks.nexmark.systems import BY_HAND, DUCKDB, MORISOT, POLARS, SYSTEMS

NAMES = {MORISOT: "Morisot", BY_HAND: "PySpark by hand", POLARS: "Polars", DUCKDB: "DuckDB"}
Variants = Mapping[str, Mapping[str, Any]]


def of_size(document: Mapping[str, Any], events: int) -> dict[str, Variants]:
    """By query, the variants with this number of events."""
    found = {}
    for one in document["workloads"].values():
        sizes = {each["size"] for each in one["variants"].values()}
        if sizes == {events}:
            found[one["query"]] = one["variants"]
    return dict(sorted(found.items(), key=lambda item: int(item[0][1:])))


def sizes(document: Mapping[str, Any]) -> list[int]:
    """The numbers of events, the largest last."""
    return sorted({each["size"] for one in document["workloads"].values() for each in one["variants"].values()})


def geometric_mean(ratios: Sequence[float]) -> float:
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def ratios(queries: Mapping[str, Variants], key: str) -> dict[str, float]:
    """By query, a ratio of Morisot to the DataFrames by hand."""
    found = ((query, variants.get(MORISOT, {}).get(key)) for query, variants in queries.items())
    return {query: ratio for query, ratio in found if ratio}


RATIOS = {
    "cpu_ratio": "CPU",
    "wall_ratio": "wall",
    "first_cpu_ratio": "first run, CPU",
    "first_wall_ratio": "first run, wall",
}


def table(document: Mapping[str, Any]) -> str:
    """The largest number of events: ratios of Morisot, and seconds of the other systems."""
    events = sizes(document)[-1]
    queries = of_size(document, events)
    others = (BY_HAND, POLARS, DUCKDB)
    head = [f"Morisot, {title}" for title in RATIOS.values()] + [f"{NAMES[name]}, s" for name in others]
    rows = [f"| {events:,} events | {' | '.join(head)} |", "|---" * (len(head) + 1) + "|"]
    for query, variants in queries.items():
        cells = [f"{ratio:.2f}" if (ratio := variants.get(MORISOT, {}).get(key)) else "–" for key in RATIOS]
        cells += [_seconds(variants.get(name, {})) for name in others]
        rows.append(f"| {query.upper()} | {' | '.join(cells)} |")
    means = [geometric_mean(list(found.values())) if (found := ratios(queries, key)) else None for key in RATIOS]
    rows.append(f"| geometric mean | {' | '.join('–' if mean is None else f'{mean:.2f}' for mean in means)} | | | |")
    return "\n".join([*rows, "", *_notes(document, queries)])


def _seconds(variant: Mapping[str, Any]) -> str:
    """CPU time, and wall-clock time in brackets."""
    return f"{variant['cpu_seconds']:.2f} ({variant['wall_seconds']:.2f})" if variant.get("runs") else "–"


def _notes(document: Mapping[str, Any], queries: Mapping[str, Variants]) -> Iterator[str]:
    machine = document["machine"]
    counts = sorted({len(each["runs"]) for one in queries.values() for each in one.values() if each.get("runs")})
    revisions = sorted({one["revision"] for one in document["workloads"].values()})
    yield (
        "Morisot: ratios to PySpark by hand. Other systems: CPU seconds (wall-clock seconds). CPU of the process tree, "
        f"medians of {' or '.join(map(str, counts))} warm runs in turns in one process. {machine['cpu']}, "
        f"{machine['cores']} cores, {machine['memory_gb']} GB, Spark {machine['spark']}, Polars "
        f"{machine.get('polars', '–')}, DuckDB {machine.get('duckdb', '–')}, Java {machine['java']}, "
        f"Python {machine['python']}; revision {', '.join(revisions)}."
    )
    demoted = {query.upper(): each for query, one in queries.items() if (each := one.get(MORISOT, {}).get("notes"))}
    if demoted:
        yield ""
        yield "; ".join(f"{query}: {', '.join(notes)}" for query, notes in demoted.items()) + "."
    problems = [(query, name, each["problem"]) for query, one in queries.items() for name, each in one.items()
                if each.get("problem")]  # fmt: skip
    for query, name, problem in problems:
        yield ""
        yield f"{query.upper()}, {NAMES[name]}: {problem}"


def totals(document: Mapping[str, Any], clock: str) -> dict[int, dict[str, float]]:
    """By the number of events and by system, the sum of the medians of all queries that every size has."""
    by_size = {events: of_size(document, events) for events in sizes(document)}
    complete = {events: _complete(queries) for events, queries in by_size.items()}
    shared = set.intersection(*complete.values()) if complete else set()
    return {
        events: {name: sum(queries[query][name][clock] for query in shared) for name in SYSTEMS}
        for events, queries in by_size.items()
        if shared
    }


def _complete(queries: Mapping[str, Variants]) -> set[str]:
    """The queries that all systems have run."""
    return {query for query, one in queries.items() if all(one.get(name, {}).get("runs") for name in SYSTEMS)}


PICTURE = "![CPU by query, and wall-clock time by the number of events](../pictures/nexmark.svg)"


def scale_table(document: Mapping[str, Any]) -> str:
    """The sums of all queries by the number of events."""
    rows = [f"| events | {' | '.join(f'{NAMES[name]}, s' for name in SYSTEMS)} |", "|---" * (len(SYSTEMS) + 1) + "|"]
    cpu, wall = totals(document, "cpu_seconds"), totals(document, "wall_seconds")
    for events, found in cpu.items():
        cells = [f"{found[name]:.1f} ({wall[events][name]:.1f})" for name in SYSTEMS]
        rows.append(f"| {events:,} | {' | '.join(cells)} |")
    rows += [
        "",
        PICTURE,
        "",
        "Sums of the medians of the queries that each size has: CPU seconds (wall-clock seconds).",
    ]
    return "\n".join(rows)

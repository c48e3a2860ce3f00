"""`python -m benchmarks.readme`: write the last benchmark results into the README and the pages of docs/guide."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.closures import readme as closures
from benchmarks.loops import readme as loops
from benchmarks.nexmark import pages as nexmark
from benchmarks.nexmark.picture import picture
from benchmarks.streams import snapshot_pages
from benchmarks.supervision import pages as supervision
from benchmarks.workload import DATAFRAME, MORISOT, RDD

README = Path("README.md")
PERFORMANCE = Path("docs/guide/performance.md")
NEXMARK, NEXMARK_RESULTS = Path("docs/guide/nexmark.md"), Path("benchmarks/results/0.1.0/nexmark.json")
NEXMARK_PICTURE = Path("docs/pictures/nexmark.svg")
SNAPSHOTS, SNAPSHOTS_RESULTS = Path("docs/guide/snapshots.md"), Path("benchmarks/results/0.1.0/snapshots.json")
WIDTH = 120
"""The longest line of a Markdown page, outside tables."""


def table(document: dict[str, Any]) -> str:
    """CPU ratios to the DataFrame code by hand, and its seconds."""
    machine = document["machine"]
    rows = ["| job | Morisot | DataFrame by hand | RDD lambdas |", "|---|---|---|---|"]
    for workload in document["workloads"].values():
        variants = workload["variants"]
        size = f"{variants[DATAFRAME]['size']:,} {workload['unit']}"
        hand = f"1 ({variants[DATAFRAME]['cpu_seconds']:.1f} s)"
        rdd = ratio(variants.get(RDD, {}))
        if RDD in variants and variants[RDD]["size"] != variants[DATAFRAME]["size"]:
            rdd += f" per element, on {variants[RDD]['size']:,}"
        rows.append(f"| {workload['title']}, {size} | {ratio(variants[MORISOT])} | {hand} | {rdd} |")
    counts = {len(each["variants"][MORISOT].get("runs", ())) for each in document["workloads"].values()}
    runs = f"{min(counts)} to {max(counts)}" if len(counts) > 1 else str(max(counts))
    rows.append("")
    rows.append(
        f"CPU of driver, JVM and workers together, median of {runs} warm runs (one for RDD lambdas) in one process; "
        f"{machine['cores']} cores, {machine['memory_gb']} GB, Spark {machine['spark']}, Java {machine['java']}, "
        f"Python {machine['python']}."
    )
    return "\n".join(rows)


def ratio(variant: dict[str, Any]) -> str:
    return f"{variant['cpu_ratio']:.2f}" if variant.get("cpu_ratio") else "–"


TABLES: dict[str, tuple[Path, Path, Callable[[dict[str, Any]], str]]] = {
    "bench": (README, Path("build/bench.json"), table),
    "closures": (PERFORMANCE, Path("build/closures.json"), closures.table),
    "loops": (PERFORMANCE, Path("build/loops.json"), loops.table),
    "nexmark": (NEXMARK, NEXMARK_RESULTS, nexmark.table),
    "nexmark-sizes": (NEXMARK, NEXMARK_RESULTS, nexmark.scale_table),
    "snapshots": (SNAPSHOTS, SNAPSHOTS_RESULTS, snapshot_pages.table),
    "snapshots-loops": (SNAPSHOTS, SNAPSHOTS_RESULTS, snapshot_pages.loops),
    "supervision": (
        Path("docs/guide/supervision.md"),
        Path("benchmarks/results/0.1.0/supervision.json"),
        supervision.table,
    ),
}
"""For each pair of markers: the page, the file of results, and the function that makes the text between them."""


def filled(text: str, name: str, content: str) -> str:
    """The text with new content between the markers of that name; lines that are no table rows are wrapped."""
    begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
    lines = (line if line.startswith("|") else textwrap.fill(line, WIDTH) for line in content.splitlines())
    between = "\n".join([begin, *lines, end])
    return re.sub(re.escape(begin) + r".*?" + re.escape(end), lambda _: between, text, flags=re.DOTALL)


def main() -> None:
    """Write the tables and the picture of which there are results."""
    for name, (page, results, show) in TABLES.items():
        if results.exists():
            page.write_text(filled(page.read_text(), name, show(json.loads(results.read_text()))))
    if NEXMARK_RESULTS.exists():
        NEXMARK_PICTURE.write_text(picture(json.loads(NEXMARK_RESULTS.read_text())))


if __name__ == "__main__":
    main()

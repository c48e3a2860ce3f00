"""`python -m benchmarks.readme`: the ratios of the last `make bench`, as the README's table."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from benchmarks.workload import DATAFRAME, MORISOT, RDD

RESULTS = Path("build/bench.json")
README = Path("README.md")
BEGIN, END = "<!-- bench:begin -->", "<!-- bench:end -->"


def table(document: dict[str, Any]) -> str:
    """CPU ratios to the DataFrame code by hand, and its seconds."""
    machine = document["machine"]
    rows = ["| job | Morisot | DataFrame by hand | RDD lambdas |", "|---|---|---|---|"]
    for workload in document["workloads"].values():
        variants = workload["variants"]
        size = f"{variants[DATAFRAME]['size']:,} {workload['unit']}"
        hand = f"1 ({variants[DATAFRAME]['cpu_seconds']:.1f} s)"
        rdd = ratio(variants[RDD])
        if variants[RDD]["size"] != variants[DATAFRAME]["size"]:
            rdd += f" each, on {variants[RDD]['size']:,}"
        rows.append(f"| {workload['title']}, {size} | {ratio(variants[MORISOT])} | {hand} | {rdd} |")
    runs = document["options"]["runs"]
    rows.append("")
    rows.append(
        f"CPU of driver, JVM and workers together, median of {runs} warm runs (one for RDD lambdas) in one process; "
        f"{machine['cores']} cores, {machine['memory_gb']} GB, Spark {machine['spark']}, Java {machine['java']}, "
        f"Python {machine['python']}."
    )
    return "\n".join(rows)


def ratio(variant: dict[str, Any]) -> str:
    return f"{variant['cpu_ratio']:.2f}" if variant.get("cpu_ratio") else "–"


def main() -> None:
    """Put the table between the README's markers."""
    filled = f"{BEGIN}\n{table(json.loads(RESULTS.read_text()))}\n{END}"
    pattern = re.escape(BEGIN) + r".*?" + re.escape(END)
    README.write_text(re.sub(pattern, lambda _: filled, README.read_text(), flags=re.DOTALL))


if __name__ == "__main__":
    main()

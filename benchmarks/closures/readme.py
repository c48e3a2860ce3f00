"""The corpus of closures as tables of docs/guide/performance.md."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from typing import Any

from benchmarks.closures.forms import FORMS, KINDS, TARGETS

TEXT_THEMES = ("text_cleaning", "parsing", "log_lines", "formatting")


def table(document: dict[str, Any]) -> str:
    """How many closures get which form, and how much less they cost than as Arrow UDFs and RDD lambdas."""
    closures = document["closures"]
    rows = ["| closures | column | kernel | stage |", "|---|---|---|---|"]
    for kind in KINDS:
        found = [one["form"] for one in closures.values() if one["kind"] == kind]
        counts = " | ".join(str(found.count(form)) for form in FORMS)
        rows.append(f"| {len(found)} {_plural(kind, len(found))} | {counts} |")
    rows += ["", "| CPU for a row, compared with Morisot | Arrow UDF | RDD lambda |", "|---|---|---|"]
    for name, (title, _) in TARGETS.items():
        if name in closures:
            rows.append(f"| {title} | {_times(closures[name], 'arrow_udf')} | {_times(closures[name], 'rdd')} |")
    for title, belongs in _GROUPS.items():
        chosen = [one for name, one in closures.items() if belongs(name, one)]
        rows.append(f"| {title} | {_median(chosen, 'arrow_udf')} | {_median(chosen, 'rdd')} |")
    rows += ["", _note(document)]
    return "\n".join(rows)


_GROUPS: dict[str, Callable[[str, dict[str, Any]], bool]] = {
    "the median column": lambda name, one: one["form"] == "column",
    "the median column on text": lambda name, one: one["form"] == "column" and name.split(".")[0] in TEXT_THEMES,
    "the median kernel": lambda name, one: one["form"] == "kernel",
    "the median stage": lambda name, one: one["form"] == "stage",
}


def _plural(kind: str, count: int) -> str:
    return kind if kind == "loop-free" or count == 1 else f"{kind}s"


def _times(one: dict[str, Any], way: str) -> str:
    ratio = one[f"{way}_ratio"]
    return "–" if ratio is None else f"{ratio:.1f} times" if ratio < 10 else f"{ratio:.0f} times"


def _median(chosen: list[dict[str, Any]], way: str) -> str:
    ratios = [one[f"{way}_ratio"] for one in chosen if one[f"{way}_ratio"] is not None]
    return _times({f"{way}_ratio": median(ratios) if ratios else None}, way)


def _note(document: dict[str, Any]) -> str:
    closures, machine = document["closures"].values(), document["machine"]
    lowered = sum(one["transpiled_by_spark"] for one in closures)
    slower = sum((one["arrow_udf_ratio"] or 1.0) < 1.0 for one in closures)
    least = "No closure costs more than as an Arrow UDF." if not slower else f"{slower} cost more than as an Arrow UDF."
    spark = f"Spark's own experimental transpiler makes expressions of {lowered} of these {len(closures)}. "
    return (
        f"{spark if document['transpiler'] else ''}{least} CPU of Spark's tasks and Python's workers; "
        f"{machine['cores']} cores, Spark {machine['spark']}, Java {machine['java']}, Python {machine['python']}."
    )

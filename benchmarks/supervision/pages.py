"""The results of `python -m benchmarks.supervision` as tables of docs/guide/supervision.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any


def table(document: Mapping[str, Any]) -> str:
    """The tables of the parts that were measured."""
    parts = [show(document[name]["found"]) for name, show in _SHOWN.items() if name in document]
    return "\n\n".join([*parts, _conditions(document)])


def _conditions(document: Mapping[str, Any]) -> str:
    facts = next(document[name]["machine"] for name in _SHOWN if name in document)
    settings = document["settings"]
    return (
        f"Measured with a heartbeat of {settings['heartbeat']:g} s and a stall of {settings['stall']:g} s, and of 12 s "
        f"for a function on Spark; {facts['cores']} cores, {facts['memory_gb']} GB, PySpark {facts['pyspark']}, "
        f"Python {facts['python']}."
    )


def _limits(title: str) -> Any:
    def show(found: Mapping[str, Any]) -> str:
        rows = [f"| {title} | seconds (median, longest) | limit |", "|---|---|---|"]
        rows += [f"| {name} | {_times(each['seconds'])} | {each['limit']:g} |" for name, each in found.items()]
        return "\n".join(rows)

    return show


def _recovery(found: Mapping[str, Any]) -> str:
    rows = [
        "| failure | resumes in | s to the first new result (median, longest) | s from the first start to a result |",
        "|---|---|---|---|",
    ]
    rows += [
        f"| {name} | {each['where']} | {_times(each['seconds'])} | {median(each['start_up']):.1f} |"
        for name, each in found.items()
    ]
    return "\n".join(rows)


def _endings(found: Mapping[str, Any]) -> str:
    rows = ["| ending | exit code | processes before | left at the next start |", "|---|---|---|---|"]
    for name, each in found.items():
        left = ", ".join(each["left"]) or "nothing"
        rows.append(f"| {name} | {each['exit_code']} | {each['processes_before']} | {left} |")
    return "\n".join(rows)


def _times(seconds: Sequence[float]) -> str:
    return f"{median(seconds):.2f}, {max(seconds):.2f}"


_SHOWN: dict[str, Any] = {
    "detection": _limits("detection"),
    "recovery": _recovery,
    "endings": _endings,
    "start": _limits("command"),
}

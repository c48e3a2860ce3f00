"""A table of a running job on the terminal, redrawn every second and erased at the end."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from morisot.runtime.metrics import JobMetrics
from morisot.runtime.tally import KINDS

if TYPE_CHECKING:
    from rich.console import Group

_PATIENCE = 2.0
"""Seconds before the table appears."""
_INTERVAL = 1.0

COLUMNS = (
    "sink",
    "batches",
    "in",
    "out",
    "in/s",
    "done/s",
    "batch s",
    "waiting",
    "lag s",
    "left out",
    "state",
    "watermark",
)


def rows(metrics: JobMetrics) -> list[tuple[str, ...]]:
    """The rows of the table, one for each sink.

    >>> rows({"sinks": [{"sink": "for_each", "batches": 2, "elements_in": 5}]})
    [('for_each', '2', '5', '', '', '', '', '', '', '', '', '')]
    """
    return [
        (
            str(sink["sink"]),
            _shown(sink.get("batches")),
            _shown(sink.get("elements_in")),
            _shown(sink.get("elements_out")),
            _shown(sink.get("arriving_per_second")),
            _shown(sink.get("elements_per_second")),
            _shown(sink.get("batch_seconds", {}).get("last")),
            _backlog(sink),
            _shown(round(sink["lag_seconds"], 1) or None) if "lag_seconds" in sink else "",
            _skipped(sink),
            _bytes(sum(each["bytes"] for each in sink.get("state", {}).values())),
            str(sink.get("watermark") or ""),
        )
        for sink in metrics["sinks"]
    ]


def _shown(number: float | None) -> str:
    if number is None:
        return ""
    return f"{number:,}" if isinstance(number, int) else f"{number:,.1f}"


def _backlog(sink: dict[str, Any]) -> str:
    """The backlog: elements in channels and files in directories.

    >>> _backlog({"waiting": 1200, "waiting_files": 3})
    '1,200 + 3 files'
    """
    elements, files = sink.get("waiting", 0), sink.get("waiting_files", 0)
    return " + ".join([f"{elements:,}"] * bool(elements) + [f"{files:,} file{'s' * (files > 1)}"] * bool(files))


def _skipped(sink: dict[str, Any]) -> str:
    """The numbers of late, skipped and diverted elements.

    >>> _skipped({"late": {"window (a.py:3)": 2, "join (a.py:9)": 1}, "skipped": {}, "diverted": {"map (a.py:1)": 4}})
    '4 diverted, 3 late'
    """
    counts = {kind: sum(sink.get(kind, {}).values()) for kind in KINDS}
    return ", ".join(f"{count:,} {kind}" for kind, count in counts.items() if count)


def _bytes(count: int) -> str:
    return f"{count / 2**20:.1f} MiB" if count else ""


def watch(metrics: Callable[[], JobMetrics], over: Callable[[], bool], enabled: bool | None) -> None:
    """Draws the metrics until the job is `over`. `enabled` is `Config.progress`; None: if stderr is a terminal."""
    wanted = sys.stderr is not None and sys.stderr.isatty() if enabled is None else enabled
    if wanted:
        threading.Thread(target=_draw, args=(metrics, over), name="morisot-live", daemon=True).start()


def _draw(metrics: Callable[[], JobMetrics], over: Callable[[], bool]) -> None:
    """Draws the table. Errors here must not affect the job."""
    pause = threading.Event()
    pause.wait(_PATIENCE)
    from rich.console import Console
    from rich.live import Live

    with (
        contextlib.suppress(Exception),
        Live(console=Console(stderr=True, force_terminal=True), transient=True, redirect_stdout=False) as live,
    ):
        while not over():
            live.update(_tables(metrics()))
            pause.wait(_INTERVAL)


def _tables(metrics: JobMetrics) -> Group:
    from rich.console import Group
    from rich.table import Table

    found = rows(metrics)
    columns = [column for column in range(len(COLUMNS)) if any(row[column] for row in found)]  # without empty columns
    table = Table(*(COLUMNS[column] for column in columns), box=None)
    for row in found:
        table.add_row(*(row[column] for column in columns))
    counted = operators(metrics)
    if not counted:
        return Group(table)
    below = Table("operator", "in", "out", box=None)
    for each in counted:
        below.add_row(*each)
    return Group(table, "", below)


def operators(metrics: JobMetrics) -> list[tuple[str, ...]]:
    """The numbers of elements that operators read and emitted, if they are counted.

    >>> operators({"sinks": [{"operators": [{"operator": "filter (a.py:3)", "in": 1000, "out": 10}]}]})
    [('filter (a.py:3)', '1,000', '10')]
    """
    counted = [each for sink in metrics["sinks"] for each in sink.get("operators", [])]
    return [(each["operator"], _shown(each["in"]), _shown(each["out"])) for each in counted]

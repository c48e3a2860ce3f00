"""The memory of a program and everything below it, looked at while it runs, and drawn."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import NamedTuple, Self

import psutil

_MEGABYTE = 1 << 20


class Sample(NamedTuple):
    """What was seen at one moment."""

    seconds: float
    java: float
    """Megabytes of the JVM."""
    worker: float
    """Megabytes of the largest Python process below it."""
    driver: float
    behind: float
    """How many elements wait."""


class Watch:
    """Takes samples on a thread of its own while it is entered."""

    def __init__(self, behind: Callable[[], float], every: float = 1.0) -> None:
        self.samples: list[Sample] = []
        self._behind = behind
        self._every = every
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Self:
        self._began = time.monotonic()
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        root = psutil.Process(os.getpid())
        while not self._over.wait(self._every):
            java = worker = 0.0
            for process in root.children(recursive=True):
                try:
                    name, megabytes = process.name(), process.memory_info().rss / _MEGABYTE
                except psutil.NoSuchProcess:
                    continue
                if "java" in name:
                    java = max(java, megabytes)
                elif "python" in name:  # a copy of the JVM that is about to become another program has neither name
                    worker = max(worker, megabytes)
            driver = root.memory_info().rss / _MEGABYTE
            self.samples.append(Sample(time.monotonic() - self._began, java, worker, driver, self._behind()))


def quarters(samples: Sequence[Sample]) -> list[str]:
    """The largest of each quarter of the time, as rows of a table."""
    rows = ["| quarter | JVM MB | largest worker MB | driver MB | elements that wait |", "|---|---|---|---|---|"]
    for quarter in range(4):
        part = samples[len(samples) * quarter // 4 : len(samples) * (quarter + 1) // 4]
        if part:
            most = [max(sample[column] for sample in part) for column in (1, 2, 3, 4)]
            rows.append(f"| {quarter + 1} | " + " | ".join(f"{each:,.0f}" for each in most) + " |")
    return rows


_COLOURS = {
    "JVM MB": "#4477aa",
    "largest worker MB": "#ee6677",
    "driver MB": "#228833",
    "elements that wait": "#ccbb44",
}
_WIDTH, _HEIGHT, _MARGIN = 640, 120, 40


def drawn(samples: Sequence[Sample]) -> str:
    """The samples as a picture (SVG): a strip for each column, all over the same time."""
    end = samples[-1].seconds if samples else 1.0
    parts = []
    for row, (title, colour) in enumerate(_COLOURS.items()):
        top = row * (_HEIGHT + _MARGIN) + _MARGIN
        most = max((sample[row + 1] for sample in samples), default=0) or 1
        points = " ".join(
            f"{_MARGIN + sample.seconds / end * _WIDTH:.1f},{top + _HEIGHT - sample[row + 1] / most * _HEIGHT:.1f}"
            for sample in samples
        )
        parts += [
            f'<rect x="{_MARGIN}" y="{top}" width="{_WIDTH}" height="{_HEIGHT}" fill="#f7f7f7"/>',
            f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.5"/>',
            f'<text x="{_MARGIN}" y="{top - 6}">{title}, at most {most:,.0f}, over {end:,.0f} s</text>',
        ]
    width, height = _WIDTH + 2 * _MARGIN, len(_COLOURS) * (_HEIGHT + _MARGIN) + _MARGIN
    style = "font-family='sans-serif' font-size='13'"
    return f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" {style}>{"".join(parts)}</svg>\n'

"""The results of `python -m benchmarks.nexmark` as a picture: ratios by query, and time by the number of events."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from benchmarks.nexmark.pages import NAMES, of_size, ratios, sizes, totals
from benchmarks.nexmark.systems import BY_HAND, DUCKDB, MORISOT, POLARS, SYSTEMS

WIDTH, HEIGHT, LEFT, RIGHT, TOP, GAP = 420, 300, 48, 124, 56, 72
COLOURS = {MORISOT: "#b5179e", BY_HAND: "#e07a1f", POLARS: "#1a6fc4", DUCKDB: "#3a7d44"}
GREY, LIGHT = "#555555", "#dddddd"
Scale = Callable[[float], float]


def picture(document: Mapping[str, Any]) -> str:
    """Two panels side by side."""
    width, height = LEFT + 2 * WIDTH + GAP + RIGHT, TOP + HEIGHT + 64
    shapes = [*_ratios(document, LEFT), *_scaling(document, LEFT + WIDTH + GAP)]
    style = "font-family='sans-serif' font-size='12'"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'{style}>\n<rect width="100%" height="100%" fill="#ffffff"/>\n{chr(10).join(shapes)}\n</svg>\n'
    )


def _logarithmic(low: float, high: float, begin: float, end: float) -> Scale:
    span = math.log(high / low)
    return lambda value: begin + (end - begin) * math.log(value / low) / span


def _text(x: float, y: float, content: str, anchor: str = "middle", colour: str = GREY) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}">{content}</text>'


def _line(points: Sequence[tuple[float, float]], colour: str, width: float = 1, dash: str = "") -> str:
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    return f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="{width}"{dashed}/>'


def _dot(x: float, y: float, colour: str, *, filled: bool = True) -> str:
    inside = colour if filled else "#ffffff"
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{inside}" stroke="{colour}" stroke-width="1.5"/>'


def _ratios(document: Mapping[str, Any], left: float) -> Iterator[str]:
    """CPU of Morisot relative to PySpark by hand: filled dots for warm runs, rings for the first run."""
    events = sizes(document)[-1]
    queries = of_size(document, events)
    warm, first = ratios(queries, "cpu_ratio"), ratios(queries, "first_cpu_ratio")
    values = [*warm.values(), *first.values(), 0.8, 1.25]
    y = _logarithmic(min(values) / 1.1, max(values) * 1.1, TOP + HEIGHT, TOP)
    x = {query: left + WIDTH * (index + 0.5) / len(queries) for index, query in enumerate(queries)}
    yield _text(left, 20, f"CPU of Morisot relative to PySpark by hand, {events:,} events", "start", "#000000")
    yield _dot(left + 6, 34, COLOURS[MORISOT])
    yield _text(left + 16, 38, "warm (median)", "start")
    yield _dot(left + 126, 34, COLOURS[MORISOT], filled=False)
    yield _text(left + 136, 38, "first run", "start")
    for tick in (0.25, 0.5, 0.7, 1, 1.5, 2, 3, 5, 10):
        if min(values) / 1.1 <= tick <= max(values) * 1.1:
            colour, dash = (COLOURS[BY_HAND], "4 3") if tick == 1 else (LIGHT, "")
            yield _line([(left, y(tick)), (left + WIDTH, y(tick))], colour, 1.5 if tick == 1 else 1, dash)
            yield _text(left - 8, y(tick) + 4, f"{tick:g}", "end")
    for query, middle in x.items():
        yield _text(middle, TOP + HEIGHT + 18, query.upper())
        if query in first:
            yield _dot(middle, y(first[query]), COLOURS[MORISOT], filled=False)
        if query in warm:
            yield _dot(middle, y(warm[query]), COLOURS[MORISOT])


def _scaling(document: Mapping[str, Any], left: float) -> Iterator[str]:
    """The wall-clock time of all queries by the number of events, a line for each system; both axes logarithmic."""
    found = totals(document, "wall_seconds")
    yield _text(left, 20, "All queries, wall-clock seconds, by the number of events", "start", "#000000")
    if len(found) < 2:
        yield _text(left, 38, "one size was measured", "start")
        return
    seconds = [value for each in found.values() for value in each.values()]
    low, high = min(seconds) / 1.3, max(seconds) * 1.3
    x, y = _logarithmic(min(found), max(found), left, left + WIDTH), _logarithmic(low, high, TOP + HEIGHT, TOP)
    for exponent in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1):
        for tick in (10**exponent, 3 * 10**exponent):
            if low <= tick <= high:
                yield _line([(left, y(tick)), (left + WIDTH, y(tick))], LIGHT)
                yield _text(left - 8, y(tick) + 4, f"{tick:g}", "end")
    for events in found:
        yield _text(x(events), TOP + HEIGHT + 18, f"{events / 1e6:g} M")
    labels = _spread({name: y(found[max(found)][name]) for name in SYSTEMS})
    for name in SYSTEMS:
        points = [(x(events), y(each[name])) for events, each in found.items()]
        yield _line(points, COLOURS[name], 2)
        yield from (_dot(*point, COLOURS[name]) for point in points)
        yield _text(left + WIDTH + 10, labels[name] + 4, NAMES[name], "start", COLOURS[name])


def _spread(heights: Mapping[str, float], distance: float = 15) -> dict[str, float]:
    """Heights of labels that do not overlap."""
    found: dict[str, float] = {}
    for name in sorted(heights, key=lambda name: heights[name]):
        above = max(found.values(), default=-math.inf)
        found[name] = max(heights[name], above + distance)
    return found

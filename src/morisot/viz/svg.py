"""A drawing as SVG, laid out here: no program and no network is needed to see it."""

from __future__ import annotations

import html
import itertools
from collections import defaultdict
from dataclasses import dataclass

from morisot.viz.drawing import Box, Drawing
from morisot.viz.mermaid import lines_of, slowest

_FILL = {"column": "#dafbe1", "kernel": "#ddf4ff", "stage": "#fff8c5", "": "#f6f8fa"}
_STROKE = {"column": "#1a7f37", "kernel": "#0969da", "stage": "#9a6700", "": "#6e7781"}
_CHARACTER, _LINE, _PADDING, _BETWEEN, _BELOW, _MARGIN = 7.3, 17, 12, 34, 46, 20
_TITLE, _DETAIL = 'fill="#1f2328" font-weight="600"', 'fill="#57606a"'
_LEGEND = {"column": "Spark expression", "kernel": "machine code", "stage": "Python", "": "no function"}


@dataclass
class PlacedBox:
    """Where a box is: its middle, its top and its size."""

    box: Box
    width: float
    height: float
    x: float = 0.0
    y: float = 0.0


def svg(drawing: Drawing) -> str:
    """The picture, from the sources down."""
    places, width, height = laid_out(drawing)
    shapes = [arrow_path(places[a.source], places[a.target], a.body) for a in drawing.arrows]
    shapes += [box_shape(place) for place in places.values()]
    shapes += legend(drawing, height)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height + 34:.0f}" width="{width:.0f}" '
        f'height="{height + 34:.0f}" font-family="ui-monospace, Menlo, Consolas, monospace" font-size="12">\n'
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0L8 4L0 8z" fill="#57606a"/></marker></defs>\n'
        f'<rect width="100%" height="100%" fill="#ffffff"/>\n{chr(10).join(shapes)}\n</svg>\n'
    )


def laid_out(drawing: Drawing) -> tuple[dict[str, PlacedBox], float, float]:
    """Each box below all that lead to it, as near under them as its neighbours allow."""
    inputs: dict[str, list[str]] = defaultdict(list)
    for arrow in drawing.arrows:
        inputs[arrow.target].append(arrow.source)
    places = {box.id: sized(box) for box in drawing.boxes}
    rank: dict[str, int] = {}
    for box in drawing.boxes:  # inputs come before what uses them
        rank[box.id] = 1 + max((rank[each] for each in inputs[box.id]), default=-1)
    rows: dict[int, list[PlacedBox]] = defaultdict(list)
    for box in drawing.boxes:
        rows[rank[box.id]].append(places[box.id])
    top = float(_MARGIN)
    for number in sorted(rows):
        row = rows[number]
        for place in row:
            above = [places[each].x for each in inputs[place.box.id]]
            place.x = sum(above) / len(above) if above else place.x
            place.y = top
        spread(sorted(row, key=lambda place: place.x))
        top += max(place.height for place in row) + _BELOW
    left = min(place.x - place.width / 2 for place in places.values()) - _MARGIN
    for place in places.values():
        place.x -= left
    width = max(place.x + place.width / 2 for place in places.values()) + _MARGIN
    return places, max(width, 420.0), top - _BELOW + _MARGIN


def sized(box: Box) -> PlacedBox:
    lines = lines_of(box)
    longest = max(map(len, lines))
    return PlacedBox(box, longest * _CHARACTER + 2 * _PADDING, len(lines) * _LINE + _PADDING)


def spread(row: list[PlacedBox]) -> None:
    """Push boxes of a row apart where they overlap, evenly to both sides."""
    wanted = [place.x for place in row]
    for before, place in itertools.pairwise(row):
        place.x = max(place.x, before.x + (before.width + place.width) / 2 + _BETWEEN)
    shift = sum(place.x - x for place, x in zip(row, wanted, strict=True)) / len(row)
    for place in row:
        place.x -= shift


def box_shape(place: PlacedBox) -> str:
    form = slowest(place.box)
    lines = lines_of(place.box)
    left = place.x - place.width / 2
    texts = "".join(
        f'<text x="{place.x:.1f}" y="{place.y + 18 + number * _LINE:.1f}" text-anchor="middle" '
        f"{_TITLE if number == 0 else _DETAIL}>{html.escape(line)}</text>"
        for number, line in enumerate(lines)
    )
    said = "\n".join([place.box.line, *(f"{f.name}: {f.form} {f.reason}".strip() for f in place.box.functions)])
    return (
        f'<g><title>{html.escape(said)}</title><rect x="{left:.1f}" y="{place.y:.1f}" width="{place.width:.1f}" '
        f'height="{place.height:.1f}" rx="6" fill="{_FILL[form]}" stroke="{_STROKE[form]}"/>{texts}</g>'
    )


def arrow_path(source: PlacedBox, target: PlacedBox, body: bool) -> str:
    begin, end = source.y + source.height, target.y
    middle = (begin + end) / 2
    dashes = ' stroke-dasharray="4 3"' if body else ""
    return (
        f'<path d="M{source.x:.1f} {begin:.1f}C{source.x:.1f} {middle:.1f} {target.x:.1f} {middle:.1f} {target.x:.1f} '
        f'{end - 2:.1f}" fill="none" stroke="#57606a"{dashes} marker-end="url(#tip)"/>'
    )


def legend(drawing: Drawing, top: float) -> list[str]:
    """What the colours that occur mean."""
    forms = [form for form in _LEGEND if form in {slowest(box) for box in drawing.boxes}]
    shapes, x = [], float(_MARGIN)
    for form in forms:
        shapes.append(
            f'<rect x="{x:.1f}" y="{top:.1f}" width="12" height="12" rx="3" fill="{_FILL[form]}" '
            f'stroke="{_STROKE[form]}"/><text x="{x + 18:.1f}" y="{top + 10:.1f}" fill="#57606a">{_LEGEND[form]}</text>'
        )
        x += 18 + len(_LEGEND[form]) * _CHARACTER + 20
    return shapes

"""A drawing as SVG. The layout is computed here, without other programs."""

from __future__ import annotations

import html
import itertools
from collections import defaultdict
from dataclasses import dataclass

from morisot.viz.drawing import Box, Drawing
from morisot.viz.mermaid import lines_of, slowest

_FILL = {"column": "#dafbe1", "kernel": "#ddf4ff", "tokens": "#fbefff", "stage": "#fff8c5", "": "#f6f8fa"}
_STROKE = {"column": "#1a7f37", "kernel": "#0969da", "tokens": "#8250df", "stage": "#9a6700", "": "#6e7781"}
_CHARACTER, _LINE, _PADDING, _BETWEEN, _BELOW, _MARGIN = 7.3, 17, 12, 34, 46, 20
_TITLE, _DETAIL = 'fill="#1f2328" font-weight="600"', 'fill="#57606a"'
_LEGEND = {
    "column": "Spark expression",
    "kernel": "machine code",
    "tokens": "Python, for distinct tokens",
    "stage": "Python",
    "": "no function",
}


@dataclass
class BoxLayout:
    """A box with its position and size: x is the middle, y the top."""

    box: Box
    width: float
    height: float
    x: float = 0.0
    y: float = 0.0


def svg(drawing: Drawing) -> str:
    """The picture, from the sources down."""
    layouts, width, height = laid_out(drawing)
    shapes = [arrow_path(layouts[a.source], layouts[a.target], a.body) for a in drawing.arrows]
    shapes += [box_shape(layout) for layout in layouts.values()]
    shapes += legend(drawing, height)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height + 34:.0f}" width="{width:.0f}" '
        f'height="{height + 34:.0f}" font-family="ui-monospace, Menlo, Consolas, monospace" font-size="12">\n'
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0L8 4L0 8z" fill="#57606a"/></marker></defs>\n'
        f'<rect width="100%" height="100%" fill="#ffffff"/>\n{chr(10).join(shapes)}\n</svg>\n'
    )


def laid_out(drawing: Drawing) -> tuple[dict[str, BoxLayout], float, float]:
    """Lays out each box below its inputs, centred under them if its neighbours leave room."""
    inputs: dict[str, list[str]] = defaultdict(list)
    for arrow in drawing.arrows:
        inputs[arrow.target].append(arrow.source)
    layouts = {box.id: sized(box) for box in drawing.boxes}
    rank: dict[str, int] = {}
    for box in drawing.boxes:  # inputs come before their readers
        rank[box.id] = 1 + max((rank[each] for each in inputs[box.id]), default=-1)
    rows: dict[int, list[BoxLayout]] = defaultdict(list)
    for box in drawing.boxes:
        rows[rank[box.id]].append(layouts[box.id])
    top = float(_MARGIN)
    for number in sorted(rows):
        row = rows[number]
        for layout in row:
            above = [layouts[each].x for each in inputs[layout.box.id]]
            layout.x = sum(above) / len(above) if above else layout.x
            layout.y = top
        spread(sorted(row, key=lambda layout: layout.x))
        top += max(layout.height for layout in row) + _BELOW
    left = min(layout.x - layout.width / 2 for layout in layouts.values()) - _MARGIN
    for layout in layouts.values():
        layout.x -= left
    width = max(layout.x + layout.width / 2 for layout in layouts.values()) + _MARGIN
    return layouts, max(width, 420.0), top - _BELOW + _MARGIN


def sized(box: Box) -> BoxLayout:
    lines = lines_of(box)
    longest = max(map(len, lines))
    return BoxLayout(box, longest * _CHARACTER + 2 * _PADDING, len(lines) * _LINE + _PADDING)


def spread(row: list[BoxLayout]) -> None:
    """Moves boxes of a row that overlap, evenly to both sides."""
    wanted = [layout.x for layout in row]
    for before, layout in itertools.pairwise(row):
        layout.x = max(layout.x, before.x + (before.width + layout.width) / 2 + _BETWEEN)
    shift = sum(layout.x - x for layout, x in zip(row, wanted, strict=True)) / len(row)
    for layout in row:
        layout.x -= shift


def box_shape(layout: BoxLayout) -> str:
    form = slowest(layout.box)
    lines = lines_of(layout.box)
    left = layout.x - layout.width / 2
    texts = "".join(
        f'<text x="{layout.x:.1f}" y="{layout.y + 18 + number * _LINE:.1f}" text-anchor="middle" '
        f"{_TITLE if number == 0 else _DETAIL}>{html.escape(line)}</text>"
        for number, line in enumerate(lines)
    )
    said = "\n".join([layout.box.line, *(f"{f.name}: {f.form} {f.reason}".strip() for f in layout.box.functions)])
    return (
        f'<g><title>{html.escape(said)}</title><rect x="{left:.1f}" y="{layout.y:.1f}" width="{layout.width:.1f}" '
        f'height="{layout.height:.1f}" rx="6" fill="{_FILL[form]}" stroke="{_STROKE[form]}"/>{texts}</g>'
    )


def arrow_path(source: BoxLayout, target: BoxLayout, body: bool) -> str:
    begin, end = source.y + source.height, target.y
    middle = (begin + end) / 2
    dashes = ' stroke-dasharray="4 3"' if body else ""
    return (
        f'<path d="M{source.x:.1f} {begin:.1f}C{source.x:.1f} {middle:.1f} {target.x:.1f} {middle:.1f} {target.x:.1f} '
        f'{end - 2:.1f}" fill="none" stroke="#57606a"{dashes} marker-end="url(#tip)"/>'
    )


def legend(drawing: Drawing, top: float) -> list[str]:
    """The legend of the colours that occur."""
    forms = [form for form in _LEGEND if form in {slowest(box) for box in drawing.boxes}]
    shapes, x = [], float(_MARGIN)
    for form in forms:
        shapes.append(
            f'<rect x="{x:.1f}" y="{top:.1f}" width="12" height="12" rx="3" fill="{_FILL[form]}" '
            f'stroke="{_STROKE[form]}"/><text x="{x + 18:.1f}" y="{top + 10:.1f}" fill="#57606a">{_LEGEND[form]}</text>'
        )
        x += 18 + len(_LEGEND[form]) * _CHARACTER + 20
    return shapes

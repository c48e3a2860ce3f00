"""A drawing as Mermaid text, which GitHub, GitLab and many editors show."""

from __future__ import annotations

from morisot.viz.drawing import Box, Drawing

_COLOURS = {
    "column": "#dafbe1,stroke:#1a7f37",
    "kernel": "#ddf4ff,stroke:#0969da",
    "tokens": "#fbefff,stroke:#8250df",
    "stage": "#fff8c5,stroke:#9a6700",
}


def mermaid(drawing: Drawing) -> str:
    """A flowchart from the sources down. A box has the colour of its slowest function."""
    lines = ["flowchart TB"]
    for box in drawing.boxes:
        lines.append(f'  {box.id}["{"<br>".join(escaped(line) for line in lines_of(box))}"]')
        form = slowest(box)
        if form:
            lines.append(f"  class {box.id} {form}")
    lines += [f"  {arrow.source} {'-.->|body|' if arrow.body else '-->'} {arrow.target}" for arrow in drawing.arrows]
    lines += [f"  classDef {form} fill:{colours}" for form, colours in _COLOURS.items()]
    return "\n".join(lines) + "\n"


def lines_of(box: Box) -> list[str]:
    """The lines of a box: operator, the user's name, parameters, type."""
    title = f"{box.title} “{box.label}”" if box.label else box.title
    return [title, *([box.parameters] if box.parameters else []), box.type + ("" if box.bounded else " · unbounded")]


def slowest(box: Box) -> str:
    """The slowest form of the box's functions."""
    forms = {function.form for function in box.functions}
    return next((form for form in ("stage", "tokens", "kernel", "column") if form in forms), "")


def escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;").replace(">", "&gt;")

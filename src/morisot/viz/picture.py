"""The result of `draw()`: a plan in several formats."""

from __future__ import annotations

import html
from dataclasses import dataclass
from pathlib import Path

from morisot.errors import PlanError
from morisot.viz.drawing import Drawing
from morisot.viz.mermaid import mermaid
from morisot.viz.svg import svg


@dataclass(frozen=True)
class Picture:
    """A picture of a plan. Notebooks show it, and `save` writes it."""

    drawing: Drawing
    title: str

    @property
    def svg(self) -> str:
        """The picture as SVG."""
        return svg(self.drawing)

    @property
    def mermaid(self) -> str:
        """The picture as Mermaid text, which GitHub and many editors show."""
        return mermaid(self.drawing)

    @property
    def html(self) -> str:
        """The picture as a self-contained HTML page."""
        return (
            f'<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>{html.escape(self.title)}</title>\n'
            f'<body style="margin:24px;background:#fff">\n{self.svg}</body></html>\n'
        )

    @property
    def json(self) -> str:
        """The boxes and arrows as JSON, for other tools."""
        return self.drawing.json()

    def save(self, path: str | Path) -> None:
        """Writes the picture. The suffix of the name selects the format: .svg, .html, .mmd or .json."""
        file = Path(path)
        kinds = {".svg": "svg", ".html": "html", ".mmd": "mermaid", ".json": "json"}
        if file.suffix not in kinds:
            raise PlanError(
                f"a picture cannot be written as {file.name!r}", advice=f"let its name end with {' or '.join(kinds)}"
            )
        file.write_text(getattr(self, kinds[file.suffix]), encoding="utf-8")

    def _repr_html_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"<picture of {self.title}: {len(self.drawing.boxes)} operators; .svg .html .mermaid .json .save(path)>"

"""What `draw()` gives: a plan in every shape it can be looked at."""

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
    """A picture of a plan; notebooks show it, and `save` writes it."""

    drawing: Drawing
    title: str

    @property
    def svg(self) -> str:
        """An image that every browser shows."""
        return svg(self.drawing)

    @property
    def mermaid(self) -> str:
        """Text that GitHub and many editors show as a picture."""
        return mermaid(self.drawing)

    @property
    def html(self) -> str:
        """A page that needs nothing else."""
        return (
            f'<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>{html.escape(self.title)}</title>\n'
            f'<body style="margin:24px;background:#fff">\n{self.svg}</body></html>\n'
        )

    @property
    def json(self) -> str:
        """The boxes and arrows, for tools of your own."""
        return self.drawing.json()

    def save(self, path: str | Path) -> None:
        """Write the picture; the end of the name says what: .svg, .html, .mmd or .json."""
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

"""Methods that show the plan of a stream."""

from __future__ import annotations

from typing import TYPE_CHECKING

from morisot.api.base import StreamBase, T
from morisot.plan.analysis.guarantees import stated
from morisot.plan.nodes.keyed import KeyBy

if TYPE_CHECKING:
    from pathlib import Path

    from morisot.physical.explain import FormRecord
    from morisot.viz.picture import Picture


class SeeMethods(StreamBase[T]):
    """explain, draw, forms, and the repr of a stream."""

    def explain(self, detail: bool = False) -> None:
        """Prints the operators with types, lines and the form of each function, and the physical plan.

        With `detail` it also prints Spark's plan.
        """
        from morisot.viz.text import physical_plan, text_tree

        job = self._context.engine.job(self._node)
        print(text_tree(self._node, job))
        print(f"\n{physical_plan(job)}")
        saving = self._context.engine.saving(self._node)
        if saving:
            print(f"with snapshots: {saving}")
        context = self._context
        for line in stated(self._node, context._sinks, snapshots=context._snapshots is not None):
            print(line)
        if detail:
            print()
            print(self._context.engine.spark_plan(self._node).rstrip())

    def draw(self, path: str | Path | None = None) -> Picture:
        """A picture of the plan. With a path it is written there, as .svg, .html, .mmd (Mermaid) or .json."""
        from morisot.viz.drawing import drawing_of
        from morisot.viz.picture import Picture

        picture = Picture(drawing_of(self._node, self._context.engine.job(self._node)), " → ".join(path_to(self)))
        if path is not None:
            picture.save(path)
        return picture

    def forms(self) -> list[FormRecord]:
        """One record for each function: operator, location, form (column, kernel, tokens or stage) and the reason."""
        from morisot.physical.explain import forms_of

        return forms_of(self._node, self._context.engine.job(self._node))

    def __repr__(self) -> str:
        kind = type(self).__name__
        bounded = "" if self.bounded else ", unbounded"
        return f"{kind}[{self.type}]{bounded}: {' → '.join(path_to(self))}"

    def _repr_html_(self) -> str:
        from morisot.viz.html import html_tree

        return html_tree(self._node, self._context.engine.job(self._node))


def path_to(stream: StreamBase[T]) -> list[str]:
    """The operators that lead to a stream, from its first source on."""
    names: list[str] = []
    node = stream._node
    while True:
        name = node.label or node.operator
        if not (names and names[-1] == name and isinstance(node, KeyBy)):  # one method, two nodes
            names.append(name)
        if not node.inputs:
            return names[::-1]
        node = node.inputs[0]

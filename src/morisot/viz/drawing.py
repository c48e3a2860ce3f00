"""A plan as boxes and arrows, from which all formats are generated."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass

from morisot.physical.explain import record_of
from morisot.physical.job import PlannedJob
from morisot.plan.analysis.graph import walk
from morisot.plan.nodes.node import Node
from morisot.viz.text import below_shortcut, parameter_texts, shortcuts_of

_LONGEST = 44


@dataclass(frozen=True)
class Function:
    """One of the user's functions, with its form and the reason."""

    name: str
    form: str
    reason: str


@dataclass(frozen=True)
class Box:
    """One operator."""

    id: str
    title: str
    label: str
    parameters: str
    type: str
    line: str
    bounded: bool
    functions: tuple[Function, ...]


@dataclass(frozen=True)
class Arrow:
    """The path of elements from one operator to another. A dashed arrow leads from the body of a loop to the loop."""

    source: str
    target: str
    body: bool = False


@dataclass(frozen=True)
class Drawing:
    """The operators of a plan, inputs first, and the arrows between them."""

    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]

    def json(self) -> str:
        """The model as JSON, for other tools."""
        return json.dumps(dataclasses.asdict(self), ensure_ascii=False, indent=1)


def drawing_of(root: Node, job: PlannedJob) -> Drawing:
    """The model of a plan. A method of the user is one box, and an operator with several readers is drawn once."""
    choices = job.choices
    ids: dict[Node, str] = {}
    boxes: list[Box] = []
    arrows: list[Arrow] = []

    def add(node: Node) -> None:
        inputs = [below_shortcut(node, value) for value in node.inputs]
        parts = (*shortcuts_of(node), node)
        records = [(name, record_of(part, each, choices[part])) for part in parts for name, each in part.closures]
        functions = tuple(Function(name, record.form, record.reason) for name, record in records)
        ids[node] = f"n{len(ids)}"
        shown = parameter_texts(node)
        boxes.append(
            Box(
                ids[node],
                node.operator,
                node.label,
                cut(", ".join(shown)),
                cut(str(node.type)),
                str(node.location),
                node.bounded,
                functions,
            )
        )
        arrows.extend(Arrow(ids[value], ids[node]) for value in inputs)

    def draw(plan: Node) -> None:
        merged = {value for node in walk(plan) for value in shortcuts_of(node)}
        for node in walk(plan):
            if node in ids or node in merged:
                continue
            for _, body in node.bodies:
                draw(body)
            add(node)
            arrows.extend(Arrow(ids[body], ids[node], body=True) for _, body in node.bodies)

    draw(root)
    return Drawing(tuple(boxes), tuple(arrows))


def cut(text: str) -> str:
    """The text, shortened to the width of a box."""
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"

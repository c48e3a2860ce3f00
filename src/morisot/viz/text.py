"""A plan as a tree of text."""

from __future__ import annotations

from morisot.plan.keyed import KeyBy
from morisot.plan.node import Node
from morisot.viz.forms import FormRecord, form_of, lowering_of
from morisot.viz.loops import path_line

_BRANCH, _LAST, _PIPE, _SPACE = "├─ ", "└─ ", "│  ", "   "


def text_tree(root: Node, demoted: frozenset[Node] = frozenset()) -> str:
    """The operators from the result down to the sources, each with its type, line and functions."""
    lowering = lowering_of(root, demoted)
    lines: list[str] = []
    seen: dict[Node, int] = {}

    def draw(node: Node, first: str, rest: str) -> None:
        if node in seen and node.inputs:
            lines.append(f"{first}{title(node)}  (shared, shown above)")
            return
        seen[node] = len(seen)
        lines.append(first + headline(node))
        parts = [node]
        if is_shortcut(node):  # group_by_count is one word of the user's and two nodes of the plan
            parts = [node.inputs[0], node]
            node = node.inputs[0]
        below = _PIPE if node.inputs else _SPACE
        path = path_line(node)
        if path is not None:
            lines.append(f"{rest}{below}{path}")
        for part in parts:
            for name, closure in part.closures:
                record = form_of(part, name, closure, lowering)
                lines.extend(f"{rest}{below}{line}" for line in function_lines(record, name))
        for name, body in node.bodies:
            draw(body, f"{rest}{_BRANCH}{name}: ", f"{rest}{_PIPE}{_SPACE}")
        for place, value in enumerate(node.inputs):
            last = place == len(node.inputs) - 1
            draw(value, rest + (_LAST if last else _BRANCH), rest + (_SPACE if last else _PIPE))

    draw(root, "", "")
    return "\n".join(lines)


def is_shortcut(node: Node) -> bool:
    """Whether a node and the keys it works on are one operator to the user, such as group_by_count."""
    return any(isinstance(value, KeyBy) and value.operator == node.operator for value in node.inputs)


def title(node: Node) -> str:
    return f'{node.operator} "{node.label}"' if node.label else node.operator


def headline(node: Node) -> str:
    """Operator, parameters, type and line."""
    parameters = ", ".join(f"{name}={value!r}" for name, value in node.parameters.items() if short(value))
    shown = f"({parameters})" if parameters else ""
    unbounded = "" if node.bounded else "  unbounded"
    return f"{title(node)}{shown}  : {node.type}{unbounded}  [{node.location}]"


def short(value: object) -> bool:
    return len(repr(value)) <= 80


def function_lines(record: FormRecord, name: str) -> list[str]:
    """What became of one function, where and what would change that, and what it took from around it."""
    where = f" (line {record.line})" if record.line else ""
    lines = [f"{name}: {record.form}" + (f" — {record.reason}{where}" if record.reason else "")]
    indent = " " * len(name) + "  "
    if record.advice:
        lines.append(f"{indent}↳ {record.advice}")
    if record.captured:
        lines.append(f"{indent}captured: {', '.join(record.captured)}")
    return lines

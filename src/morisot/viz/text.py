"""A plan as a tree of text."""

from __future__ import annotations

import textwrap

from morisot.physical.explain import FormRecord, path_line, record_of, users_closures
from morisot.physical.job import PlannedJob
from morisot.physical.text import text_of
from morisot.plan.analysis.graph import consumer_counts, walk
from morisot.plan.analysis.guarantees import offered
from morisot.plan.nodes.keyed import KeyBy
from morisot.plan.nodes.node import Node
from morisot.plan.nodes.rowwise import Rowwise
from morisot.plan.nodes.state import Numbered, WithoutIds

_BRANCH, _LAST, _PIPE, _SPACE = "├─ ", "└─ ", "│  ", "   "


def physical_plan(job: PlannedJob) -> str:
    """The physical operators of the plan, and the settings that are assumed if there is no session yet."""
    assumed = " and ".join(job.facts.assumptions(job.plan.nodes))
    heading = f"physical plan, assuming {assumed}" if assumed else "physical plan"
    return f"{heading}\n{textwrap.indent(text_of(job), _SPACE)}"


def text_tree(root: Node, job: PlannedJob) -> str:
    """The operators from the result down to the sources, each with its type, line and functions."""
    choices = job.choices
    lines: list[str] = []
    seen: set[Node] = set()
    shared = shared_nodes(root)

    def draw(node: Node, first: str, rest: str) -> None:
        if node in shared and node in seen:
            lines.append(f"{first}{title(node)} #{shared[node]}, shown above")
            return
        seen.add(node)
        lines.append(first + headline(node, f" #{shared[node]}" if node in shared else ""))
        # group_by_count, or join, is one method and several nodes of the plan
        shortcuts = shortcuts_of(node)
        inputs = [below_shortcut(node, value) for value in node.inputs]
        below = _PIPE if inputs else _SPACE
        path = path_line(node)
        if path is not None:
            lines.append(f"{rest}{below}{path}")
        for part in (*shortcuts, node):
            for name, closure in users_closures(part):
                record = record_of(part, closure, choices[part])
                shown = f"{field_of(node, part)} {name}" if len(inputs) > 1 and part is not node else name
                lines.extend(f"{rest}{below}{line}" for line in function_lines(record, shown))
        for name, body in node.bodies:
            draw(body, f"{rest}{_BRANCH}{name}: ", f"{rest}{_PIPE}{_SPACE}")
        for index, value in enumerate(inputs):
            last = index == len(inputs) - 1
            draw(value, rest + (_LAST if last else _BRANCH), rest + (_SPACE if last else _PIPE))

    draw(root, "", "")
    if not root.bounded:
        each = ", ".join(f"{sink} {guarantee}" for sink, guarantee in offered(root).items())
        lines.append(f"with snapshots: {each}")
    return "\n".join(lines)


def shared_nodes(root: Node) -> dict[Node, int]:
    """A number for each operator that several others read."""
    counts = consumer_counts((root,))
    return {node: index for index, node in enumerate((n for n in walk(root) if counts[n] > 1), start=1)}


def is_shortcut(node: Node, value: Node) -> bool:
    """Whether a node and the keying or numbering of its input are one method, such as group_by_count or apply."""
    if value.operator != node.operator:
        return False
    if isinstance(node, WithoutIds):
        return True
    return isinstance(value, KeyBy | Numbered) or (isinstance(node, KeyBy | Numbered) and isinstance(value, Rowwise))


def shortcuts_of(node: Node) -> list[Node]:
    """The nodes between an operator and the inputs that the user passed to it, inputs first."""
    direct = [value for value in node.inputs if is_shortcut(node, value)]
    return [each for value in direct for each in (*shortcuts_of(value), value)]


def below_shortcut(node: Node, value: Node) -> Node:
    """The input that the user passed to an operator."""
    while is_shortcut(node, value):
        node, (value,) = value, value.inputs
    return value


def field_of(node: Node, value: Node) -> str:
    """The name of an input of a node, such as `left`."""
    return next(name for name, each in vars(node).items() if each is value)


def title(node: Node) -> str:
    return f'{node.operator} "{node.label}"' if node.label else node.operator


def headline(node: Node, number: str = "") -> str:
    """Operator, parameters, type and line."""
    parameters = ", ".join(parameter_texts(node))
    shown = f"({parameters})" if parameters else ""
    unbounded = "" if node.bounded else "  unbounded"
    return f"{title(node)}{number}{shown}  : {node.type}{unbounded}  [{node.location}]"


def parameter_texts(node: Node) -> list[str]:
    """The parameters of an operator, without long ones."""
    return [f"{name}={text}" for name, text in node.shown_parameters.items() if len(text) <= 80]


def function_lines(record: FormRecord, name: str) -> list[str]:
    """The form of one function, the reason with its line, advice, and the captured values."""
    where = f" (line {record.line})" if record.line else ""
    lines = [f"{name}: {record.form}" + (f" — {record.reason}{where}" if record.reason else "")]
    indent = " " * len(name) + "  "
    if record.advice:
        lines.append(f"{indent}↳ {record.advice}")
    if record.captured:
        lines.append(f"{indent}captured: {', '.join(record.captured)}")
    return lines

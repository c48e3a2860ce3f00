"""A job as text: one line for each physical operator, inputs first, with the rounds of loops indented."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from morisot.physical.job import PlannedJob
from morisot.physical.ops import FusingOp, NativeAggregateOp, Physical, Selection
from morisot.physical.passes.order_files import FileOrder
from morisot.physical.plan import Plan
from morisot.plan.nodes.node import Node

_FILE_ORDERS: dict[FileOrder, str] = {
    "any": "files in any order",
    "packed": "files in order, in one scan",
    "restored": "files in order, one by one or sorted",
}


def text_of(job: PlannedJob) -> str:
    """Each operator with its number, its kind, its logical operators, and the numbers of its inputs."""
    numbers = {operator: number for number, operator in enumerate(job.plan.operators.values())}
    bodies: dict[Node, PlannedJob | None] = {step.node: step.body for step in job.loops}
    lines: list[str] = []
    for part in job.resumable:
        lines.append(f"resumable part, up to {part.part.end.operator}")
        lines.append(textwrap.indent(text_of(part.query.stream), "    "))
    for operator in numbers:
        lines.append(_line(operator, numbers, job.plan))
        body = bodies.get(operator.node)
        if body is not None:
            lines.append(textwrap.indent(text_of(body), "    "))
    return "\n".join(lines)


def _line(operator: Physical, numbers: dict[Physical, int], plan: Plan) -> str:
    kind = type(operator).__name__.removesuffix("Op")
    does = " → ".join(node.operator for node in _done_by(operator))
    inputs = ", ".join(f"#{numbers[each]}" for each in operator.inputs)
    return (
        f"#{numbers[operator]} {kind}({does})"
        + (f" ← {inputs}" if inputs else "")
        + "".join(f"  {each}" for each in _properties(operator, plan))
    )


def _properties(operator: Physical, plan: Plan) -> Iterator[str]:
    node = operator.node
    forms = ", ".join(dict.fromkeys(reason.form for reason in operator.reasons.values()))
    if forms:
        yield f"functions: {forms}"
    if operator.may_fail:
        yield "may fail"
    if isinstance(operator, NativeAggregateOp) and operator.selection is not None:
        yield from _selection(operator.selection)
    if node in plan.file_order:
        yield _FILE_ORDERS[plan.file_order[node]]
    if node in plan.order.needed:
        yield "order in columns" if node in plan.order.carried else "order needed"
    provided = plan.provides[operator]
    if provided.distribution != "any":
        yield "in one partition" if provided.distribution == "single" else "distributed by key"
    if plan.readers[node] > 1:
        yield f"read {plan.readers[node]} times"
    if node in plan.shared:
        yield "persisted"
    if node in plan.counted:
        yield "counted"


def _selection(selection: Selection) -> Iterator[str]:
    """The rung of an aggregate that selects an element, and how much of the element is read."""
    parts = [part.how for part in selection.parts.values()]
    read = len(parts) - parts.count("unread")
    yield f"selects by {selection.rung}" + (f", {read} of {len(parts)} columns" if read < len(parts) else "")


def _done_by(operator: Physical) -> tuple[Node, ...]:
    steps = operator.steps if isinstance(operator, FusingOp) else ()
    return (*steps, *operator.logical)

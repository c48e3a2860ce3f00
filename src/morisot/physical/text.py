"""The physical plan as text: one line for each operator, inputs before what reads them."""

from __future__ import annotations

from morisot.physical.ops import FusingOp, Physical
from morisot.physical.plan import Plan
from morisot.plan.nodes.node import Node


def text_of(plan: Plan) -> str:
    """Each operator with its number, its kind, the user's operators that it does, and the numbers of its inputs."""
    numbers = {operator: number for number, operator in enumerate(plan.operators.values())}
    return "\n".join(_line(operator, numbers, plan) for operator in numbers)


def _line(operator: Physical, numbers: dict[Physical, int], plan: Plan) -> str:
    kind = type(operator).__name__.removesuffix("Op")
    does = " → ".join(node.operator for node in _done_by(operator))
    inputs = ", ".join(f"#{numbers[each]}" for each in operator.inputs)
    forms = ", ".join(dict.fromkeys(reason.form for reason in operator.reasons.values()))
    marks = [
        *([f"functions: {forms}"] if forms else []),
        *(["may fail"] if operator.may_fail else []),
        *([f"read {plan.readers[operator.node]} times"] if plan.readers[operator.node] > 1 else []),
    ]
    return (
        f"#{numbers[operator]} {kind}({does})"
        + (f" ← {inputs}" if inputs else "")
        + "".join(f"  {mark}" for mark in marks)
    )


def _done_by(operator: Physical) -> tuple[Node, ...]:
    steps = operator.steps if isinstance(operator, FusingOp) else ()
    return (*steps, *operator.logical)

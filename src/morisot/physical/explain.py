"""The records of `forms()`: the form of each function, from the physical plan."""

from __future__ import annotations

from typing import NamedTuple

from morisot.compile.verdict import Form
from morisot.errors import Location
from morisot.physical.choose.iterate import path_of
from morisot.physical.job import PlannedJob
from morisot.physical.ops import Choice
from morisot.plan.analysis.graph import everything
from morisot.plan.nodes.closure import Closure
from morisot.plan.nodes.iterate import DeltaIterate, Loop
from morisot.plan.nodes.node import Node
from morisot.plan.nodes.state import WithoutIds

_LONGEST_VALUE = 40


class FormRecord(NamedTuple):
    """The form of one function."""

    operator: str
    location: Location
    form: Form
    reason: str
    advice: str = ""
    line: int | None = None
    """The line of the function that the reason is about, if it is not the operator's."""
    captured: tuple[str, ...] = ()
    """The values that the function captured, as `name=value`."""


def forms_of(root: Node, job: PlannedJob) -> list[FormRecord]:
    """One record for each function of the plan, in the order of operators."""
    choices = job.choices
    return [record_of(node, closure, choices[node]) for node in everything(root) for _, closure in users_closures(node)]


def users_closures(node: Node) -> tuple[tuple[str, Closure], ...]:
    """The user's functions of an operator, by field name."""
    return () if isinstance(node, WithoutIds) else node.closures


def record_of(node: Node, closure: Closure, choice: Choice) -> FormRecord:
    """The record of a function."""
    found = choice.reasons[closure]
    line = found.line if found.line != closure.location.line else None
    return FormRecord(node.operator, closure.location, found.form, found.reason, found.advice, line, captured(closure))


def path_line(node: Node) -> str | None:
    """One line about how a loop runs."""
    if isinstance(node, Loop):
        path = path_of(node)
        return f"{'one job' if path.name == 'barrier' else 'a job for each round'} — {path.reason}"
    if isinstance(node, DeltaIterate):
        return "a job for each round — the body runs only on keys whose value changed"
    return None


def captured(closure: Closure) -> tuple[str, ...]:
    """The values that a function captured, each shortened to a line."""
    return tuple(f"{name}={shortened(value)}" for name, value in closure.captured.items())


def shortened(value: object) -> str:
    try:
        text = repr(value)
    except Exception:  # a failing __repr__ must not hide the plan
        return f"<{type(value).__name__}>"
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}…"

"""Skipped elements: their counts, the report about them, and the handlers of failures and late elements."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from morisot.errors import ElementError
from morisot.plan.late import Late
from morisot.plan.nodes.node import Node
from morisot.plan.on_error import Divert
from morisot.runtime.metrics import LeftOutMetrics

Kind = Literal["skipped", "diverted", "late"]
"""The treatment of elements, as the key of the metrics."""
KINDS: tuple[Kind, ...] = ("skipped", "diverted", "late")


@dataclass(frozen=True)
class Total:
    """The number of elements that an operator skipped, and one failure as an example."""

    count: int = 0
    example: ElementError | None = None

    def __add__(self, other: Total) -> Total:
        return Total(self.count + other.count, self.example or other.example)


Failures = Mapping[Node, tuple[int, Sequence[ElementError]]]
"""For each operator that may skip elements: their number, and their failures (or one as an example)."""


@dataclass
class Tally:
    """The elements that operators skipped."""

    totals: dict[Node, Total] = field(default_factory=dict)

    def replace(self, failures: Failures) -> None:
        """Replaces the counts of operators by those of the last run."""
        for node, (count, errors) in failures.items():
            self.totals[node] = Total(count, next(iter(errors), None))

    def add(self, failures: Failures) -> None:
        """Adds the counts of one more part of the same run."""
        for node, (count, errors) in failures.items():
            self.totals[node] = self.totals.get(node, Total()) + Total(count, next(iter(errors), None))

    def attribute(self, origins: Mapping[Node, Node]) -> None:
        """Counts the skipped elements of some operators as those of the operators that they replaced."""
        for node, origin in origins.items():
            if node is not origin and node in self.totals:
                self.totals[origin] = self.totals.pop(node)

    def metrics(self, nodes: Iterable[Node] | None = None) -> LeftOutMetrics:
        """The counts of the given operators: elements that were skipped, diverted, or late."""
        counts: LeftOutMetrics = {"skipped": {}, "diverted": {}, "late": {}}
        for node, total in self._of(nodes).items():
            of_kind = counts[kind_of(node)]
            of_kind[node.title] = of_kind.get(node.title, 0) + total.count
        return counts

    def lines(self, nodes: Iterable[Node] | None = None) -> list[str]:
        """A line for each given operator that skipped elements."""
        return [
            f"{node.title}: {total.count} element{'s' if total.count > 1 else ''} "
            f"{kind_of(node)}{_because(total.example)}"
            for node, total in self._of(nodes).items()
            if total.count
        ]

    def _of(self, nodes: Iterable[Node] | None) -> dict[Node, Total]:
        return self.totals if nodes is None else {node: self.totals[node] for node in nodes if node in self.totals}


def _because(example: ElementError | None) -> str:
    return f" ({example.original.splitlines()[-1]})" if example and example.original else ""


def kind_of(node: Node) -> Kind:
    """The treatment of the elements that an operator skips."""
    if node.has_timers:
        return "late"
    return "diverted" if is_diverting(node) else "skipped"


def is_diverting(node: Node) -> bool:
    """Whether a user's function gets the elements that the operator skips."""
    return isinstance(getattr(node, "on_error", None), Divert) or isinstance(getattr(node, "late", None), Late)


def divert(failures: Failures) -> None:
    """Calls the users' handlers, operator by operator and in stream order."""
    for node, (_, errors) in failures.items():
        policy, late = getattr(node, "on_error", None), getattr(node, "late", None)
        for error in errors:
            if isinstance(policy, Divert):
                _call(node, policy.handler, error, error)
            elif isinstance(late, Late):
                _call(node, late, error.value, error)


def _call(node: Node, handler: Callable[[Any], Any], argument: Any, error: ElementError) -> None:
    try:
        handler(argument)
    except Exception as problem:
        name = getattr(node, "late", None) or getattr(node, "on_error", None)
        said = f"its handler {name!r} raised {type(problem).__name__}: {problem}"
        raise ElementError(node.operator, node.location, error.element, said, cause=problem) from problem


def say(lines: Iterable[str]) -> None:
    """Prints the report of a job to stderr."""
    for line in lines:
        print(line, file=sys.stderr)


def merged(parts: Iterable[LeftOutMetrics]) -> LeftOutMetrics:
    """The counts of several parts of a job as one."""
    result: LeftOutMetrics = {"skipped": {}, "diverted": {}, "late": {}}
    for part in parts:
        for kind in KINDS:
            for title, count in part[kind].items():
                result[kind][title] = result[kind].get(title, 0) + count
    return result

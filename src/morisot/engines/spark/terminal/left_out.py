"""Converts reports of tasks about skipped elements to errors for handlers and counts."""

from __future__ import annotations

from collections.abc import Mapping

from morisot.engines.spark.emit.core.emission import Emission, failing_type
from morisot.engines.spark.emit.python.left_out import Ledger
from morisot.errors import ElementError
from morisot.plan.nodes.node import Node
from morisot.runtime.tally import Failures
from morisot.worker.report import failure
from morisot.worker.report.failure import Report
from morisot.worker.report.left_out import LeftOut, Reports, decoded, totals


def reported(ledger: Ledger, emission: Emission) -> Failures:
    """The skipped elements of each operator of a run that has ended, also of operators that skipped none."""
    return by_operator(ledger.take(emission.run), {n: node for n, node in enumerate(emission.nodes) if node.leaves_out})


def by_operator(reports: Reports, nodes: Mapping[int, Node]) -> Failures:
    """The reports of the given operators, by their numbers."""
    found = totals(reports)
    result = {}
    for number, node in nodes.items():
        total = found.get(number, LeftOut())
        result[node] = (total.count, [error_of(report, node) for report in total.failures])
    return result


def error_of(report: Report, node: Node) -> ElementError:
    """The error of a report, with the element if a handler needs it."""
    value = report.get("value")
    return failure.reported(report, None if value is None else decoded(value, failing_type(node)))

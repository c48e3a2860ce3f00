"""A plan as an HTML table, for notebooks."""

from __future__ import annotations

import html

from morisot.physical.explain import FormRecord, forms_of
from morisot.physical.job import PlannedJob
from morisot.plan.analysis.graph import everything
from morisot.plan.nodes.node import Node
from morisot.viz.text import title

_COLOURS = {"column": "#1a7f37", "kernel": "#0969da", "tokens": "#8250df", "stage": "#9a6700"}


def html_tree(root: Node, job: PlannedJob) -> str:
    """A table of the operators from source to result, with the form of each function."""
    records: dict[tuple[str, object], list[FormRecord]] = {}
    for record in forms_of(root, job):
        records.setdefault((record.operator, record.location), []).append(record)
    rows = "".join(row(node, records.get((node.operator, node.location), [])) for node in everything(root))
    head = "<tr><th>operator</th><th>type</th><th>functions</th><th>line</th></tr>"
    return f'<table class="morisot-plan">{head}{rows}</table>'


def row(node: Node, records: list[FormRecord]) -> str:
    functions = "<br>".join(function(record) for record in records)
    cells = (html.escape(title(node)), html.escape(str(node.type)), functions, html.escape(str(node.location)))
    return "<tr>" + "".join(f'<td style="text-align:left">{cell}</td>' for cell in cells) + "</tr>"


def function(record: FormRecord) -> str:
    reason = f" — {html.escape(record.reason)}" if record.reason else ""
    if record.captured:
        reason += f"<br>captured: {html.escape(', '.join(record.captured))}"
    return f'<b style="color:{_COLOURS[record.form]}">{record.form}</b>{reason}'

"""Loops: the boundary nodes of the tasks of a loop, or of a round."""

from __future__ import annotations

from collections import Counter

from morisot.compile.aggregates.round_folds import NumericFold
from morisot.physical import ops
from morisot.physical.boundaries.aggregate import sorts
from morisot.physical.boundaries.nodes import EXCHANGE, JOIN, PYTHON, SCAN, SORT, Causing, Nodes, aggregated, moved
from morisot.physical.boundaries.streams import in_python
from morisot.physical.choose.iterate import path_of
from morisot.physical.ops import Physical
from morisot.physical.plan import Plan
from morisot.plan.nodes.iterate import DeltaIterate, Loop


def loop(cause: Causing) -> Nodes:
    """The nodes that a loop causes once: the tasks that run all rounds, or the input of the first round."""
    node = cause.node
    # The last entry of each key; in Python entries are packed, and unpickled at the end.
    if isinstance(node, DeltaIterate):
        return aggregated(together=False, by_sort=True) + Counter({PYTHON: 0 if cause.operator.columns else 2})
    assert isinstance(node, Loop)
    if path_of(node).name == "barrier":
        return in_python(cause)
    return Counter({PYTHON: 0 if node.input.type == node.body.input.type else 1})


def after_body(node: Loop | DeltaIterate, body: Plan, around: Plan) -> Nodes:
    """The nodes of a round after its body: a fold of the output, or deltas applied to entries."""
    leaving, choice = body.operators[node.body.output], around.choices[node]
    if isinstance(node, DeltaIterate):
        return _joined_deltas(leaving, body) if choice.columns else Counter(_DELTAS_IN_PYTHON)
    native = isinstance(choice.detail, NumericFold)
    if node.feedback:  # Spark observes aggregates while it computes the output; Python reads the output
        return Counter({} if native else {SCAN: 1, PYTHON: 1})
    if isinstance(leaving, ops.StageOp):  # the fold is a part of the last stage
        return Counter()
    return aggregated(body.provides[leaving].distribution == "single") if native else Counter({PYTHON: 1})


_DELTAS_IN_PYTHON = {SCAN: 1, PYTHON: 3, EXCHANGE: 1, SORT: 1}
"""Changed entries are unpickled, deltas packed, both shuffled and sorted by key, and deltas applied."""


def _joined_deltas(leaving: Physical, body: Plan) -> Nodes:
    """A join. The entries of the first round are sorted by key; in later rounds Spark shuffles and sorts them."""
    last = leaving
    while isinstance(last, ops.ColumnsOp):
        last = last.inputs[0]
    by_key = body.provides[leaving].distribution == "key"
    return moved(by_key) + Counter({SCAN: 1, SORT: 0 if by_key and sorts(last) else 1, JOIN: 1})

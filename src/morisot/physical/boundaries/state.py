"""State machines in Python: in row order, in the state store, with timers."""

from __future__ import annotations

from collections import Counter

from morisot.physical.boundaries.nodes import (
    EXCHANGE,
    PYTHON,
    SORT,
    STATE,
    Causing,
    Nodes,
    canonical,
    converted,
    restored,
)
from morisot.physical.boundaries.window import ENDED, begun
from morisot.plan.nodes import aggregate, window
from morisot.plan.nodes.node import Node
from morisot.plan.nodes.time import Reorder
from morisot.types.element import Keyed
from morisot.types.infer import unify


def in_order(cause: Causing) -> Nodes:
    """A shuffle by key, or to one partition, a sort by row order, and a pass in Python."""
    node = cause.node
    if isinstance(node, window.Window) and node.kind.timed:
        return _timed_window(cause, node)
    by_key = cause.key is not None and not isinstance(node, aggregate.SortedBy)
    machine = Counter({EXCHANGE: 1, SORT: 1, PYTHON: 1})
    return machine + canonical(cause.key if by_key else None) + restored(cause, single=not by_key)


def _timed_window(cause: Causing, node: window.Window) -> Nodes:
    """The same, by key and window. Starts and ends of sessions are computed by Spark's window functions."""
    sessions = begun(cause) + Counter(ENDED) if isinstance(node.kind, window.SessionKind) else Counter()
    gathered = Counter({EXCHANGE: 1, SORT: 1, PYTHON: 1})
    return sessions + gathered + canonical(cause.key) + restored(cause)


def keyed_state(cause: Causing) -> Nodes:
    """Rows are packed into buckets of keys in Python, shuffled and sorted by bucket. Python unpacks the results."""
    machine = Counter({PYTHON: 2, EXCHANGE: 1, SORT: 1, STATE: 1})
    match cause.node:
        case aggregate.Limit() | Reorder():  # of the whole stream
            return machine
        case aggregate.Unique() as node:  # the element is the key
            return machine + canonical(node.type)
        case Node(inputs=(one, other)) if isinstance(one.type, Keyed) and isinstance(other.type, Keyed):
            key = unify(one.type.key, other.type.key)
            sides = converted(one.type.key, key) + converted(other.type.key, key)
            return machine + sides + canonical(key)
        case _:
            return machine + canonical(cause.key)

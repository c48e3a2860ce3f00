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
from morisot.physical.plan import Plan
from morisot.plan.nodes import aggregate, state, window
from morisot.plan.nodes.node import Node
from morisot.plan.nodes.time import Reorder
from morisot.types.element import Keyed
from morisot.types.infer import unify


def in_order(cause: Causing) -> Nodes:
    """A shuffle by key, or to one partition, a sort by row order, and a pass in Python."""
    node = cause.node
    if isinstance(node, window.Window) and node.kind.timed:
        return _timed_window(cause, node)
    if isinstance(node, state.ApplyFixed):
        return Counter({EXCHANGE: 1, SORT: 1, PYTHON: 1}) + _in_one_partition(cause)
    by_key = cause.key is not None and not isinstance(node, aggregate.SortedBy)
    machine = Counter({EXCHANGE: 1, SORT: 1, PYTHON: 1})
    return machine + canonical(cause.key if by_key else None) + restored(cause, single=not by_key)


def _timed_window(cause: Causing, node: window.Window) -> Nodes:
    """The same, by key and window. Starts and ends of sessions are computed by Spark's window functions."""
    sessions = begun(cause) + Counter(ENDED) if isinstance(node.kind, window.SessionKind) else Counter()
    gathered = Counter({EXCHANGE: 1, SORT: 1, PYTHON: 1})
    return sessions + gathered + canonical(cause.key) + restored(cause)


def number(cause: Causing) -> Nodes:
    """All rows in one partition, sorted by row order: a row number is the number of the element."""
    return Counter({EXCHANGE: 1, SORT: 1})


def on_demand(cause: Causing) -> Nodes:
    """Blocks of elements as tasks, and a pass in Python. The results are sorted in one partition."""
    return Counter({EXCHANGE: 1, PYTHON: 1}) + _in_one_partition(cause)


def _in_one_partition(cause: Causing) -> Nodes:
    """The order of numbered results, where it is seen."""
    return Counter({EXCHANGE: 1, SORT: 1}) if restores_numbers(cause.plan, cause.node) else Counter()


def restores_numbers(plan: Plan, node: Node) -> bool:
    """Whether the results of a bounded operator with replicas are sorted by the numbers of their elements."""
    seen = node in plan.order.seen or node in plan.order.needed
    return node.bounded and node.keeps_order and seen and node not in plan.order.carried


def keyed_state(cause: Causing) -> Nodes:
    """Rows are packed into buckets of keys in Python, shuffled and sorted by bucket. Python unpacks the results."""
    machine = Counter({PYTHON: 2, EXCHANGE: 1, SORT: 1, STATE: 1})
    match cause.node:
        case aggregate.Limit() | Reorder() | state.Numbered():  # of the whole stream
            return machine
        case aggregate.Unique() as node:  # the element is the key
            return machine + canonical(node.type)
        case Node(inputs=(one, other)) if isinstance(one.type, Keyed) and isinstance(other.type, Keyed):
            key = unify(one.type.key, other.type.key)
            sides = converted(one.type.key, key) + converted(other.type.key, key)
            return machine + sides + canonical(key)
        case _:
            return machine + canonical(cause.key)

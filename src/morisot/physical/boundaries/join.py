"""Joins: small sides are broadcast, others are shuffled and sorted."""

from __future__ import annotations

from collections import Counter

from morisot.physical.boundaries.nodes import (
    BROADCAST,
    EXCHANGE,
    JOIN,
    PYTHON,
    SCAN,
    SORT,
    WINDOW,
    Causing,
    Nodes,
    canonical,
    converted,
    restored,
    times,
)
from morisot.physical.boundaries.window import ENDED, begun, positioned
from morisot.physical.choose.join import compares_natively, is_broadcast
from morisot.plan.nodes import aggregate, combine, join, window
from morisot.types.element import Keyed, contains_any

_BROADCAST = {BROADCAST: 1, JOIN: 1}
"""One side is broadcast."""
_SHUFFLED = {EXCHANGE: 2, SORT: 2, JOIN: 1}
"""Both sides are shuffled and sorted by the join keys."""


def native_join(cause: Causing) -> Nodes:
    """A join, and a sort if the order of the left side is restored."""
    node = cause.node
    match node:
        case combine.Zip():  # by index, for which Spark counts rows
            seen = node in cause.plan.order.seen
            return _joined(cause) + Counter({EXCHANGE: 1, SORT: 1} if seen else {})
        case window.WindowJoin():
            return _window_join(cause, node)
        case aggregate.WithAggregate() if cause.key is None:  # one result, which is broadcast
            return Counter(_BROADCAST)
        case aggregate.WithAggregate():
            return _joined(cause) + times(2, canonical(cause.key)) + restored(cause)
        case join.Join() | join.IntervalJoin():
            return _joined_by_key(node) + _how(cause, node) + restored(cause)
    raise AssertionError(f"{node.operator} is no join")


def _joined(cause: Causing) -> Nodes:
    """The algorithm that Spark chooses by size."""
    return Counter(_BROADCAST if cause.sizes.broadcasts else _SHUFFLED)


def _how(cause: Causing, node: join.Join | join.IntervalJoin) -> Nodes:
    """The user's strategy, else one by size. An outer join is never broadcast: it needs all unmatched rows."""
    ship, local = (node.ship, node.local) if isinstance(node, join.Join) else (None, None)
    if node.variant == "outer":
        return Counter({EXCHANGE: 2, SORT: 0 if local == "hash" else 2, JOIN: 1})
    if ship == "broadcast_right" or (local is None and ship is None and _said_broadcast(node)):
        return Counter(_BROADCAST)
    if local is not None:
        return Counter({EXCHANGE: 2, SORT: 2 if local == "sort_merge" else 0, JOIN: 1})
    return _joined(cause)


def _said_broadcast(node: join.Join | join.IntervalJoin) -> bool:
    if not isinstance(node, join.Join):
        return False
    return is_broadcast(node.right) or (node.variant == "inner" and is_broadcast(node.left))


def _joined_by_key(node: join.Join | join.IntervalJoin) -> Nodes:
    """Passes that make keys comparable: conversion to one type in an outer join, and canonical bytes if needed."""
    one, other = node.left.type, node.right.type
    if not isinstance(one, Keyed) or not isinstance(other, Keyed):
        return Counter()
    sides: Nodes = Counter()
    if node.variant == "outer":
        assert isinstance(node.type, Keyed)
        sides = converted(one.key, node.type.key) + converted(other.key, node.type.key)
        one, other = Keyed(node.type.key, one.value), Keyed(node.type.key, other.value)
    return sides + Counter({PYTHON: 0 if compares_natively(one, other) else 2})


def _window_join(cause: Causing, node: window.WindowJoin) -> Nodes:
    """A join by key and window, after the rows of both sides are assigned to windows."""
    one, other = node.left.type, node.right.type
    sides: Nodes = Counter()
    if isinstance(one, Keyed) and isinstance(other, Keyed):
        sides[PYTHON] = 2 if one.key != other.key or contains_any(one.key) else 0
    match node.kind:
        case window.CountKind():  # numbered, and counted, because incomplete windows may be dropped
            sides += times(2, positioned(cause) + Counter({SORT: 1, WINDOW: 1}))
        case window.SessionKind():  # sessions have elements of both sides; their ends are computed once
            sides = times(2, sides + begun(cause)) + Counter(ENDED)
    return sides + _joined(cause) + restored(cause)


def table_join(cause: Causing) -> Nodes:
    """A join of each micro-batch with a persisted table, which is read as rows without a plan."""
    node = cause.node
    assert isinstance(node, join.Join)
    row_numbers = Counter({PYTHON: 1 if cause.ordered else 0})
    by_hash = node.ship == "hash" and node.local is None  # Spark does not know the size of such rows
    how = Counter(_SHUFFLED) if by_hash else _how(cause, node)
    return Counter({SCAN: 2}) + row_numbers + _joined_by_key(node) + how

"""Stateful operators and joins of streams: machines in row order, with keyed state, or with timers."""

from __future__ import annotations

from morisot.physical.choose.aggregate import all_of
from morisot.physical.ops import (
    Choice,
    InOrderOp,
    KeyedStateOp,
    NativeJoinOp,
    NumberOp,
    OnDemandOp,
    Physical,
    Reason,
    TableJoinOp,
    TimersOp,
)
from morisot.plan.nodes.aggregate import UniqueWithin
from morisot.plan.nodes.combine import Zip
from morisot.plan.nodes.join import IntervalJoin, Join
from morisot.plan.nodes.node import Node
from morisot.plan.nodes.state import Apply, ApplyOnDemand, Numbered, RichFilterMap, RichFlatMap, RichMap
from morisot.plan.nodes.window import WindowJoin

_STATE = "it has a state"
_FIXED = {
    "on_demand": "the number of the element determines its replica, because replicas have key stores",
    "affinity": "the key determines the replica",
    "broadcast": "every replica gets every element",
}
"""How replicas are assigned before elements are processed, by `send`."""


def choose_rich(node: RichMap | RichFilterMap | RichFlatMap, demoted: frozenset[Node]) -> Choice:
    return Choice(InOrderOp if node.bounded else KeyedStateOp, all_of(node, Reason("stage", _STATE)))


def choose_numbered(node: Numbered, demoted: frozenset[Node]) -> Choice:
    return Choice(NumberOp if node.bounded else KeyedStateOp)


def choose_apply(node: Apply, demoted: frozenset[Node]) -> Choice:
    if isinstance(node, ApplyOnDemand):
        kind: type[Physical] = OnDemandOp
        why = "on demand: a free replica takes the next elements"
    else:
        kind = InOrderOp if node.bounded else KeyedStateOp
        why = f"fixed: {_FIXED[node.send]}"
    return Choice(kind, all_of(node, Reason("stage", why)))


def choose_unique_within(node: UniqueWithin, demoted: frozenset[Node]) -> Choice:
    return Choice(InOrderOp if node.bounded else TimersOp)


def choose_stream_join(node: WindowJoin | IntervalJoin, demoted: frozenset[Node]) -> Choice:
    return Choice(NativeJoinOp if node.bounded else TimersOp)


def choose_join(node: Join, demoted: frozenset[Node]) -> Choice:
    return Choice(NativeJoinOp if node.bounded else TableJoinOp)


def choose_zip(node: Zip, demoted: frozenset[Node]) -> Choice:
    return Choice(NativeJoinOp if node.bounded else KeyedStateOp)

"""Stateful operators and joins of streams: machines in row order, with keyed state, or with timers."""

from __future__ import annotations

from morisot.physical.choose.aggregate import all_of
from morisot.physical.ops import Choice, InOrderOp, KeyedStateOp, NativeJoinOp, Reason, TableJoinOp, TimersOp
from morisot.plan.nodes.aggregate import UniqueWithin
from morisot.plan.nodes.combine import Zip
from morisot.plan.nodes.join import IntervalJoin, Join
from morisot.plan.nodes.node import Node
from morisot.plan.nodes.state import RichFilterMap, RichFlatMap, RichMap
from morisot.plan.nodes.window import WindowJoin

_STATE = "it has a state"


def choose_rich(node: RichMap | RichFilterMap | RichFlatMap, demoted: frozenset[Node]) -> Choice:
    return Choice(InOrderOp if node.bounded else KeyedStateOp, all_of(node, Reason("stage", _STATE)))


def choose_unique_within(node: UniqueWithin, demoted: frozenset[Node]) -> Choice:
    return Choice(InOrderOp if node.bounded else TimersOp)


def choose_stream_join(node: WindowJoin | IntervalJoin, demoted: frozenset[Node]) -> Choice:
    return Choice(NativeJoinOp if node.bounded else TimersOp)


def choose_join(node: Join, demoted: frozenset[Node]) -> Choice:
    return Choice(NativeJoinOp if node.bounded else TableJoinOp)


def choose_zip(node: Zip, demoted: frozenset[Node]) -> Choice:
    return Choice(NativeJoinOp if node.bounded else KeyedStateOp)

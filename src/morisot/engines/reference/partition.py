"""The meaning of operators that only move elements: the stream is unchanged."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from morisot.engines.reference.registry import evaluates
from morisot.plan.nodes.node import Node
from morisot.plan.nodes.partition import Batched, Broadcast, Cache, Ordered, Parallelism, RepartitionBy, Shuffle


def unchanged(node: Node, elements: Iterable[Any]) -> Iterable[Any]:
    return elements


for _kind in (Shuffle, Parallelism, RepartitionBy, Broadcast, Batched, Cache, Ordered):
    evaluates(_kind, sees_time=True)(unchanged)

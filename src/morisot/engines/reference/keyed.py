"""The meaning of operators that add and remove keys."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from morisot.engines.reference.registry import call, evaluates, fitting
from morisot.plan.nodes.keyed import KeyBy, Unkey


@evaluates(KeyBy)
def evaluate_key_by(node: KeyBy, elements: Iterable[Any]) -> Iterator[Any]:
    for element in elements:
        value = element[1] if node.input.keyed else element
        yield fitting(node, node.key, value, call(node, node.key, value)), value


@evaluates(Unkey)
def evaluate_unkey(node: Unkey, elements: Iterable[Any]) -> Iterator[Any]:
    for key, value in elements:
        yield {"both": (key, value), "key": key, "value": value}[node.keep]

"""Runs a plan by evaluating each node."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from morisot.engines.reference.registry import Meaning, Timed, carried, leave_out, meaning_of, plain, sees_time
from morisot.errors import ElementError, PlanError
from morisot.plan.analysis.graph import walk
from morisot.plan.nodes.aggregate import Aggregation
from morisot.plan.nodes.node import Node
from morisot.plan.nodes.partition import Cache
from morisot.plan.nodes.rowwise import Rowwise
from morisot.plan.nodes.state import Rich
from morisot.plan.nodes.window import Window
from morisot.types.element import ANY


def evaluate(
    *roots: Node, given: Mapping[Node, Sequence[Any]] | None = None, cached: dict[Node, list[Any]] | None = None
) -> dict[Node, list[Any]]:
    """The elements of every node of the plans. Each node is computed once, and `given` nodes are not computed.

    The elements of cached streams are read from `cached`, and stored there for the next run.
    """
    results: dict[Node, list[Any]] = {node: list(elements) for node, elements in (given or {}).items()}
    results |= cached or {}
    for node in walk(*roots, known=frozenset(results)):
        if node in results:
            continue
        meaning = meaning_of(node)
        if meaning is None or not node.bounded:
            raise PlanError(
                f"{node.operator} does not run on the reference engine",
                location=node.location,
                advice='use StreamContext() with engine="spark"'
                if node.bounded
                else "use bounded input: the reference engine runs a plan to its end",
            )
        elements = _meant(node, meaning, [results[value] for value in node.inputs])
        results[node] = [carried(node, element) for element in elements] if _makes_values(node) else list(elements)
    if cached is not None:
        cached |= {node: elements for node, elements in results.items() if isinstance(node, Cache)}
    return {node: plain(elements) for node, elements in results.items()}


def _meant(node: Node, meaning: Meaning, inputs: Sequence[list[Any]]) -> Iterable[Any]:
    if sees_time(node):
        return meaning(node, *inputs)
    if isinstance(node, Rowwise) and node.leaves_out:
        return _one_by_one(node, meaning, inputs[0])
    if isinstance(node, Rowwise) and node.time is not None:
        return _with_time(node, meaning, inputs[0])
    return meaning(node, *map(plain, inputs))


def _makes_values(node: Node) -> bool:
    """Whether the operator itself makes values, which must be checked. `fitting` checks those of row-wise functions."""
    return isinstance(node, Aggregation | Rich | Window) and node.type != ANY


def _one_by_one(node: Rowwise, meaning: Meaning, elements: list[Any]) -> Iterator[Any]:
    """Applies a row-wise operator to each element. An element on which it fails is skipped with all its results."""
    for element in elements:
        try:
            results = list(_with_time(node, meaning, [element]) if node.time else meaning(node, [element]))
        except ElementError as error:
            leave_out(node, error)
        else:
            yield from results


def _with_time(node: Rowwise, meaning: Meaning, elements: list[Timed]) -> Iterator[Timed]:
    """Applies a row-wise operator to each element. Results have the timestamp of their element."""
    now = 0

    def one_by_one() -> Iterator[Any]:
        nonlocal now
        for timed in elements:
            now = timed.time
            yield timed.element

    for result in meaning(node, one_by_one()):
        yield Timed(result, now)

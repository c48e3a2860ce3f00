"""Traversal of plans."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Container, Iterable, Iterator

from morisot.plan.nodes.node import Node
from morisot.plan.nodes.sink import SinkNode


def walk(*roots: Node, known: Container[Node] = ()) -> Iterator[Node]:
    """Every node of the plans once, inputs before their readers. The inputs of `known` nodes are not visited."""
    seen: set[Node] = set()
    stack: list[tuple[Node, bool]] = [(root, False) for root in reversed(roots)]
    while stack:
        node, inputs_done = stack.pop()
        if node in seen:
            continue
        if inputs_done:
            seen.add(node)
            yield node
        else:
            stack.append((node, True))
            stack.extend((value, False) for value in reversed(node.inputs) if node not in known)


def is_bounded_input(value: Node, reader: Node) -> bool:
    """Whether a stream is a bounded input of an unbounded operator, and not used as a lookup table."""
    return reader.meets and value.bounded and not reader.bounded


def bounded_inputs(*roots: Node) -> list[Node]:
    """The bounded inputs of unbounded operators."""
    return list(dict.fromkeys(value for node in walk(*roots) for value in node.inputs if is_bounded_input(value, node)))


def consumer_counts(roots: Iterable[Node]) -> Counter[Node]:
    """The number of readers of each node; roots have an external reader."""
    nodes = tuple(roots)
    counts: Counter[Node] = Counter(nodes)
    for node in walk(*nodes):
        counts.update(node.inputs)
    return counts


def order_observed(roots: Iterable[Node]) -> frozenset[Node]:
    """The nodes whose row order an operator, a sink or the caller observes."""
    nodes = tuple(roots)
    return _observed(nodes, set(nodes))


def order_needed(roots: Iterable[Node]) -> frozenset[Node]:
    """The nodes on whose row order the result of an operator depends. Sinks are not counted."""
    streams = (root.inputs if isinstance(root, SinkNode) and root.takes_any_order else (root,) for root in roots)
    return _observed(tuple(itertools.chain.from_iterable(streams)), set())


def _observed(roots: tuple[Node, ...], observed: set[Node]) -> frozenset[Node]:
    for node in reversed(list(walk(*roots))):
        if node.observes_order:
            observed.update(node.seen_in_order)
        elif node in observed and node.keeps_order:
            observed.update(node.inputs)
    return frozenset(observed)


def everything(*roots: Node) -> Iterator[Node]:
    """Every node of the plans. Nodes in the body of a loop come before the loop."""
    seen: set[Node] = set()
    for node in walk(*roots):
        for _, body in node.bodies:
            for inner in everything(body):
                if inner not in seen:
                    seen.add(inner)
                    yield inner
        if node not in seen:
            seen.add(node)
            yield node

"""Walking plans."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Container, Iterable, Iterator

from morisot.plan.nodes.node import Node
from morisot.plan.nodes.sink import SinkNode


def walk(*roots: Node, known: Container[Node] = ()) -> Iterator[Node]:
    """Every node of the plans once, inputs before what uses them; the inputs of `known` nodes are left out."""
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
    """Whether a stream is a bounded input of an unbounded operator, other than as a table to look into."""
    return reader.meets and value.bounded and not reader.bounded


def bounded_inputs(*roots: Node) -> list[Node]:
    """The bounded inputs of unbounded operators."""
    return list(dict.fromkeys(value for node in walk(*roots) for value in node.inputs if is_bounded_input(value, node)))


def consumer_counts(roots: Iterable[Node]) -> Counter[Node]:
    """How many nodes (or outside users, for the roots) read each node."""
    nodes = tuple(roots)
    counts: Counter[Node] = Counter(nodes)
    for node in walk(*nodes):
        counts.update(node.inputs)
    return counts


def order_observed(roots: Iterable[Node]) -> frozenset[Node]:
    """The nodes whose order of elements some operator, sink or caller can see."""
    nodes = tuple(roots)
    return _observed(nodes, set(nodes))


def order_needed(roots: Iterable[Node]) -> frozenset[Node]:
    """The nodes whose order of elements the result of some operator depends on; a sink takes what comes."""
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
    """Every node of the plans, those inside the bodies of loops before the loop itself."""
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

"""The readers and inputs of operators, for passes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from morisot.physical.ops import Choice
from morisot.plan.nodes.node import Node
from morisot.plan.nodes.rowwise import Rowwise


@dataclass(frozen=True, eq=False)
class Neighbours:
    """The choices of a plan, the number of readers of each node, and its last reader."""

    choices: Mapping[Node, Choice]
    readers: Counter[Node]
    reader: Mapping[Node, Node]

    def above(self, node: Node, through: Callable[[Node], bool]) -> Iterator[Node]:
        """The inputs of a node upstream, as long as they are row-wise and have one reader."""
        while isinstance(node, Rowwise) and through(node):
            node = node.input
            if self.readers[node] > 1:
                return
            yield node

    def below(self, node: Node) -> Iterator[Node]:
        """The readers of a node downstream, as long as there is just one."""
        while self.readers[node] == 1 and (reader := self.reader.get(node)) is not None:
            yield reader
            node = reader

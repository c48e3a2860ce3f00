"""Columns beside kernels become kernels where that saves a way from the JVM to Python and back."""

from __future__ import annotations

from dataclasses import dataclass

from morisot.physical.choose.rowwise import kernel_of, lets_less_out
from morisot.physical.ops import Choice, ColumnsOp, KernelOp, Reason
from morisot.physical.passes.neighbours import Neighbours
from morisot.plan.nodes.node import Node
from morisot.plan.nodes.source import StreamRange

BESIDE_KERNELS = "it stands beside a function that runs as machine code, and can be machine code too"


def join_kernels(graph: Neighbours, demoted: frozenset[Node]) -> dict[Node, Choice]:
    """The choices, with the columns that are done in a pass of machine code beside them."""
    if not any(choice.kind is KernelOp for choice in graph.choices.values()):
        return dict(graph.choices)  # to compile what could be a kernel takes time
    joining = _Joining(graph, demoted)
    return {node: joining.choice(node) for node in graph.choices}


@dataclass(frozen=True, eq=False)
class _Joining:
    graph: Neighbours
    demoted: frozenset[Node]

    def choice(self, node: Node) -> Choice:
        chosen = self.graph.choices[node]
        if chosen.kind is KernelOp or not self._may_join(node) or not self._joins(node):
            return chosen
        beside = {closure: Reason("kernel", BESIDE_KERNELS) for _, closure in node.closures}
        return Choice(KernelOp, beside, kernel=kernel_of(node))

    def _joins(self, node: Node) -> bool:
        if self._kernel_above(node):
            return lets_less_out(node) or self._kernel_below(node, or_less=True)
        return self._range_above(node) and self._kernel_below(node)

    def _is_kernel(self, node: Node) -> bool:
        return node in self.graph.choices and self.graph.choices[node].kind is KernelOp

    def _kernel_above(self, node: Node) -> bool:
        """Whether a kernel is above, with nothing between but what could be one too."""
        return any(self._is_kernel(each) for each in self.graph.above(node, self._may_join))

    def _kernel_below(self, node: Node, *, or_less: bool = False) -> bool:
        """Whether a kernel is below; or also what could be one and lets less out."""
        for reader in self.graph.below(node):
            if self._is_kernel(reader):
                return True
            if not self._may_join(reader):
                return False
            if or_less and lets_less_out(reader):
                return True
        return False

    def _range_above(self, node: Node) -> bool:
        """Whether only what could be a kernel is between the node and a range, whose ints a pass generates itself."""
        above = [node, *self.graph.above(node, self._may_join)]
        return isinstance(above[-1], StreamRange) and above[-1].time is None

    def _may_join(self, node: Node) -> bool:
        chosen = self.graph.choices.get(node)
        if chosen is None or chosen.kind not in (ColumnsOp, KernelOp):
            return False
        return node not in self.demoted and kernel_of(node) is not None

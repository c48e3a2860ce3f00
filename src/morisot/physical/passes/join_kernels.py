"""Columns next to kernels become kernels if that saves a transfer between the JVM and Python."""

from __future__ import annotations

from dataclasses import dataclass

from morisot.physical.choose.rowwise import kernel_of, reduces_data
from morisot.physical.ops import Choice, ColumnsOp, KernelOp, Reason
from morisot.physical.passes.neighbours import Neighbours
from morisot.plan.nodes.node import Node
from morisot.plan.nodes.source import StreamRange

BESIDE_KERNELS = "it is next to a function that runs as machine code, and can be machine code too"


def join_kernels(graph: Neighbours, demoted: frozenset[Node]) -> dict[Node, Choice]:
    """The choices, with columns that are fused into passes of machine code."""
    if not any(choice.kind is KernelOp for choice in graph.choices.values()):
        return dict(graph.choices)  # compiling candidates takes time
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
            return reduces_data(node) or self._kernel_below(node, or_less=True)
        return self._range_above(node) and self._kernel_below(node)

    def _is_kernel(self, node: Node) -> bool:
        return node in self.graph.choices and self.graph.choices[node].kind is KernelOp

    def _kernel_above(self, node: Node) -> bool:
        """Whether a kernel is upstream, with only possible kernels in between."""
        return any(self._is_kernel(each) for each in self.graph.above(node, self._may_join))

    def _kernel_below(self, node: Node, *, or_less: bool = False) -> bool:
        """Whether a kernel is downstream; with `or_less` also a possible kernel that reduces the data."""
        for reader in self.graph.below(node):
            if self._is_kernel(reader):
                return True
            if not self._may_join(reader):
                return False
            if or_less and reduces_data(reader):
                return True
        return False

    def _range_above(self, node: Node) -> bool:
        """Whether only possible kernels are between the node and a range, whose ints the pass generates itself."""
        above = [node, *self.graph.above(node, self._may_join)]
        return isinstance(above[-1], StreamRange) and above[-1].time is None

    def _may_join(self, node: Node) -> bool:
        chosen = self.graph.choices.get(node)
        if chosen is None or chosen.kind not in (ColumnsOp, KernelOp):
            return False
        return node not in self.demoted and kernel_of(node) is not None

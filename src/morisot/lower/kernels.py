"""Neighbouring operators whose functions are kernels, fused into one pass of machine code over Arrow batches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from morisot.compile.ladder import kernel
from morisot.compile.verdict import KernelForm
from morisot.lower import stages
from morisot.lower.frame import Frame
from morisot.plan.keyed import KeyBy
from morisot.plan.node import Node
from morisot.plan.rowwise import Filter, Map
from morisot.plan.source import StreamRange
from morisot.types.element import INT, arguments, leaves
from morisot.worker import kernel_stage
from morisot.worker.kernel_stage import KernelStage, Numbers
from morisot.worker.kernels import Kernel
from morisot.worker.stage import policies

if TYPE_CHECKING:
    from morisot.lower.planner import Lowering


def could_be(node: Node) -> Kernel | None:
    """The kernel of an operator that might as well be a column: beside a kernel it may save a way out and back."""
    if not isinstance(node, stages.KERNELS):
        return None
    found = stages.kernel_of(node)
    if found is None:
        ((name, closure),) = node.closures
        form = kernel(closure, node.signature(name))
        found = form.kernel if isinstance(form, KernelForm) and _same_type(node, form) else None
    return found


def _same_type(node: Node, form: KernelForm) -> bool:
    if isinstance(node, KeyBy):
        return arguments(node.type)[0] == form.type
    return isinstance(node, Filter) or arguments(node.type)[-1] == form.type


def lets_less_out(node: Node) -> bool:
    """Whether less leaves the operator than enters it: then it pays to do it before the way back to the JVM."""
    if isinstance(node, Filter):
        return True
    return isinstance(node, Map) and len(leaves(node.type)) <= len(leaves(node.input.type))


def run(lowering: Lowering, source: Node, nodes: list[Node]) -> Frame:
    """The frame after the operators; the numbers of a range are generated inside the pass, not sent to it."""
    numbers = Numbers(source.range, lowering.parallelism) if isinstance(source, StreamRange) else None
    frame = stages.instances(lowering) if numbers else lowering.frame(source)
    found = [could_be(node) for node in nodes]
    steps = tuple(stages.step(node, lowering) for node in nodes)
    stage = KernelStage(
        steps,
        tuple(each for each in found if each is not None),
        INT if numbers else frame.type,
        nodes[-1].type,
        stages.dumps,
        numbers,
        kernel_stage.PATIENCE,
        lowering.account(policies(steps)),
        len(frame.hidden),
    )
    output = nodes[-1].type
    return frame.over(frame.df.mapInArrow(stages.in_worker(stage), frame.ddl(output)), output)

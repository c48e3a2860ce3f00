"""Adjacent operators whose functions are kernels, fused into one pass of machine code over Arrow batches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from morisot.engines.spark.emit.frames.frame import Frame
from morisot.engines.spark.emit.python import fused_stage
from morisot.physical.ops import KernelOp
from morisot.plan.nodes.node import Node
from morisot.plan.nodes.source import StreamRange
from morisot.types.element import INT
from morisot.worker.rowwise import kernel_stage
from morisot.worker.rowwise.kernel_stage import KernelStage, Numbers

if TYPE_CHECKING:
    from morisot.engines.spark.emit.core.emission import Emission


def run(emission: Emission, operator: KernelOp, source: Node) -> Frame:
    """The frame after the operators. The numbers of a range are generated inside the pass."""
    numbers = Numbers(source.range, emission.parallelism) if isinstance(source, StreamRange) else None
    frame = fused_stage.instances(emission) if numbers else emission.read_by(operator.logical[0], source)
    steps = emission.steps(operator.logical)
    stage = KernelStage(
        steps,
        operator.kernels,
        INT if numbers else frame.type,
        operator.node.type,
        fused_stage.dumps,
        numbers,
        kernel_stage.PATIENCE,
        emission.account((), steps),
        len(frame.hidden),
    )
    output = operator.node.type
    return frame.over(frame.df.mapInArrow(fused_stage.in_worker(stage), frame.ddl(output)), output)

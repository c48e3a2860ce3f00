"""Counts of the tokens of texts: a pass in Python counts, and Spark adds up its counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from morisot.compile.tokens.analysis import Tokens
from morisot.engines.spark.emit.core.registry import emits
from morisot.engines.spark.emit.frames import schema
from morisot.engines.spark.emit.frames.frame import Frame
from morisot.engines.spark.emit.frames.sql import quoted
from morisot.engines.spark.emit.groups import grouped
from morisot.engines.spark.emit.python.fused_stage import dumps, in_worker
from morisot.physical.ops import CountTokensOp
from morisot.plan.nodes.aggregate import Count
from morisot.types.element import leaves
from morisot.worker.aggregate.token_counts import TokenCounts
from morisot.worker.rowwise.steps import Step

if TYPE_CHECKING:
    from morisot.engines.spark.emit.core.emission import Emission


@emits(CountTokensOp, Count)
def emit_token_counts(node: Count, emission: Emission, frame: Frame, steps: tuple[Step, ...]) -> Frame:
    operator = emission.plan.operators[node]
    assert isinstance(operator, CountTokensOp)
    assert isinstance(operator.detail, Tokens)
    task = TokenCounts(steps, operator.detail.pattern, node.type, dumps, node.operator, node.location)
    counted = frame.untimed().df.mapInArrow(in_worker(task), schema.ddl(node.type))
    (*_, count) = leaves(node.type)
    return grouped(node, emission, Frame(counted, node.type), f"sum({quoted(count.column)})")

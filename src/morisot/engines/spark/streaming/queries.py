"""Properties of the sources and operators of a streaming query."""

from __future__ import annotations

from pyspark.sql import DataFrame

from morisot.engines.spark.internals import streaming
from morisot.engines.spark.internals.sessions import is_connect
from morisot.physical.ops import KeyedStateOp, NativeAggregateOp, TimersOp
from morisot.physical.plan import Plan
from morisot.plan.nodes.node import Node
from morisot.plan.nodes.window import Window, WindowJoin


def stateful(root: Node, plan: Plan) -> list[Node]:
    """The operators that keep a state, in the order in which Spark numbers them: each before its inputs."""
    keeps = not root.bounded and isinstance(plan.operators.get(root), KeyedStateOp | TimersOp | NativeAggregateOp)
    return [*([root] if keeps else []), *(node for value in root.inputs for node in stateful(value, plan))]


def uses_timers(node: Node) -> bool:
    """Whether an operator has timers, of event time or of processing time."""
    by_the_clock = isinstance(node, Window | WindowJoin) and node.kind.processing
    return not node.bounded and (node.has_timers or by_the_clock)


def holds_elements(node: Node) -> bool:
    """Whether an operator may hold elements until time passes or the stream ends."""
    return uses_timers(node) or (not node.bounded and isinstance(node, Window) and node.completes_at_end)


def source_numbers(df: DataFrame) -> list[int]:
    """The number of each source of a query, in the order of offsets. A source that is read twice has one number.

    On Spark Connect the numbers are unknown; each reading counts as a source of its own.
    """
    return [] if is_connect(df) else streaming.source_numbers(df)

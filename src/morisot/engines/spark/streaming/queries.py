"""What is asked about the sources and operators of a streaming query."""

from __future__ import annotations

from pyspark.sql import DataFrame

from morisot.engines.spark.internals import streaming
from morisot.engines.spark.internals.sessions import is_connect
from morisot.plan.nodes.node import Node
from morisot.plan.nodes.window import Window, WindowJoin


def waits_for_time(node: Node) -> bool:
    """Whether an operator gives something when time has passed, that of the elements or the clock's."""
    by_the_clock = isinstance(node, Window | WindowJoin) and node.kind.processing
    return not node.bounded and (node.awaits_time or by_the_clock)


def source_numbers(df: DataFrame) -> list[int]:
    """The number of each source that a query reads, in the order of its offsets; one that is read twice has one number.

    Of a session of Spark Connect nobody is told; there each is taken for another.
    """
    return [] if is_connect(df) else streaming.source_numbers(df)

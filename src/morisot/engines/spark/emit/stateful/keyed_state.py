"""Machines on unbounded input: their states are in Spark's state store, with a bucket of keys in each entry."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import DataFrame

from morisot.engines.spark.emit.frames.frame import ROW_ORDER, Frame
from morisot.engines.spark.emit.frames.sql import quoted
from morisot.engines.spark.emit.python import left_out as ledgers
from morisot.engines.spark.emit.python.fused_stage import dumps, in_worker
from morisot.engines.spark.emit.python.in_order import grouped_by_key, origin
from morisot.engines.spark.emit.python.pickling import check_travels
from morisot.engines.spark.emit.python.signing import current_seal
from morisot.engines.spark.emit.stateful.processors import BucketProcessor
from morisot.plan.analysis.validate import gives_running_values
from morisot.plan.nodes.node import Node
from morisot.plan.nodes.window import Window
from morisot.types.element import Keyed, Type
from morisot.worker.stateful.buckets import Bucket, PackBuckets, StreamEnd, UnpackBuckets
from morisot.worker.stateful.machine import Machine

if TYPE_CHECKING:
    from morisot.engines.spark.emit.core.emission import Emission

BUCKETS_PER_PARTITION = 4
_BUCKET = quoted("bucket")


def in_buckets(
    node: Node, emission: Emission, frame: Frame, machine: Machine, *, by_key: bool = True, type_: Type | None = None
) -> Frame:
    """The frame after a machine that processes the elements of each key, or all elements, in row order.

    `type_` is the type of the results, by default that of the node.
    """
    for _, closure in node.closures:
        check_travels(closure)
    by_key, stamps = by_key and isinstance(frame.type, Keyed), node.time is not None
    running = gives_running_values(node)
    came_from = origin(node, emission)
    account = emission.account([came_from.policy] if came_from.policy is not None else [])
    has_row_order = emission.provides_row_order(node)
    output_type = type_ or node.type
    bucket = Bucket(
        machine, came_from, frame.type, output_type, dumps, frame.timed, stamps, by_key, running, has_row_order
    )
    rows, where = by_bucket_of_key(node, emission, frame) if by_key else (frame.df, "0")
    ends = isinstance(node, Window) and node.completes_at_end
    packed = gathered_in_buckets(frame, rows, where, stream_end(emission) if ends else None)
    results = packed.groupBy("bucket").transformWithStateInPandas(
        BucketProcessor(bucket, current_seal()), "results BINARY, left_out BINARY", emission.plan.output_mode, "None"
    )
    output = Frame(results, output_type, stamps, has_row_order)
    unpack = UnpackBuckets(came_from.policy, account)
    return output.over(results.mapInArrow(in_worker(unpack), output.ddl(output_type)))


def by_bucket_of_key(node: Node, emission: Emission, frame: Frame) -> tuple[DataFrame, str]:
    """The rows, perhaps with an additional column, and an expression for the bucket of each row's key."""
    rows, group = grouped_by_key(node, frame.df, frame.type)
    return rows, bucket_of(emission, *group)


def bucket_of(emission: Emission, *columns: str) -> str:
    """An expression for the bucket of rows with the same values in some columns."""
    return f"CAST(pmod(xxhash64({', '.join(columns)}), {number_of_buckets(emission)}) AS INT)"


def number_of_buckets(emission: Emission) -> int:
    return emission.parallelism * BUCKETS_PER_PARTITION


def stream_end(emission: Emission) -> StreamEnd | None:
    """The end of the query's sources, if it is known."""
    end = emission.query.end
    return None if end is None else StreamEnd(end, number_of_buckets(emission))


def gathered_in_buckets(frame: Frame, rows: DataFrame, where: str, end: StreamEnd | None) -> DataFrame:
    """The packed rows of a frame, one value for each batch and bucket. `where` is the expression of the bucket."""
    # Empty for aggregates that do not depend on the order.
    empty = [] if frame.has_row_order else [f"X'' AS {ROW_ORDER}"]
    with_bucket = rows.selectExpr(*frame.columns, *frame.hidden, *empty, f"{where} AS {_BUCKET}")
    return with_bucket.mapInArrow(in_worker(PackBuckets(ledgers.current_task(), end)), "bucket INT, rows BINARY")

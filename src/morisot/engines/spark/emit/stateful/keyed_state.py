"""Machines on unbounded input: their states are in Spark's state store, with a bucket of keys in each entry."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
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
from morisot.engines.spark.internals.streaming import state_partition
from morisot.plan.analysis.validate import gives_running_values
from morisot.plan.nodes.node import Node
from morisot.plan.nodes.window import Window
from morisot.types.element import Keyed, Type
from morisot.worker.stateful.buckets import Bucket, PackBuckets, StreamEnd, UnpackBuckets
from morisot.worker.stateful.machine import Machine

if TYPE_CHECKING:
    from morisot.engines.spark.emit.core.emission import Emission

BUCKETS_PER_PARTITION = 4
"""The buckets of a state partition of bounded jobs, and of unbounded jobs of earlier versions."""
_FEWEST_BUCKETS = 64
"""The fewest buckets of an unbounded job, so that its states can be moved to more partitions later."""
_COMMON_PARTITIONS = 2520
"""It is divided by all numbers up to 10, and by many others."""
_BUCKET = quoted("bucket")


def in_buckets(
    node: Node,
    emission: Emission,
    frame: Frame,
    machine: Machine,
    *,
    by_key: bool = True,
    type_: Type | None = None,
    keys: int | None = None,
) -> Frame:
    """The frame after a machine that processes the elements of each key, or all elements, in row order.

    `type_` is the type of the results, by default that of the node. If the keys are the numbers below `keys`, they are
    spread evenly over the state partitions.
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
    emission.states[node] = bucket
    rows, where = by_bucket_of_key(node, emission, frame) if by_key else (frame.df, "0")
    if keys is not None:
        where = f"element_at(array({', '.join(map(str, spread_buckets(keys)))}), CAST({frame.columns[0]} AS INT) + 1)"
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


def spread_buckets(number: int) -> list[int]:
    """Some buckets that are spread evenly over any number of state partitions that divides _COMMON_PARTITIONS.

    >>> from morisot.engines.spark.internals.streaming import state_partition
    >>> [state_partition(bucket, 4) for bucket in spread_buckets(6)]
    [0, 1, 2, 3, 0, 1]
    """
    found: dict[int, int] = {}
    wanted = {each % _COMMON_PARTITIONS for each in range(number)}
    for bucket in itertools.count():
        partition = state_partition(bucket, _COMMON_PARTITIONS)
        if partition in wanted and partition not in found:
            found[partition] = bucket
            if len(found) == len(wanted):
                break
    return [found[each % _COMMON_PARTITIONS] for each in range(number)]


def bucket_of(emission: Emission, *columns: str) -> str:
    """An expression for the bucket of rows with the same values in some columns."""
    return f"CAST(pmod(xxhash64({', '.join(columns)}), {number_of_buckets(emission)}) AS INT)"


def number_of_buckets(emission: Emission) -> int:
    """The number of buckets, which is fixed for a checkpoint."""
    return buckets_of(emission.query.settings(default_settings(emission)))


def default_settings(emission: Emission) -> dict[str, int]:
    """The settings of a job that starts from scratch."""
    if emission.query.is_part:  # it does not resume with another parallelism
        return {"parallelism": emission.parallelism, "buckets": BUCKETS_PER_PARTITION}
    return {"all buckets": max(_FEWEST_BUCKETS, emission.parallelism * BUCKETS_PER_PARTITION)}


def buckets_of(settings: Mapping[str, int]) -> int:
    """The number of buckets with some settings. Those of earlier versions have the buckets of a partition."""
    return settings.get("all buckets") or settings["parallelism"] * settings["buckets"]


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

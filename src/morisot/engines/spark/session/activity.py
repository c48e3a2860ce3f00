"""The state of Spark for a supervisor: whether a job is active, and a number that changes while tasks progress."""

from __future__ import annotations

import zlib

from pyspark.sql import SparkSession

from morisot.engines.spark.internals.sessions import is_classic, running_stages
from morisot.engines.spark.session.jvm_death import jvm_of
from morisot.runtime.activity import EngineState


def engine_state(spark: SparkSession) -> EngineState | None:
    """The state of the engine of a session; None on Spark Connect, where the server has it. It may block."""
    if not is_classic(spark):
        return None
    tracker = spark.sparkContext.statusTracker()
    busy = bool(tracker.getActiveJobsIds())
    jvm = jvm_of(spark)
    work = zlib.crc32(repr(running_stages(spark)).encode()) if busy else 0
    return EngineState(None if jvm is None else jvm.process.pid, work, busy)

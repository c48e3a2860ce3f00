"""Prepares the checkpoint and the output directories of a query: empty ones, or those of a snapshot."""

from __future__ import annotations

from morisot.engines.spark.emit.core.emission import Emission
from morisot.engines.spark.emit.stateful.keyed_state import BUCKETS_PER_PARTITION
from morisot.engines.spark.internals.sessions import is_classic
from morisot.engines.spark.io.file_output import FileOutput
from morisot.engines.spark.streaming.queries import uses_timers
from morisot.engines.spark.streaming.query.spec import QuerySpec
from morisot.plan.analysis.fingerprint import Description, describe
from morisot.plan.analysis.resumable import StoreSplits
from morisot.plan.nodes.sink import WriteSink
from morisot.runtime.activity import ACTIVITY


def resume_or_begin(spec: QuerySpec, emission: Emission) -> bool:
    """Restores the selected snapshot, or starts with empty directories. Returns whether the query resumes."""
    settings = {"parallelism": emission.parallelism, "buckets": BUCKETS_PER_PARTITION}
    plan = describe(*spec.checkpoint.sinks, **settings)
    resumes = spec.checkpoint.can_resume(spec.restart)
    if resumes:
        _resume(spec, emission, plan)
    else:
        _begin(spec, plan)
    if spec.snapshots is not None:
        ACTIVITY.note_resume(spec.checkpoint.latest_name if resumes else None)
    return resumes


def _resume(spec: QuerySpec, emission: Emission, plan: Description) -> None:
    bounded = isinstance(spec.group.stream, StoreSplits)  # a resumable part of a bounded job, without timers
    spec.checkpoint.resume(plan, spec.restart, replays_input=not bounded)
    if not bounded and spec.checkpoint.planned_end is None and any(uses_timers(node) for node in emission.nodes):
        spec.checkpoint.plan_empty_batch()


def _begin(spec: QuerySpec, plan: Description) -> None:
    if isinstance(spec.restart, int):
        spec.checkpoint.refuse_missing(spec.restart)
    spark = spec.runner.spark
    outputs = [FileOutput(sink) for sink in spec.group.sinks if isinstance(sink, WriteSink) and is_classic(spark)]
    for output in outputs:
        output.refuse_existing(spark)
    for output in outputs:
        output.delete(spark)
    spec.checkpoint.begin(plan)

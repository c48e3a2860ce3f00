"""Prepares the checkpoint and the output directories of a query: empty ones, or those of a snapshot."""

from __future__ import annotations

from morisot.engines.spark.emit.core.emission import Emission
from morisot.engines.spark.emit.stateful.keyed_state import default_settings
from morisot.engines.spark.internals.sessions import is_classic
from morisot.engines.spark.io.file_output import FileOutput
from morisot.engines.spark.streaming.queries import stateful, uses_timers
from morisot.engines.spark.streaming.query.spec import QuerySpec
from morisot.plan.analysis.fingerprint import Description, describe
from morisot.plan.nodes.sink import WriteSink
from morisot.plan.nodes.state import Numbered
from morisot.runtime.activity import ACTIVITY


def resume_or_begin(spec: QuerySpec, emission: Emission) -> bool:
    """Restores the selected snapshot, or starts with empty directories. Returns whether the query resumes."""
    resumes = spec.checkpoint.can_resume(spec.restart)
    settings = default_settings(emission)
    if resumes and not emission.query.is_part:
        settings = dict(spec.checkpoint.settings(settings))
    plan = describe(*spec.checkpoint.sinks, **settings)
    if resumes:
        _resume(spec, emission, plan)
    else:
        _begin(spec, plan)
    if spec.snapshots is not None:
        ACTIVITY.note_resume(spec.checkpoint.latest_name if resumes else None)
    return resumes


def _resume(spec: QuerySpec, emission: Emission, plan: Description) -> None:
    spec.checkpoint.resume(plan, spec.restart, replays_input=not emission.query.is_part)


def rescale(spec: QuerySpec, emission: Emission) -> bool:
    """Changes the number of state partitions of a query that resumes with another parallelism.

    Returns False if it has to finish an open micro-batch before.
    """
    if emission.query.is_part or not is_classic(spec.runner.spark):
        return True
    found = (node.title for node in stateful(spec.group.stream, emission.plan) if not isinstance(node, Numbered))
    return spec.checkpoint.rescale(spec.runner.spark, emission.parallelism, lambda: list(dict.fromkeys(found)))


def plan_timers(spec: QuerySpec, emission: Emission) -> None:
    """Plans a micro-batch for timers that have expired meanwhile. Parts of bounded jobs have none."""
    timers = any(uses_timers(node) for node in emission.nodes)
    if timers and not emission.query.is_part and spec.checkpoint.planned_end is None:
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

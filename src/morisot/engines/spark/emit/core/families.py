"""Imports all families, which registers their emission functions."""

from morisot.engines.spark.emit import (
    aggregate,
    combine,
    iterate,
    join,
    keyed,
    partition,
    replicas,
    rowwise,
    selected,
    selection,
    sink,
    source,
    state,
    time,
    window,
)
from morisot.engines.spark.emit.python import token_counts, two_phase_fold
from morisot.engines.spark.emit.sources import scripted_batches
from morisot.engines.spark.emit.stateful import resumable, running_aggregates, stream_join, watermarks

FAMILIES = (
    source,
    rowwise,
    keyed,
    aggregate,
    selected,
    two_phase_fold,
    token_counts,
    running_aggregates,
    selection,
    state,
    replicas,
    time,
    watermarks,
    window,
    combine,
    join,
    stream_join,
    partition,
    iterate,
    sink,
    scripted_batches,
    resumable,
)

"""Imports all families, which registers their emission functions."""

from morisot.engines.spark.emit import (
    aggregate,
    combine,
    iterate,
    join,
    keyed,
    partition,
    rowwise,
    selection,
    sink,
    source,
    state,
    time,
    window,
)
from morisot.engines.spark.emit.python import two_phase_fold
from morisot.engines.spark.emit.sources import scripted_batches
from morisot.engines.spark.emit.stateful import resumable, running_aggregates, stream_join, watermarks

FAMILIES = (
    source,
    rowwise,
    keyed,
    aggregate,
    two_phase_fold,
    running_aggregates,
    selection,
    state,
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

"""The context of every action on Spark: Ctrl-C ends it, and the end of Spark's JVM is reported."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator

from pyspark.sql import SparkSession

from morisot.engines.spark.internals.sessions import is_classic
from morisot.engines.spark.session.interrupt import interruptible
from morisot.engines.spark.session.jvm_death import is_dead, reporting_death

_numbers = itertools.count(1)


@contextlib.contextmanager
def running(spark: SparkSession) -> Iterator[None]:
    """Runs a block of actions. Ctrl-C cancels the jobs that it starts, and no others."""
    tag = f"morisot-{next(_numbers)}"
    add, remove, cancel = _jobs_with(spark, tag)
    with interruptible(cancel), reporting_death(spark):
        add()
        try:
            yield
        finally:
            if not is_dead(spark):
                with contextlib.suppress(Exception):
                    remove()


Act = Callable[[], object]


def _jobs_with(spark: SparkSession, tag: str) -> tuple[Act, Act, Act]:
    """Functions that add a tag to jobs of this thread, remove it, and cancel jobs with it."""
    if not is_classic(spark):
        return lambda: spark.addTag(tag), lambda: spark.removeTag(tag), lambda: spark.interruptTag(tag)
    context = spark.sparkContext
    return (
        lambda: context.addJobTag(tag),
        lambda: context.removeJobTag(tag),
        lambda: context.cancelJobsWithTag(tag),
    )

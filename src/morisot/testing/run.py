"""Runs a program over the elements of a test, on an engine."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from morisot.api.context import StreamContext
from morisot.api.location import caller
from morisot.config import Config
from morisot.errors import PlanError
from morisot.testing.outcome import Outcome
from morisot.testing.script import Batches, batches_of, check_batches
from morisot.testing.trial import Program, Trial, result_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Engine = Literal["reference", "spark", "unbounded"]
"""Plain Python without a JVM, Spark over all elements at once, or Spark over micro-batches."""


def run(
    program: Program,
    batches: Batches,
    *more: Batches,
    engine: Engine = "reference",
    spark: SparkSession | None = None,
) -> list[Any]:
    """The results of a program for elements in micro-batches.

    `program` takes a stream and returns one; with `more` inputs it takes as many streams. A micro-batch has the next
    batch of each input; bounded engines read all of them at once. Of running values the last one of each key is
    returned, as on bounded input. Between batches there may be `CRASH` and `advance_time(…)`, which only the unbounded
    engine uses.

    >>> run(lambda numbers: numbers.map(lambda n: n + 1), [[1, 2], [3]])
    [2, 3, 4]
    >>> run(lambda left, right: left.zip(right), [[1, 2], [3]], [["a"], ["b"]])
    [(1, 'a'), (2, 'b')]
    """
    return list(observe(program, batches, *more, engine=engine, spark=spark).results)


def observe(
    program: Program,
    batches: Batches,
    *more: Batches,
    engine: Engine = "reference",
    spark: SparkSession | None = None,
) -> Outcome:
    """Like `run`, with all emitted elements and the metrics of the run.

    >>> observe(lambda words: words.group_by_count(len), [["a", "bb"], ["c"]]).results
    [(1, 2), (2, 1)]
    """
    inputs = (batches, *more)
    if engine not in get_args(Engine):
        raise PlanError(
            f"there is no engine {engine!r} to test on",
            location=caller(),
            advice=f"name one of {', '.join(map(repr, get_args(Engine)))}",
        )
    for each in inputs:
        check_batches(each)
    context = StreamContext(
        spark,
        config=Config(progress=False, report=False),
        engine="reference" if engine == "reference" else "spark",
    )
    with context:
        return unbounded(program, inputs, context) if engine == "unbounded" else bounded(program, inputs, context)


def bounded(program: Program, inputs: Sequence[Batches], context: StreamContext) -> Outcome:
    """All elements at once."""
    streams = [context.stream_iter([element for batch in batches_of(each) for element in batch]) for each in inputs]
    results = result_of(program, streams).collect()
    return Outcome(results, results, dict(context.metrics()))


def unbounded(program: Program, inputs: Sequence[Batches], context: StreamContext) -> Outcome:
    """Micro-batches, each with the next batch of every input."""
    with tempfile.TemporaryDirectory(prefix="morisot-testing-") as directory:
        return Trial(program, inputs, context, Path(directory)).run()

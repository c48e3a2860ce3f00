"""Runs a program over elements that a test gives, on the engine that it names."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from morisot.api.base import StreamBase
from morisot.api.context import StreamContext
from morisot.api.location import caller
from morisot.config import Config
from morisot.errors import PlanError
from morisot.testing.outcome import Outcome, answer

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Engine = Literal["reference", "spark", "unbounded"]
"""Plain Python without a JVM; Spark over all elements at once; Spark over one micro-batch after the other."""
Batches = Sequence[Sequence[Any]]
Program = Callable[..., Any]


def run(
    program: Program,
    batches: Batches,
    *more: Batches,
    engine: Engine = "reference",
    spark: SparkSession | None = None,
) -> list[Any]:
    """What a program gives for elements that come in micro-batches.

    `program` takes a stream and gives one; with `more` inputs it takes as many streams. A micro-batch has the next
    batch of each input; bounded engines read them all at once. Of running values the last one of each key is the
    answer, as it is on bounded input.

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
    """Like `run`, with all that came out on the way and what the run says of itself.

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


def check_batches(batches: Any) -> None:
    """Refuse what is no list of lists: a list of numbers is a likely slip."""
    for batch in batches:
        if not isinstance(batch, list | tuple | range):
            raise PlanError(
                f"a micro-batch is a list of elements, not {batch!r}",
                location=caller(),
                advice="give a list of lists: [[1, 2], [3]] are two micro-batches, [[1, 2, 3]] is one",
            )


def bounded(program: Program, inputs: Sequence[Batches], context: StreamContext) -> Outcome:
    """All elements at once."""
    streams = [context.stream_iter([element for batch in batches for element in batch]) for batches in inputs]
    results = result_of(program, streams).collect()
    return Outcome(results, results, context.metrics())


def unbounded(program: Program, inputs: Sequence[Batches], context: StreamContext) -> Outcome:
    """One micro-batch after the other, each with the next batch of every input."""
    from morisot.testing.followed import Followed

    with tempfile.TemporaryDirectory(prefix="morisot-testing-") as directory:
        followed = [Followed(Path(directory) / f"input-{place}", batches) for place, batches in enumerate(inputs)]
        for number, parts in enumerate(itertools.zip_longest(*inputs)):
            for each, batch in zip(followed, parts, strict=True):
                if batch is not None:
                    each.put(number, batch)
        stream = result_of(program, [context.plain(each.node) for each in followed])
        changes: list[Any] = []
        stream.for_each(lambda *parts: changes.append(parts[0] if len(parts) == 1 else parts))
        job = context.start()
        try:
            job.catch_up()
        finally:
            job.stop()
        return Outcome(changes, answer(stream._node, changes), job.metrics())


def result_of(program: Program, streams: Sequence[StreamBase[Any]]) -> Any:
    """The stream that the program makes of its inputs."""
    result = program(*streams)
    if not isinstance(result, StreamBase):
        raise PlanError(
            f"a program under test gives a stream, not {result!r}",
            location=caller(),
            advice="return the stream, without collect() or another sink: the test runs it",
        )
    return result

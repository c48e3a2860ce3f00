"""Windows: a sum of each minute every second, words ten at a time, and the words of the minute."""

# The annotations of the record are read as types: no `annotations` import.
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from pyspark.sql import SparkSession

from benchmarks.baselines import windows as baseline
from benchmarks.data import events, text
from benchmarks.workload import DATAFRAME, MORISOT, RDD, Answer, Workload


class Event(NamedTuple):
    """A line of the Parquet file."""

    ts: datetime
    sensor: int
    reading: int
    word: str


def sliding(spark: SparkSession, path: Path) -> Answer:
    """Every event is in sixty windows."""
    import morisot as mo

    ctx = mo.StreamContext(spark)
    highest = (
        ctx.stream_parquet(str(path), Event)
        .add_timestamps(lambda event: event.ts)
        .group_by(lambda event: event.sensor)
        .window(mo.EventTimeWindow.sliding("60s", "1s"))
        .sum(lambda event: event.reading)
        .reduce_assoc(lambda a, b: max(a, b))
    )
    return {"highest": dict(highest.collect())}


def windowed_word_count(spark: SparkSession, path: Path) -> Answer:
    """Every ten occurrences of a word, beginning with every fifth."""
    import morisot as mo

    ctx = mo.StreamContext(spark)
    windows = (
        ctx.stream_file(str(path))
        .flat_map(lambda line: line.lower().split())
        .group_by(lambda word: word)
        .window(mo.CountWindow.sliding(10, 5))
        .count()
        .count()
    )
    return {"windows": dict(windows.collect())}


def top_words(spark: SparkSession, path: Path) -> Answer:
    """The counts of a minute have its end as timestamp, so those of one minute are a window again."""
    import morisot as mo

    ctx = mo.StreamContext(spark)
    top = (
        ctx.stream_parquet(str(path), Event)
        .add_timestamps(lambda event: event.ts)
        .group_by(lambda event: event.word)
        .window(mo.EventTimeWindow.sliding("60s", "10s"))
        .count()
        .unkey()
        .window_all(mo.EventTimeWindow.tumbling("10s"))
        .map(lambda counts: tuple(sorted(counts, key=lambda pair: (-pair[1], pair[0]))[:3]))
        .with_bounds()
    )
    return {"top": {window.start: window.value for window in top.collect()}}


SLIDING = Workload(
    name="sliding_windows",
    title="sliding windows, 60 an event",
    size=5_000_000,
    unit="events",
    prepare=events,
    variants={MORISOT: sliding, DATAFRAME: baseline.sliding, RDD: baseline.sliding_rdd},
    rdd_fraction=0.01,
)
WORD_COUNT = Workload(
    name="windowed_word_count",
    title="windowed word count",
    size=50_000_000,
    unit="bytes",
    prepare=text,
    variants={MORISOT: windowed_word_count, DATAFRAME: baseline.word_count, RDD: baseline.word_count_rdd},
    rdd_fraction=0.2,
)
TOP_WORDS = Workload(
    name="top_words",
    title="rolling top words",
    size=5_000_000,
    unit="events",
    prepare=events,
    variants={MORISOT: top_words, DATAFRAME: baseline.top_words, RDD: baseline.top_words_rdd},
    rdd_fraction=0.05,
)

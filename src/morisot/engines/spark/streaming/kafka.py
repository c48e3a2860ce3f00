"""Writes records to Kafka topics, at least once, and in stream order for each key."""

from __future__ import annotations

from pyspark.sql import DataFrame

from morisot.engines.spark.emit.core.emission import Emission
from morisot.engines.spark.emit.frames.frame import ROW_ORDER
from morisot.engines.spark.emit.python.in_order import ORDER, gathered, numbered
from morisot.engines.spark.emit.sources.kafka import client_options
from morisot.plan.nodes.sink import WriteKafka


def write(sink: WriteKafka, df: DataFrame, emission: Emission) -> None:
    """Writes the rows of a bounded stream."""
    if (
        emission.optimistic or emission.native_sources
    ):  # a native form may fail on the last element, and sent records stay
        df = emission.persist(sink, df)
        df.count()
    send(sink, df, emission)


def send(sink: WriteKafka, df: DataFrame, emission: Emission) -> None:
    """Sends the rows. Tasks send concurrently, so the rows of a key must be in one task."""
    columns = df.columns
    rows = df
    if "key" in columns:
        order = [ROW_ORDER, ORDER] if "at" in columns else [ORDER]
        rows = gathered(emission, numbered(df), ["key"], order)
    written = rows.select(*(name for name in ("key", "value") if name in columns))
    written.write.format("kafka").options(**client_options(sink), topic=sink.topic).save()

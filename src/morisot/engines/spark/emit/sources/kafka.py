"""Kafka topics as frames, by Spark's connector, which PySpark does not contain."""

from __future__ import annotations

import functools
import json

from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from morisot.engines.spark.emit.core.emission import Emission
from morisot.engines.spark.emit.frames.frame import ROW_ORDER, Frame, named
from morisot.engines.spark.emit.frames.sql import EPOCH, sql_text
from morisot.engines.spark.emit.frames.tables import BAD_ROW
from morisot.engines.spark.internals import kafka as client
from morisot.engines.spark.internals.causes import first_cause
from morisot.engines.spark.internals.kafka import Ends
from morisot.engines.spark.internals.names import coordinates
from morisot.errors import PlanError, SourceError
from morisot.plan.kafka import without_secrets
from morisot.plan.nodes.sink import WriteKafka
from morisot.plan.nodes.source import StreamKafka
from morisot.types.element import BYTES, Optional, Record, Type
from morisot.types.infer import without_none

_MOST_READ_ONE_BY_ONE = 64
_ROW_ORDER = (
    "concat(CAST(topic AS BINARY), X'00', unhex(lpad(hex(partition), 8, '0')), unhex(lpad(hex(offset), 16, '0')))"
)
_TIME = f"timestampadd(MICROSECOND, unix_micros(timestamp), {EPOCH})"
"""The timestamp in UTC, independent of the session's time zone."""


def require_connector(spark: SparkSession, node: StreamKafka | WriteKafka) -> None:
    """Raises an error for a plan with Kafka on a session without the connector."""
    try:
        reader = spark.read.format("kafka").option("kafka.bootstrap.servers", node.servers)
        # No connection is made: the columns are always the same.
        assert reader.option("subscribe", "any").load().columns
    except AnalysisException:
        package = coordinates("kafka", spark.version)
        raise PlanError(
            f"{node.operator} needs Spark's connector for Kafka, and this Spark session was started without it",
            location=node.location,
            advice='let Morisot start it with the connector, mo.StreamContext(config=mo.Config(packages=["kafka"])) or '
            f"MORISOT_PACKAGES=kafka; a session or a server of your own needs {package} in spark.jars.packages when it "
            "starts",
        ) from None


def client_options(node: StreamKafka | WriteKafka) -> dict[str, str]:
    """The connector's options of the Kafka client."""
    return {"kafka.bootstrap.servers": node.servers, **{f"kafka.{name}": each for name, each in node.settings.items()}}


# -- reading ----------------------------------------------------------------------------------------------------------


def records(node: StreamKafka, emission: Emission) -> Frame:
    """The records of the topics, partition by partition, in order within each partition."""
    rows = followed(node, emission) if node.unbounded else held(node, emission)
    values = named(expressions(node), node.type)
    if node.bounded or not emission.needs_order(node):
        return Frame(rows.selectExpr(*values), node.type)
    return Frame(rows.selectExpr(*values, f"{_ROW_ORDER} AS {ROW_ORDER}"), node.type, has_row_order=True)


def followed(node: StreamKafka, emission: Emission) -> DataFrame:
    """The records of the topics, and new ones."""
    end_offsets(node, emission.spark)  # a missing topic is an error now, and not when the query runs
    reader = emission.spark.readStream.format("kafka").options(**client_options(node))
    limits = [limit for limit in (node.records_per_batch, emission.query.trigger.elements) if limit is not None]
    if limits:
        reader = reader.option("maxOffsetsPerTrigger", min(limits))
    return reader.option("subscribe", ",".join(node.topics)).option("startingOffsets", node.starting).load()


def held(node: StreamKafka, emission: Emission) -> DataFrame:
    """The records that the topics have now."""
    spark, ordered = emission.spark, emission.is_ordered(node)
    ends = end_offsets(node, spark)
    if ends is None:
        rows = spark.read.format("kafka").options(**client_options(node), subscribe=",".join(node.topics)).load()
    elif ordered and len(ends) <= _MOST_READ_ONE_BY_ONE:
        # Spark reads each partition of a topic in one task, but the tasks have no order
        each = (read(node, spark, {partition: end}) for partition, end in ends.items())
        return functools.reduce(DataFrame.unionAll, each)
    else:
        rows = read(node, spark, ends)
    return rows.orderBy("topic", "partition", "offset") if ordered else rows


def read(node: StreamKafka, spark: SparkSession, ends: Ends) -> DataFrame:
    """The records of some partitions before the given offsets."""
    until: dict[str, dict[str, int]] = {}
    for (topic, partition), end in ends.items():
        until.setdefault(topic, {})[str(partition)] = end
    assigned = {topic: [int(partition) for partition in partitions] for topic, partitions in until.items()}
    reader = spark.read.format("kafka").options(**client_options(node), startingOffsets="earliest")
    return reader.options(assign=json.dumps(assigned), endingOffsets=json.dumps(until)).load()


def expressions(node: StreamKafka) -> list[str]:
    """The leaves of an element."""
    if not isinstance(node.type, Record):
        return [part(node, "value", node.type)]
    key, value, *_ = node.type.items
    own = ["topic", "CAST(partition AS BIGINT)", "offset", _TIME]
    return [part(node, "key", key), part(node, "value", value), *own]


def part(node: StreamKafka, column: str, type_: Type) -> str:
    """The key or the value of a record. One that does not fit the type stops the job."""
    plain = column if without_none(type_) == BYTES else f"CAST({column} AS STRING)"
    problems = []
    if not isinstance(type_, Optional):
        advice = f"read it with {column}={type_} | None"
        problems.append((f"{column} IS NULL", f"has no {column}; {advice}"))
    if plain != column:
        advice = f"read it with {column}=bytes"
        problems.append((f"NOT is_valid_utf8({plain})", f"has a {column} that is no text in UTF-8; {advice}"))
    if not problems:
        return plain
    whens = " ".join(f"WHEN {condition} THEN {stop(node, what)}" for condition, what in problems)
    return f"CASE {whens} ELSE {plain} END"


def stop(node: StreamKafka, what: str) -> str:
    """An expression that stops the job because of a record."""
    begin = sql_text(f"{BAD_ROW}{node.operator} ({node.location}): the record at offset ")
    where = f"{begin}, offset, ' of partition ', partition, ' of ', topic, {sql_text(f' {what}')}"
    return f"raise_error(concat({where}))"


# -- Kafka's own client -----------------------------------------------------------------------------------------------


def end_offsets(node: StreamKafka, spark: SparkSession) -> Ends | None:
    """The end offsets of the topics; None on Spark Connect, whose JVM is not accessible."""
    settings = {**node.settings, "bootstrap.servers": node.servers, "allow.auto.create.topics": "false"}
    try:
        return client.end_offsets(spark, settings, node.topics)
    except client.MissingTopics as missing:
        names = ", ".join(map(repr, missing.args))
        raise SourceError(f"{node.operator} ({node.location}) finds no topic {names} at {node.servers}") from None
    except Py4JJavaError as error:
        said = without_secrets(first_cause(error), [node])
        raise SourceError(f"{node.operator} ({node.location}) cannot read from {node.servers}: {said}") from None

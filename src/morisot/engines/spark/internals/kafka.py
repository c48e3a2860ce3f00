"""Kafka's client, in the JVM of a session with Spark's connector for Kafka."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from py4j.java_gateway import JavaClass

from morisot.engines.spark.internals.sessions import is_classic

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Ends = Mapping[tuple[str, int], int]
"""The offset after the last record of each partition of each topic, in their order."""

_READER = "org.apache.kafka.common.serialization.ByteArrayDeserializer"
_READERS = {"key.deserializer": _READER, "value.deserializer": _READER}


class MissingTopics(LookupError):  # noqa: N818 - the name describes the event
    """Kafka has no topics with these names."""

    def __init__(self, topics: Iterable[str]) -> None:
        super().__init__(*topics)


def end_offsets(spark: SparkSession, settings: Mapping[str, str], topics: Iterable[str]) -> Ends | None:
    """The end offsets of the topics; None on Spark Connect, whose JVM is not accessible."""
    if not is_classic(spark):
        return None
    jvm: Any = spark._jvm
    consumer_of = jvm.org.apache.kafka.clients.consumer.KafkaConsumer
    if not isinstance(consumer_of, JavaClass):  # py4j does not see a connector that was added to the session later
        return None
    consumer = consumer_of({**settings, **_READERS})
    try:
        found = {topic: consumer.partitionsFor(topic) or () for topic in topics}
        missing = [topic for topic, partitions in found.items() if not partitions]
        if missing:
            raise MissingTopics(missing)
        partition_of = jvm.org.apache.kafka.common.TopicPartition
        asked = [partition_of(each.topic(), each.partition()) for infos in found.values() for each in infos]
        ends = consumer.endOffsets(asked)
        return {
            (each.topic(), each.partition()): int(ends[each])
            for each in sorted(asked, key=lambda each: (each.topic(), each.partition()))
        }
    finally:
        consumer.close()

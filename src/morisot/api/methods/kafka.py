"""Kafka topics as a source. The sink is in `sink.py`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypedDict, TypeVar, Unpack, overload

from morisot.api import kafka
from morisot.api.base import check_batch_size
from morisot.api.location import caller
from morisot.plan.nodes.node import Node
from morisot.plan.nodes.source import Starting, StreamKafka

if TYPE_CHECKING:
    from morisot.api.stream import Stream
    from morisot.types.kafka import KafkaRecord

T = TypeVar("T")
K = TypeVar("K")
Names = str | Sequence[str]
"""One text, or several."""


class Reading(TypedDict, total=False):
    """The arguments on which the type of the elements does not depend."""

    starting: Starting
    unbounded: bool
    records_per_batch: int | None
    options: Mapping[str, Any] | None


class KafkaMethods:
    """Streams from Kafka."""

    if TYPE_CHECKING:

        def plain(self, node: Node) -> Stream[Any]: ...

    @overload
    def stream_kafka(
        self, servers: Names, topic: Names, *, record: Literal[False] = False, **how: Unpack[Reading]
    ) -> Stream[str]: ...
    @overload
    def stream_kafka(
        self, servers: Names, topic: Names, *, record: Literal[False] = False, value: type[T], **how: Unpack[Reading]
    ) -> Stream[T]: ...
    @overload
    def stream_kafka(
        self, servers: Names, topic: Names, *, record: Literal[True], **how: Unpack[Reading]
    ) -> Stream[KafkaRecord[str | None, str]]: ...
    @overload
    def stream_kafka(
        self, servers: Names, topic: Names, *, record: Literal[True], value: type[T], **how: Unpack[Reading]
    ) -> Stream[KafkaRecord[str | None, T]]: ...
    @overload
    def stream_kafka(
        self, servers: Names, topic: Names, *, record: Literal[True], key: type[K], **how: Unpack[Reading]
    ) -> Stream[KafkaRecord[K, str]]: ...
    @overload
    def stream_kafka(
        self,
        servers: Names,
        topic: Names,
        *,
        record: Literal[True],
        key: type[K],
        value: type[T],
        **how: Unpack[Reading],
    ) -> Stream[KafkaRecord[K, T]]: ...
    @overload
    def stream_kafka(
        self,
        servers: Names,
        topic: Names,
        *,
        record: bool = False,
        key: Any = None,
        value: Any = str,
        **how: Unpack[Reading],
    ) -> Stream[Any]: ...
    def stream_kafka(
        self,
        servers: Names,
        topic: Names,
        *,
        record: bool = False,
        key: Any = None,
        value: Any = str,
        starting: Starting = "earliest",
        unbounded: bool = False,
        records_per_batch: int | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> Stream[Any]:
        """The values of the records in Kafka topics, or with `record` the whole records, as `mo.KafkaRecord`.

        `key` and `value` are `str` or `bytes`. A bounded stream has the records that the topics have when the job
        starts. `options` are settings of the Kafka client, such as those for security, which are never shown.
        """
        where = kafka.checked_servers(servers, "stream_kafka")
        topics = kafka.checked_topics(topic, "stream_kafka")
        kafka.checked_starting(starting, "stream_kafka", unbounded)
        check_batch_size(records_per_batch, "records_per_batch", "stream_kafka", unbounded=unbounded, followed="topic")
        node = StreamKafka(
            where,
            topics,
            settings=kafka.checked_settings(options, "stream_kafka"),
            starting=starting,
            unbounded=unbounded,
            records_per_batch=records_per_batch,
            type=kafka.element_type(record, key, value),
            location=caller(),
        )
        return self.plain(node)

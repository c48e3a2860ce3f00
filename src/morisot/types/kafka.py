"""The class of Kafka records in users' functions."""

from __future__ import annotations

import datetime
from typing import Generic, NamedTuple, TypeVar

from morisot.types.public import public

K = TypeVar("K")
V = TypeVar("V")


@public
class KafkaRecord(NamedTuple, Generic[K, V]):
    """A record of a topic."""

    key: K
    value: V
    topic: str
    partition: int
    offset: int
    timestamp: datetime.datetime
    """When it was created, or appended by the broker, as the topic is configured; naive, in UTC."""

"""What users meet of Kafka inside their functions."""

from __future__ import annotations

import datetime
from typing import Generic, NamedTuple, TypeVar

from morisot.types.public import public

K = TypeVar("K")
V = TypeVar("V")


@public
class KafkaRecord(NamedTuple, Generic[K, V]):
    """A record as it lies in a topic."""

    key: K
    value: V
    topic: str
    partition: int
    offset: int
    timestamp: datetime.datetime
    """When it was made, or when the broker took it, as the topic is set; naive, in UTC."""

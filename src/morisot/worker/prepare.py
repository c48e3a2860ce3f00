"""Prepares a part of a batch for a parallel sink, in a worker."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from morisot.errors import Location, SinkError
from morisot.types.element import Type
from morisot.worker.codec.batches import decode


@dataclass(frozen=True)
class PrepareParts:
    """Given to mapInArrow: the elements of a partition are prepared at once. Its result is the receipt."""

    pickled: bytes
    """The sink."""
    operator: str
    location: Location
    type: Type
    batch: int
    first_attempt: int
    """A number that is above those of the attempts in earlier tries of the batch."""
    part: Callable[[int, int], Any]
    """Makes the description of the part of its number and its attempt."""
    numbers: Callable[[], tuple[int, int]]
    """Returns the partition and the attempt of the task."""

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        elements: list[Any] = []
        for batch in batches:
            elements.extend(decode(batch.columns, self.type))
        if not elements:
            return
        instance, attempt = self.numbers()
        receipt = self._prepared(elements, self.part(instance, self.first_attempt + attempt))
        yield pa.RecordBatch.from_arrays(
            [pa.array([instance], pa.int32()), pa.array([receipt], pa.binary())], ["instance", "receipt"]
        )

    def _prepared(self, elements: list[Any], part: Any) -> bytes:
        """The pickled receipt."""
        sink = pickle.loads(self.pickled)
        try:
            return pickle.dumps(sink.prepare(self.batch, elements, part))
        except Exception as error:
            raise SinkError(
                f"{self.operator} ({self.location}): {type(sink).__name__}.prepare of batch {self.batch}, part "
                f"{part.instance}, failed: {type(error).__name__}: {error}"
            ) from error

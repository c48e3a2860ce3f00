"""What Spark's state store is for processors: states and timers by operator and bucket, and the checkpoint of both."""

from __future__ import annotations

import marshal
from dataclasses import dataclass, field
from typing import Any

from tests.driver.sql import fields_of

Bucket = int
_BUILTINS: dict[str, tuple[type, ...]] = {"BINARY": (bytes, type(None)), "BIGINT": (int, type(None))}


@dataclass
class OperatorStore:
    """The states and the timers of one stateful operator."""

    states: dict[str, dict[Bucket, tuple[Any, ...]]] = field(default_factory=dict)
    """The values by the name of the state."""
    timers: set[tuple[int, Bucket]] = field(default_factory=set)

    def copied(self) -> OperatorStore:
        return OperatorStore({name: dict(values) for name, values in self.states.items()}, set(self.timers))

    def expired(self, until: int) -> list[tuple[int, Bucket]]:
        """The timers that are over at a time."""
        return sorted(timer for timer in self.timers if timer[0] <= until)


@dataclass
class Checkpoint:
    """What a job saves when a micro-batch is committed."""

    batch: int = 0
    """The number of the next micro-batch."""
    watermark: int = 0
    """In milliseconds; Spark begins with 0."""
    operators: dict[int, OperatorStore] = field(default_factory=dict)

    def copied(self) -> Checkpoint:
        operators = {number: store.copied() for number, store in self.operators.items()}
        return Checkpoint(self.batch, self.watermark, operators)

    def to_bytes(self) -> bytes:
        """Builtins only: `marshal` refuses everything else."""
        operators = {number: (store.states, sorted(store.timers)) for number, store in self.operators.items()}
        return marshal.dumps((self.batch, self.watermark, operators))

    @classmethod
    def from_bytes(cls, saved: bytes) -> Checkpoint:
        batch, watermark, operators = marshal.loads(saved)
        stores = {number: OperatorStore(states, set(timers)) for number, (states, timers) in operators.items()}
        return cls(batch, watermark, stores)


class ValueState:
    """One value for each bucket, of which that of the current one is read and written."""

    def __init__(self, values: dict[Bucket, tuple[Any, ...]], handle: Handle, schema: str) -> None:
        self._values = values
        self._handle = handle
        self._types = [_BUILTINS[part.split()[-1]] for part in schema.split(",")]
        assert len(fields_of(schema)) == len(self._types)

    def get(self) -> tuple[Any, ...] | None:
        return self._values.get(self._handle.bucket)

    def update(self, value: tuple[Any, ...]) -> None:
        for part, types in zip(value, self._types, strict=True):
            assert type(part) in types, f"a state of {types} is given {part!r}"
        self._values[self._handle.bucket] = value


class Handle:
    """What a processor asks for its states and timers: those of the bucket that it is called for."""

    def __init__(self, store: OperatorStore) -> None:
        self._store = store
        self.bucket: Bucket = -1

    def getValueState(self, name: str, schema: str) -> ValueState:  # noqa: N802 - Spark's name
        return ValueState(self._store.states.setdefault(name, {}), self, schema)

    def registerTimer(self, expiry: int) -> None:  # noqa: N802 - Spark's name
        assert type(expiry) is int
        assert 0 < expiry < 2**63, f"no timer is for {expiry}"
        self._store.timers.add((expiry, self.bucket))

    def deleteTimer(self, expiry: int) -> None:  # noqa: N802 - Spark's name
        assert (expiry, self.bucket) in self._store.timers, f"there is no timer for {expiry}"
        self._store.timers.remove((expiry, self.bucket))

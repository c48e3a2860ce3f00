"""Folds in Python, in two phases: each partition to partial results, then the partial results of a key to one.

Partial results have the row order of their first element, and are merged in row order. So an associative function gives
the result of a loop over the whole stream, even if it is not commutative.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from morisot.errors import Location
from morisot.types.element import ANY, BYTES, INT, Keyed, Tuple, Type
from morisot.worker.aggregate.accumulators import Mergeable
from morisot.worker.codec.batches import Dumps
from morisot.worker.codec.keys import canonical
from morisot.worker.report import failure
from morisot.worker.report.left_out import Account, Notes
from morisot.worker.report.origin import Origin, OwnFailure
from morisot.worker.rowwise.stage import Pipeline, decode_columns, encode_batch, policies, with_column
from morisot.worker.rowwise.steps import Step

ORIGIN_COLUMNS = ("partition", "sequence")
"""The columns with the row order of the first element of each key."""

_MOST_KEYS_HELD = 100_000
_OUTPUT_ROWS = 10_000


def partial_type(key: Type | None) -> Type:
    """The type of partial results: (partition, sequence, canonical key), key and accumulated value.

    The value is pickled: before the last merge an int may be beyond 64 bits. Only the result has to fit its type.
    """
    origin = Tuple((INT, INT, BYTES))
    return Tuple((origin, ANY)) if key is None else Tuple((origin, key, ANY))


@dataclass(frozen=True)
class PartialFold:
    """The first phase, given to mapInArrow: folds the elements of a partition to one partial result for each key."""

    steps: tuple[Step, ...]
    input: Type
    element: Type
    accumulator: Mergeable
    origin: Origin
    partition: Callable[[], int]
    dumps: Dumps
    account: Account | None = None

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        notes = Notes(self.dumps)
        pipeline = Pipeline(self.steps, notes)
        groups: dict[bytes, list[Any]] = {}
        sequence = 0
        for batch in batches:
            self.take(groups, pipeline.run(decode_columns(batch, self.input)), notes)
            if len(groups) > _MOST_KEYS_HELD:
                yield self.rows(groups, sequence)
                sequence += len(groups)
                groups.clear()
        if groups:
            yield self.rows(groups, sequence)
        if self.account is not None:
            own = [self.origin.policy] if self.origin.policy is not None else []
            self.account.settle([*policies(self.steps), *own], notes)

    def take(self, groups: dict[bytes, list[Any]], elements: list[Any], notes: Notes) -> None:
        """Fold the elements into the groups."""
        keyed = isinstance(self.element, Keyed)
        first, add = self.accumulator.first, self.accumulator.add
        for element in elements:
            try:
                key, value = element if keyed else (None, element)
                same = canonical(key)
                held = groups.get(same)
                if held is None:
                    groups[same] = [key, first(value)]
                else:
                    held[1] = add(held[1], value)
            except OwnFailure as own:
                self.origin.leave_out(value, own.__cause__ or own, notes)
            except Exception as error:
                raise self.origin.failed(element, error) from error

    def rows(self, groups: dict[bytes, list[Any]], sequence: int) -> pa.RecordBatch:
        partition = self.partition()
        origins = [(partition, number, same) for number, same in enumerate(groups, sequence)]
        key = self.element.key if isinstance(self.element, Keyed) else None
        if key is None:
            rows: list[Any] = [(o, held) for o, (_, held) in zip(origins, groups.values(), strict=True)]
        else:
            rows = [(o, k, held) for o, (k, held) in zip(origins, groups.values(), strict=True)]
        return encode_batch(rows, partial_type(key), self.dumps, self.origin.operator, self.origin.location)


@dataclass(frozen=True)
class MergeFold:
    """The second phase, given to mapInArrow: merges partial results, sorted by key and row order, to results."""

    key: Type | None
    output: Type
    accumulator: Mergeable
    origin: Origin
    dumps: Dumps
    ordered: bool = False
    """Whether the results have columns with the origin of the first element of their key."""

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        results: list[Any] = []
        origins: list[tuple[int, int]] = []
        current: tuple[tuple[int, int, bytes], Any, Any] | None = None
        for batch in batches:
            for origin, *key, held in decode_columns(batch, partial_type(self.key)):
                if current is not None and current[0][2] == origin[2]:
                    current = (current[0], current[1], self._merged(current[2], held))
                    continue
                if current is not None:
                    results.append(self._result(current))
                    origins.append(current[0][:2])
                current = (origin, key[0] if key else None, held)
            if len(results) >= _OUTPUT_ROWS:
                yield self._encoded(results, origins)
                results, origins = [], []
        if current is not None:
            results.append(self._result(current))
            origins.append(current[0][:2])
        if results:
            yield self._encoded(results, origins)

    def _merged(self, left: Any, right: Any) -> Any:
        try:
            return self.accumulator.merge(left, right)
        except Exception as error:
            shown = tuple(map(self.accumulator.finish, (left, right)))
            raise self.origin.failed(shown, error) from error

    def _result(self, current: tuple[Any, Any, Any]) -> Any:
        _, key, held = current
        try:
            value = self.accumulator.finish(held)
        except Exception as error:
            raise self.origin.failed(held, error) from error
        return value if self.key is None else (key, value)

    def _encoded(self, results: list[Any], origins: list[tuple[int, int]]) -> pa.RecordBatch:
        batch = encode_batch(results, self.output, self.dumps, self.origin.operator, self.origin.location)
        if self.ordered:
            for name, numbers in zip(ORIGIN_COLUMNS, zip(*origins, strict=True), strict=True):
                batch = with_column(batch, name, numbers)
        return batch


@dataclass(frozen=True)
class WithCanonical:
    """Given to mapInArrow: adds a column with the canonical bytes of the values in the first columns.

    Spark groups pickled keys by it, because the pickles of equal keys may differ.
    """

    part: Type
    operator: str
    location: Location | None
    dumps: Dumps

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            parts = decode_columns(batch, self.part)
            same = pa.array([self._canonical(part) for part in parts], pa.binary())
            yield pa.RecordBatch.from_arrays([*batch.columns, same], [*batch.schema.names, "canonical"])

    def _canonical(self, part: Any) -> bytes:
        try:
            return canonical(part)
        except Exception as error:
            raise failure.element_error(self.operator, self.location, part, error, 1) from error

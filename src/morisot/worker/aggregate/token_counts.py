"""Counts the results of row-wise steps for texts. The steps run once for each distinct token of the texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from morisot.errors import Location
from morisot.types.element import STR, Keyed, Type
from morisot.worker.codec.batches import Dumps
from morisot.worker.rowwise.stage import Pipeline, decode_columns, encode_batch
from morisot.worker.rowwise.steps import Step

_TEXT_BYTES = 32 * 2**20
"""The size of the texts whose tokens are counted together."""
_MOST_HELD = 500_000
"""The most results and tokens that a task holds."""


@dataclass
class _Held:
    """The counts of a task, and the results of the steps for tokens that may occur again."""

    counts: dict[Any, int] = field(default_factory=dict)
    results: dict[str, tuple[Any, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class TokenCounts:
    """Given to mapInArrow: one row for each result of the steps in a partition, or for all of them without keys.

    The rows are in the order of the first occurrences of the results. Counts of a result may be in several rows.
    """

    steps: tuple[Step, ...]
    separator: str | None
    """None: white space."""
    output: Type
    dumps: Dumps
    operator: str
    location: Location | None
    text_bytes: int = _TEXT_BYTES
    most_held: int = _MOST_HELD

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        held = _Held()
        for texts in together(batches, self.text_bytes):
            self._take(texts, held)
            if len(held.results) > self.most_held:
                held.results.clear()
            if len(held.counts) > self.most_held:
                yield self._rows(held.counts)
                held.counts.clear()
        if held.counts:
            yield self._rows(held.counts)

    def _take(self, texts: Sequence[Any], held: _Held) -> None:
        found = pa.chunked_array([self._tokens(each) for each in texts], pa.string()).value_counts()
        tokens: list[Any] = found.field("values").to_pylist()
        times: list[Any] = found.field("counts").to_pylist()
        counts, results = held.counts, held.results
        new: list[tuple[str, tuple[str, int]]] = []
        for token, number in zip(tokens, times, strict=True):
            known = results.get(token)
            if known is None:
                new.append((token, (token, number)))
                continue
            for result in known:
                counts[result] = counts.get(result, 0) + number
        self._take_new(new, texts, held)

    def _tokens(self, texts: Any) -> Any:
        if self.separator is None:
            return pc.ascii_split_whitespace(texts).flatten()
        return pc.split_pattern(texts, self.separator).flatten()

    def _take_new(self, tokens: list[tuple[str, tuple[str, int]]], texts: Sequence[Any], held: _Held) -> None:
        """Calls the steps for new tokens, and keeps the results of those that occur more than once.

        If a function fails on a token, it fails on a text with that token.
        """
        try:
            emitted = Pipeline(self.steps, numbered=True).run(tokens)
        except Exception:
            for each in texts:
                Pipeline(self.steps).run(decode_columns(pa.RecordBatch.from_arrays([each], ["value"]), STR))
            raise
        counts, results = held.counts, held.results
        results.update((token, ()) for token, (_, number) in tokens if number > 1)
        keyed = isinstance(self.output, Keyed)
        for element, (token, number) in emitted:
            result = element[0] if keyed else None
            counts[result] = counts.get(result, 0) + number
            if number > 1:
                results[token] = (*results[token], result)

    def _rows(self, counts: dict[Any, int]) -> pa.RecordBatch:
        rows: list[Any] = list(counts.items() if isinstance(self.output, Keyed) else counts.values())
        return encode_batch(rows, self.output, self.dumps, self.operator, self.location)


def together(batches: Iterator[Any], size: int) -> Iterator[list[Any]]:
    """The first columns of batches, in groups of at least `size` bytes."""
    texts: list[Any] = []
    held = 0
    for batch in batches:
        texts.append(batch.column(0))
        held += batch.column(0).nbytes
        if held >= size:
            yield texts
            texts, held = [], 0
    if texts:
        yield texts

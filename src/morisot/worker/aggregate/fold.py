"""Folds in Python, in two phases: each partition to partial results, then the partial results of a key to one.

Partial results carry where they come from, and are merged in that order. So an associative function gives what a
loop over the whole stream would give, even if it is not commutative.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa

from morisot.errors import ElementError, Location
from morisot.types.element import BYTES, INT, Keyed, Tuple, Type
from morisot.worker.codec.batches import Dumps
from morisot.worker.codec.keys import canonical
from morisot.worker.codec.stored import Form, form_of, loose_form_of, of_parts
from morisot.worker.report import failure
from morisot.worker.report.left_out import Account, Notes, Policy
from morisot.worker.rowwise.stage import Pipeline, Step, decode_columns, encode_batch, policies, with_column

PLACE_COLUMNS = ("partition", "sequence")
"""Where the first element of a result's key stands in the stream, for those who need the order."""

_MOST_KEYS_HELD = 100_000
_OUTPUT_ROWS = 10_000


class Folding(Protocol):
    """What an aggregate does with elements of one key."""

    def start(self, element: Any) -> Any:
        """The accumulator of the first element."""

    def add(self, accumulator: Any, element: Any) -> Any:
        """The accumulator after one more element."""

    def merge(self, left: Any, right: Any) -> Any:
        """The accumulator of two partial ones, the earlier first."""

    def finish(self, accumulator: Any) -> Any:
        """The result."""


@dataclass(frozen=True)
class Reducing:
    """Elements combined two by two."""

    function: Callable[[Any, Any], Any]

    def start(self, element: Any) -> Any:
        return element

    def add(self, accumulator: Any, element: Any) -> Any:
        return self.function(accumulator, element)

    def merge(self, left: Any, right: Any) -> Any:
        return self.function(left, right)

    def finish(self, accumulator: Any) -> Any:
        return accumulator


@dataclass(frozen=True)
class FoldingFrom:
    """A fold from a start value; every key and partition gets a copy of it, so that a list may be the start."""

    init: Any
    local: Callable[[Any, Any], Any]
    combine: Callable[[Any, Any], Any]

    def start(self, element: Any) -> Any:
        return self.local(copy.deepcopy(self.init), element)

    def add(self, accumulator: Any, element: Any) -> Any:
        return self.local(accumulator, element)

    def merge(self, left: Any, right: Any) -> Any:
        return self.combine(left, right)

    def finish(self, accumulator: Any) -> Any:
        return accumulator


@dataclass(frozen=True)
class Summing:
    """Python's sum() of a value of each element."""

    value: Callable[[Any], Any]

    def start(self, element: Any) -> Any:
        return 0 + self.value(element)

    def add(self, accumulator: Any, element: Any) -> Any:
        return accumulator + self.value(element)

    def merge(self, left: Any, right: Any) -> Any:
        return left + right

    def finish(self, accumulator: Any) -> Any:
        return accumulator


@dataclass(frozen=True)
class Averaging:
    """The sum of a value of each element, divided by how many there are."""

    value: Callable[[Any], Any]

    def start(self, element: Any) -> Any:
        return 0 + self.value(element), 1

    def add(self, accumulator: Any, element: Any) -> Any:
        return accumulator[0] + self.value(element), accumulator[1] + 1

    def merge(self, left: Any, right: Any) -> Any:
        return left[0] + right[0], left[1] + right[1]

    def finish(self, accumulator: Any) -> Any:
        return accumulator[0] / accumulator[1]


@dataclass(frozen=True)
class Choosing:
    """The element with the smallest (or largest) value, of equals the first: what min() and max() give.

    Nothing is smaller or larger than NaN, and NaN is neither: as the first value it wins, later it never does.
    The accumulator is the first (value, element) and the best one so far.
    """

    value: Callable[[Any], Any]
    largest: bool

    def start(self, element: Any) -> Any:
        first = (self.value(element), element)
        return first, first

    def add(self, accumulator: Any, element: Any) -> Any:
        return self.merge(accumulator, self.start(element))

    def merge(self, left: Any, right: Any) -> Any:
        return left[0], self._better(left[1], right[1])

    def _better(self, left: Any, right: Any) -> Any:
        if left[0] != left[0]:
            return right
        better = right[0] > left[0] if self.largest else right[0] < left[0]
        return right if better else left

    def finish(self, accumulator: Any) -> Any:
        first, best = accumulator
        return first[1] if first[0] != first[0] else best[1]


def form_of_folding(folding: Folding, result: Type) -> Form | None:
    """How an accumulator is stored, by the type of the result."""
    match folding:
        case Reducing() | FoldingFrom():
            return loose_form_of(result)
        case Choosing():
            found = of_parts([None, form_of(result)])  # the value, which is the user's, and the element
            return of_parts([found, found])
        case _:
            return None


class OwnFailure(Exception):  # noqa: N818 - it is caught and named by whoever knows the operator
    """A function failed on an element: the `__cause__` says how."""


@dataclass(frozen=True)
class OnElement:
    """A function whose failure is that of the element it got, not one of adding up or comparing."""

    function: Callable[..., Any]

    def __call__(self, *arguments: Any) -> Any:
        try:
            return self.function(*arguments)
        except Exception as error:
            raise OwnFailure from error


@dataclass(frozen=True)
class Fold:
    """A folding together with the operator it belongs to."""

    folding: Folding
    operator: str
    location: Location | None
    policy: Policy | None = None
    """What happens to an element on which an `OnElement` function fails; None: the job stops."""

    def failed(self, element: Any, error: BaseException) -> ElementError:
        return failure.element_error(self.operator, self.location, element, error, 1)


def partial_type(key: Type | None, accumulator: Type) -> Type:
    """Partial results travel as (partition, sequence, canonical key), key and accumulator."""
    origin = Tuple((INT, INT, BYTES))
    return Tuple((origin, accumulator)) if key is None else Tuple((origin, key, accumulator))


@dataclass(frozen=True)
class PartialFold:
    """The first phase, given to mapInArrow: the elements of a partition to one partial result per key."""

    steps: tuple[Step, ...]
    input: Type
    element: Type
    accumulator: Type
    fold: Fold
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
            own = [self.fold.policy] if self.fold.policy is not None else []
            self.account.settle([*policies(self.steps), *own], notes)

    def take(self, groups: dict[bytes, list[Any]], elements: list[Any], notes: Notes) -> None:
        """Fold the elements into the groups."""
        keyed = isinstance(self.element, Keyed)
        folding = self.fold.folding
        for element in elements:
            try:
                key, value = element if keyed else (None, element)
                same = canonical(key)
                held = groups.get(same)
                if held is None:
                    groups[same] = [key, folding.start(value)]
                else:
                    held[1] = folding.add(held[1], value)
            except OwnFailure as own:
                assert self.fold.policy is not None
                notes.add(self.fold.policy, value, own.__cause__)
            except Exception as error:
                raise self.fold.failed(element, error) from error

    def rows(self, groups: dict[bytes, list[Any]], sequence: int) -> pa.RecordBatch:
        partition = self.partition()
        origins = [(partition, place, same) for place, same in enumerate(groups, sequence)]
        key = self.element.key if isinstance(self.element, Keyed) else None
        if key is None:
            rows: list[Any] = [(o, acc) for o, (_, acc) in zip(origins, groups.values(), strict=True)]
        else:
            rows = [(o, k, acc) for o, (k, acc) in zip(origins, groups.values(), strict=True)]
        type_ = partial_type(key, self.accumulator)
        return encode_batch(rows, type_, self.dumps, self.fold.operator, self.fold.location)


@dataclass(frozen=True)
class MergeFold:
    """The second phase, given to mapInArrow: partial results, sorted by key and origin, to results."""

    key: Type | None
    accumulator: Type
    output: Type
    fold: Fold
    dumps: Dumps
    ordered: bool = False
    """Whether the results are to say where the first element of their key stands."""

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        results: list[Any] = []
        places: list[tuple[int, int]] = []
        held: tuple[tuple[int, int, bytes], Any, Any] | None = None
        for batch in batches:
            for origin, *key, accumulator in decode_columns(batch, partial_type(self.key, self.accumulator)):
                if held is not None and held[0][2] == origin[2]:
                    held = (held[0], held[1], self._merged(held[2], accumulator))
                    continue
                if held is not None:
                    results.append(self._result(held))
                    places.append(held[0][:2])
                held = (origin, key[0] if key else None, accumulator)
            if len(results) >= _OUTPUT_ROWS:
                yield self._encoded(results, places)
                results, places = [], []
        if held is not None:
            results.append(self._result(held))
            places.append(held[0][:2])
        if results:
            yield self._encoded(results, places)

    def _merged(self, left: Any, right: Any) -> Any:
        try:
            return self.fold.folding.merge(left, right)
        except Exception as error:
            shown = tuple(map(self.fold.folding.finish, (left, right)))
            raise self.fold.failed(shown, error) from error

    def _result(self, held: tuple[Any, Any, Any]) -> Any:
        try:
            value = self.fold.folding.finish(held[2])
        except Exception as error:
            raise self.fold.failed(held[2], error) from error
        return value if self.key is None else (held[1], value)

    def _encoded(self, results: list[Any], places: list[tuple[int, int]]) -> pa.RecordBatch:
        batch = encode_batch(results, self.output, self.dumps, self.fold.operator, self.fold.location)
        if self.ordered:
            for name, numbers in zip(PLACE_COLUMNS, zip(*places, strict=True), strict=True):
                batch = with_column(batch, name, numbers)
        return batch


@dataclass(frozen=True)
class WithCanonical:
    """Given to mapInArrow: each batch with one more column, the canonical bytes of what its first columns are.

    Spark then groups keys that travel pickled: their bytes differ although Python calls them equal.
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

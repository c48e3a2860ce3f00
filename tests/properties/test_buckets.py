"""The states of a bucket, without a JVM: in any micro-batches, the elements of a key have one state, in order."""

from __future__ import annotations

import datetime
import itertools
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark import cloudpickle

from morisot.types.element import ANY, DATE, FLOAT, INT, STR, Keyed, Tuple
from morisot.worker.aggregate.accumulators import ListAccumulator
from morisot.worker.codec.batches import encode, schema_of
from morisot.worker.codec.ipc import unpack_batch
from morisot.worker.codec.keys import canonical
from morisot.worker.report.origin import Origin
from morisot.worker.stateful.buckets import Bucket, PackBuckets
from morisot.worker.stateful.count_windows import TumblingCount
from morisot.worker.stateful.machine import Machine
from morisot.worker.stateful.state import RichMachine
from morisot.worker.stateful.windows import Counted, Windows

ORIGIN = Origin("window", None)
KEYS: dict[str, tuple[Any, list[Any]]] = {
    "int": (INT, [1, -2, 3]),
    "str": (STR, ["", "a", "ä"]),
    "date": (DATE, [datetime.date(2024, 1, 1), datetime.date(1960, 1, 1)]),
    "pair": (Tuple((STR, INT)), [("a", 1), ("a", 2)]),
    "float": (FLOAT, [0.0, -0.0, float("nan"), 2.5]),
    "object": (ANY, [1, 1.0, "a", None, (1, 2)]),
}


def packed(elements: list[tuple[Any, int]], type_: Any, micro_batch: int) -> bytes:
    """The elements as a task packs them for their bucket."""
    columns = encode(elements, type_, cloudpickle.dumps)
    files, buckets = pa.array([b""] * len(elements), pa.binary()), pa.array([0] * len(elements), pa.int32())
    batch = pa.RecordBatch.from_arrays([*columns, files, buckets], names=[*schema_of(type_).names, "at", "bucket"])
    (result,) = PackBuckets(lambda: (micro_batch, 0))(iter([batch]))
    rows: bytes
    (rows,) = result.column("rows").to_pylist()
    return rows


def results(machine: Machine, type_: Any, batches: list[list[tuple[Any, int]]], *, ends: bool = False) -> list[str]:
    """What the machine gives, in order, when the elements come in these micro-batches, and perhaps the stream ends."""
    output = Keyed(type_.key, STR)
    bucket = Bucket(
        machine, ORIGIN, type_, output, cloudpickle.dumps, False, False, by_key=True, running=False, ordered=True
    )
    saved: bytes | None = None
    found: list[str] = []
    for number, batch in enumerate(batches):
        given_batch, _, saved = bucket([packed(batch, type_, number)], saved)
        found += rows_of(given_batch)
    if ends:
        given_batch, _, saved = bucket([], saved, ends=True)
        found += sorted(rows_of(given_batch))
        assert bucket([], saved, ends=True)[0] is None  # the end comes once
        assert bucket([], None, ends=True) == (None, None, None)
    return found


def rows_of(given_batch: bytes | None) -> list[Any]:
    return [] if given_batch is None else unpack_batch(given_batch).sort_by("at").column("value").to_pylist()


def note(state: list[int] | None, key: Any, value: int) -> tuple[list[int] | None, str]:
    """A state that is None again after three elements."""
    seen = [*(state or []), value]
    return (None if len(seen) == 3 else seen), str(seen)


def test_each_key_meets_its_own_state() -> None:
    batches = [[(1, 10), (2, 20)], [(1, 11)], [(1, 12), (2, 21), (1, 13)]]
    found = results(RichMachine([], note, True, "map", ORIGIN), Keyed(INT, INT), batches)
    assert found == ["[10]", "[20]", "[10, 11]", "[10, 11, 12]", "[20, 21]", "[13]"]


@pytest.mark.parametrize("name", KEYS)
@pytest.mark.parametrize("machine", ["rich", "tumbling"])
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_micro_batches_make_no_difference(name: str, machine: str, data: Any) -> None:
    key_type, keys = KEYS[name]
    type_ = Keyed(key_type, INT)
    picks = data.draw(st.lists(st.integers(0, len(keys) - 1), min_size=1, max_size=25))
    elements = [(keys[pick], number) for number, pick in enumerate(picks)]
    cuts = sorted({0, len(elements), *data.draw(st.lists(st.integers(0, len(elements)), max_size=4))})
    batches = [elements[begin:end] for begin, end in itertools.pairwise(cuts)]
    made: Machine = (
        RichMachine([], note, True, "map", ORIGIN)
        if machine == "rich"
        else TumblingCount(2, (ListAccumulator(str),), None, False, False, ORIGIN)
    )
    assert results(made, type_, batches) == results(made, type_, [elements])


@pytest.mark.parametrize("name", KEYS)
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_the_end_completes_the_windows_of_every_key(name: str, data: Any) -> None:
    """Also of keys whose identity is not the key itself, and in a state that was stored."""
    key_type, keys = KEYS[name]
    type_ = Keyed(key_type, INT)
    picks = data.draw(st.lists(st.integers(0, len(keys) - 1), min_size=1, max_size=25))
    elements = [(keys[pick], number) for number, pick in enumerate(picks)]
    cut = data.draw(st.integers(0, len(elements) - 1))
    machine = Windows(Counted(3, 3, exact=False), (ListAccumulator(str),), None, False, False, ORIGIN, keeps_keys=True)
    found = results(machine, type_, [each for each in (elements[:cut], elements[cut:]) if each], ends=True)
    by_key: dict[bytes, list[int]] = {}
    for key, number in elements:
        by_key.setdefault(canonical(key), []).append(number)
    expected = [str(own[begin : begin + 3]) for own in by_key.values() for begin in range(0, len(own), 3)]
    assert sorted(found) == sorted(expected)


@given(st.integers(1, 5), st.lists(st.tuples(st.sampled_from([1, 2]), st.integers(0, 9)), min_size=1, max_size=30))
@settings(max_examples=30, deadline=None)
def test_tumbling_windows_are_windows_that_slide_by_their_size(size: int, elements: list[tuple[int, int]]) -> None:
    lean = TumblingCount(size, (ListAccumulator(str),), None, False, False, ORIGIN)
    general = Windows(Counted(size, size, exact=True), (ListAccumulator(str),), None, False, False, ORIGIN)
    batches = [elements[:7], elements[7:]] if len(elements) > 7 else [elements]
    assert results(lean, Keyed(INT, INT), batches) == results(general, Keyed(INT, INT), batches)

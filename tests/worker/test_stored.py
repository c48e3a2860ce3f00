"""States hold builtins and Arrow: no class of Morisot, and records of known types field by field."""

from __future__ import annotations

import collections
import dataclasses
import importlib
import inspect
import pickle
import pkgutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark import cloudpickle

import morisot as mo
import morisot.worker
from morisot.types.element import ANY, INT, STR, Dict, Keyed, List, Optional, Record, Tuple, Type
from morisot.types.infer import row_type
from morisot.worker.aggregate.accumulators import (
    CountAccumulator,
    ExtremeAccumulator,
    FoldAccumulator,
    ListAccumulator,
    MeanAccumulator,
    MergeableExtremeAccumulator,
    MergeableFoldAccumulator,
    ReduceAccumulator,
    SeparateFailures,
    SkippingAccumulator,
    SumAccumulator,
    earlier,
    itself,
)
from morisot.worker.codec.batches import Dumps, decode, encode, schema_of
from morisot.worker.codec.ipc import pack_batch, unpack_batch
from morisot.worker.codec.stored import NOTHING, Form, Layout, form_of, form_of_identities, loose_form_of
from morisot.worker.loops.task import TaskElements
from morisot.worker.replicas.replica import Placed
from morisot.worker.replicas.tasks import NO_MICRO_BATCH, Calls, NumberMachine, ReplicaMachine, TaskNow
from morisot.worker.report.left_out import LeftOut
from morisot.worker.report.origin import Origin
from morisot.worker.stateful.buckets import Bucket
from morisot.worker.stateful.count_windows import TumblingCount
from morisot.worker.stateful.interval_joins import IntervalJoinMachine, JoinBucket, Pairing, WindowJoinBucket
from morisot.worker.stateful.machine import Machine
from morisot.worker.stateful.pairs import CountedPairs, Zipper
from morisot.worker.stateful.state import Firsts, FoldMachine, Limiter, RichMachine, Sorter
from morisot.worker.stateful.time_windows import Measuring, Sessions, Sliding
from morisot.worker.stateful.timers import Moment, ReorderBucket, TimeMachine, WindowBucket
from morisot.worker.stateful.unique_within import DeduplicateBucket, DeduplicateByTime, DeduplicateWithin
from morisot.worker.stateful.windows import Counted, Everything, LastFew, Own, Transactions, Windows
from tests.pickles import globals_in, own_globals_in


class Point(NamedTuple):
    x: int
    y: int


@dataclasses.dataclass(frozen=True)
class Place:
    name: str
    point: Point


POINT = Record(Point, ("x", "y"), (INT, INT))
PLACE = Record(Place, ("name", "point"), (STR, POINT))
WINDOWED = Record(mo.Windowed, mo.Windowed._fields, (INT, INT, PLACE))
ELEMENT = Keyed(PLACE, WINDOWED)
SIDES = Keyed(PLACE, Tuple((INT, Optional(WINDOWED), Optional(WINDOWED))))
NUMBERED = Keyed(PLACE, Tuple((INT, WINDOWED)))
PLACED = Keyed(PLACE, Tuple((PLACE, WINDOWED)))
ORIGIN = Origin("operator", None)
DUMPS: Dumps = cloudpickle.dumps


def place(number: int) -> Place:
    return Place(f"town {number % 2}", Point(number % 2, 0))


def windowed(number: int) -> mo.Windowed[int, Place]:
    return mo.Windowed(number, number + 10, place(number))


def element(number: int) -> tuple[Any, Any]:
    return place(number), windowed(number)


def on_a_side(number: int) -> tuple[Any, Any]:
    side = number // 2 % 2
    return place(number), (side, None if side else windowed(number), windowed(number) if side else None)


def numbered(number: int) -> tuple[Any, Any]:
    return place(number), (number, windowed(number))


def placed(number: int) -> tuple[Any, Any]:
    return place(number), (place(number), windowed(number))


INPUTS: dict[Callable[[int], Any], Type] = {element: ELEMENT, on_a_side: SIDES, numbered: NUMBERED, placed: PLACED}
"""The type of the elements that a function makes."""


# -- machines ---------------------------------------------------------------------------------------------------------


def start(window: Any) -> Any:
    return window.start


def newest(old: Any, new: Any) -> Any:
    return new


def failing(old: Any, new: Any) -> Any:
    return new if new.start % 3 else 1 // 0


class ByThree(mo.CustomWindow[Any, int]):
    def start(self) -> int:
        return 0

    def assign(self, state: int, element: Any, time: Any) -> mo.Assigned:
        number = state // 3
        return mo.Assigned(state + 1, (number,), (number,) if state % 3 == 2 else ())


def verdict(window: Any) -> mo.Tx:
    return mo.Tx.COMMIT if window.start % 7 == 6 else mo.Tx.NONE


MEASURES: tuple[Any, ...] = (
    CountAccumulator(),
    SumAccumulator(start),
    MeanAccumulator(start),
    ExtremeAccumulator(start, largest=True, whole=True, type=WINDOWED),
    ExtremeAccumulator(itself, largest=False, whole=False, type=WINDOWED),
    ReduceAccumulator(earlier, WINDOWED, exact=True),
    FoldAccumulator(None, newest, WINDOWED),
    ReduceAccumulator(newest, WINDOWED),
    ListAccumulator(list, WINDOWED),
    SkippingAccumulator(ReduceAccumulator(failing, WINDOWED), "fold", None, True, cloudpickle.dumps, WINDOWED),
)


def together(*parts: Any) -> tuple[Any, ...]:
    return parts


def windows(windower: Any) -> Windows:
    return Windows(windower, MEASURES, together, True, False, ORIGIN)


class Seen(mo.Operator[Any, Any]):
    def process(self, window: Any, message: mo.Message) -> list[Any]:
        self.store["seen"] = [*self.store.get("seen", []), window.start]
        return [(place(window.start), self.store["seen"])]


CALLS = Calls(
    Placed("run", 0, 2, Seen().process, None), ORIGIN, ANY, 1, "map", False, lambda: TaskNow(NO_MICRO_BATCH, False)
)


def remembered(state: list[int], key: Any, value: Any) -> tuple[list[int], int]:
    return [*state[-2:], value.start], len(state)


MEASURING = Measuring(MEASURES, together, INT, True, True, ORIGIN, WINDOWED)
MERGED_FOLD = MergeableFoldAccumulator(None, newest, WINDOWED, merge=newest)
PAIRING = Pairing(INT, True, True, ORIGIN, PLACE, Optional(WINDOWED), Optional(WINDOWED))
IN_BUCKETS: dict[str, tuple[Machine, Callable[[int], Any]]] = {
    "fold": (FoldMachine("fold", FoldAccumulator(None, newest, WINDOWED), ORIGIN), element),
    "reduce": (FoldMachine("reduce", ReduceAccumulator(newest, WINDOWED), ORIGIN), element),
    "sum": (FoldMachine("aggregate", SumAccumulator(start), ORIGIN), element),
    "avg": (FoldMachine("aggregate", MeanAccumulator(start), ORIGIN), element),
    "max": (FoldMachine("aggregate", MergeableExtremeAccumulator(MEASURES[3]), ORIGIN), element),
    "reduce_assoc": (FoldMachine("aggregate", ReduceAccumulator(newest, WINDOWED), ORIGIN), element),
    "fold_assoc": (FoldMachine("aggregate", MERGED_FOLD, ORIGIN), element),
    "first": (Firsts(), element),
    "rich": (RichMachine([], remembered, True, "map", ORIGIN), element),
    "limit": (Limiter(3, 1), element),
    "count": (windows(Counted(3, 2, exact=True)), element),
    "last": (windows(LastFew(2)), element),
    "all": (windows(Everything()), element),
    "transactions": (windows(Transactions(verdict, None)), element),
    "custom": (windows(Own(ByThree(), None)), element),
    "tumbling": (TumblingCount(3, MEASURES, together, True, False, ORIGIN), element),
    "zip": (Zipper(Optional(WINDOWED), Optional(WINDOWED)), on_a_side),
    "replica": (ReplicaMachine(CALLS, stored=True), numbered),
    "numbers": (NumberMachine(keyed=True), placed),
    "pairs": (CountedPairs(2, 1, Optional(WINDOWED), Optional(WINDOWED)), on_a_side),
}
WITH_TIME: dict[str, tuple[TimeMachine, type[WindowBucket], Callable[[int], Any]]] = {
    "sliding": (Sliding(6, 3, 0, MEASURING, PLACE), WindowBucket, element),
    "sessions": (Sessions(2, MEASURING, PLACE), WindowBucket, element),
    "sliding join": (Sliding(6, 3, 0, PAIRING, PLACE), WindowJoinBucket, on_a_side),
    "sessions join": (Sessions(2, PAIRING, PLACE), WindowJoinBucket, on_a_side),
    "join": (IntervalJoinMachine(3, 3, "outer", PLACE, Optional(WINDOWED), Optional(WINDOWED)), JoinBucket, on_a_side),
    "deduplicate": (DeduplicateByTime(5, PLACE), DeduplicateBucket, element),
}
BOUNDED_ONLY = {DeduplicateWithin, Sorter}
"""Their states are never stored."""


def batch_of(numbers: Sequence[int], make: Callable[[int], Any]) -> bytes:
    """Elements as they come to a bucket, with a timestamp and their row order."""
    type_ = INPUTS[make]
    columns = encode([make(number) for number in numbers], type_, cloudpickle.dumps)
    time = pa.array(numbers, pa.int64())
    at = pa.array([number.to_bytes(8, "big") for number in numbers], pa.binary())
    names = [*schema_of(type_).names, "time", "at"]
    return pack_batch(pa.RecordBatch.from_arrays([*columns, time, at], names=names))


def given_by(results: bytes | None) -> list[Any]:
    """What a bucket gave, in the order of the stream."""
    if results is None:
        return []
    batch = unpack_batch(results).sort_by("at")
    return decode(batch.columns[: len(schema_of(Keyed(PLACE, ANY)))], Keyed(PLACE, ANY))


def run_bucket(name: str, batches: Sequence[Sequence[int]]) -> tuple[list[Any], list[bytes]]:
    machine, make = IN_BUCKETS[name]
    bucket = Bucket(
        machine, ORIGIN, INPUTS[make], Keyed(PLACE, ANY), cloudpickle.dumps, False, False, True, False, True
    )
    results: list[Any] = []
    states: list[bytes] = []
    for numbers in batches:
        given_results, _, state = bucket([batch_of(numbers, make)], states[-1] if states else None)
        results += given_by(given_results)
        assert state is not None
        states.append(state)
    return results, states


def run_with_time(name: str, batches: Sequence[Sequence[int]]) -> tuple[list[Any], list[bytes]]:
    machine, kind, make = WITH_TIME[name]
    bucket = kind(machine, ORIGIN, INPUTS[make], Keyed(PLACE, ANY), cloudpickle.dumps, True, True, True)
    results: list[Any] = []
    states: list[bytes] = []
    for numbers in batches:
        mark = numbers[0] - 1
        outcome = bucket([batch_of(numbers, make)], states[-1] if states else None, Moment(mark))
        results += given_by(outcome.results)
        states.append(outcome.state)
    end = bucket([], states[-1], Moment(10**6))
    return [*results, *given_by(end.results)], [*states, end.state]


NUMBERS = range(24)
BATCHES = [NUMBERS[0:1], NUMBERS[1:6], NUMBERS[6:7], NUMBERS[7:24]]


@pytest.mark.parametrize("name", IN_BUCKETS)
def test_states_of_keys_hold_no_class_of_ours(name: str) -> None:
    results, states = run_bucket(name, BATCHES)
    assert [own_globals_in(state) for state in states] == [[]] * len(BATCHES)
    assert {each for state in states for each in globals_in(state)} <= {"builtins object"}
    assert sorted(results, key=repr) == sorted(run_bucket(name, [NUMBERS])[0], key=repr)


@pytest.mark.parametrize("name", WITH_TIME)
def test_states_that_wait_for_time_hold_no_class_of_ours(name: str) -> None:
    results, states = run_with_time(name, BATCHES)
    assert len(results) >= 2
    assert [own_globals_in(state) for state in states] == [[]] * (len(BATCHES) + 1)
    assert {each for state in states for each in globals_in(state)} <= {"builtins object"}
    assert sorted(results, key=repr) == sorted(run_with_time(name, [NUMBERS])[0], key=repr)


def test_rows_that_wait_for_their_order_hold_no_class_of_ours() -> None:
    bucket = ReorderBucket(ELEMENT, direct=True, keep_late=False)
    outcome = bucket([batch_of([1, 2, 3], element)], None, Moment(1))
    assert globals_in(outcome.state) == set()
    after = bucket([], outcome.state, Moment(9))
    assert after.results is not None
    assert unpack_batch(after.results).column("time").to_pylist() == [2, 3]


def test_every_machine_is_tested() -> None:
    modules = [
        importlib.import_module(each.name) for each in pkgutil.walk_packages(morisot.worker.__path__, "morisot.worker.")
    ]
    found = {
        cls
        for module in modules
        for cls in vars(module).values()
        if inspect.isclass(cls) and dataclasses.is_dataclass(cls) and hasattr(cls, "layout")
    }
    tested = {type(machine) for machine, *_ in (*IN_BUCKETS.values(), *WITH_TIME.values())}
    assert found == tested | BOUNDED_ONLY | {ReorderBucket}


def test_what_a_fold_leaves_out_travels_as_builtins() -> None:
    """A window's results may be saved before they are looked at."""
    (measure,) = MEASURES[-1:]
    held = measure.first(windowed(1))
    for number in range(2, 5):
        held = measure.add(held, windowed(number))
    value, left_out = measure.finish(held)
    assert own_globals_in(pickle.dumps(left_out)) == []
    assert SeparateFailures(bounds=False)((value, left_out)) == (value, LeftOut(1, left_out[1]))
    assert left_out[0] == 1


# -- opaque values ----------------------------------------------------------------------------------------------------


def test_a_state_of_the_users_names_our_classes_as_the_user_does() -> None:
    """Morisot does not look into it: `morisot.Windowed` is public, and tests/house/public_api.txt keeps it."""
    for value in (windowed(1), mo.Tx.COMMIT, mo.KafkaRecord("a", "b", "c", 1, 2, None)):  # type: ignore[arg-type]
        assert own_globals_in(pickle.dumps({"last": value})) == [f"morisot {type(value).__name__}"]
        assert pickle.loads(pickle.dumps(value)) == value


def test_a_row_of_a_table_in_a_state_of_the_users_brings_its_class_along() -> None:
    cls: Any = row_type([("a", INT), ("b", STR)]).cls
    saved = DUMPS([cls(1, "x")])
    assert own_globals_in(saved) == []
    assert pickle.loads(saved) == [(1, "x")]


# -- forms ------------------------------------------------------------------------------------------------------------

VALUES: list[tuple[Type, Any, Any]] = [
    (INT, 1, 1),
    (POINT, Point(1, 2), (1, 2)),
    (PLACE, Place("a", Point(1, 2)), ("a", (1, 2))),
    (Optional(POINT), None, None),
    (Optional(POINT), Point(1, 2), (1, 2)),
    (List(POINT), [Point(1, 2)], [(1, 2)]),
    (Dict(POINT), {"a": Point(1, 2)}, {"a": (1, 2)}),
    (Tuple((INT, POINT)), (5, Point(1, 2)), (5, (1, 2))),
    (Keyed(POINT, ANY), (Point(1, 2), Point(3, 4)), ((1, 2), Point(3, 4))),
]


@pytest.mark.parametrize(("type_", "value", "stored"), VALUES)
def test_records_are_stored_field_by_field(type_: Type, value: Any, stored: Any) -> None:
    form = form_of(type_)
    assert (form is None) == (type_ == INT)
    made = value if form is None else form.store(value)
    assert (made, type(made)) == (stored, type(stored))
    again = made if form is None else form.load(made)
    assert (again, type(again)) == (value, type(value))


def test_a_record_of_one_field() -> None:
    cls = dataclasses.make_dataclass("One", ["a"])
    form = form_of(Record(cls, ("a",), (INT,)))
    assert form is not None
    assert (form.store(cls(1)), form.load((1,))) == ((1,), cls(1))


def test_a_class_that_was_made_anew_gets_what_the_old_one_stored() -> None:
    """A record class of the user's script is another class when the program runs again."""
    old: Any
    new: Any
    old, new = (collections.namedtuple("Row", ["a", "b"]) for _ in range(2))  # noqa: PYI024
    forms = [form_of(Record(cls, ("a", "b"), (INT, INT))) for cls in (old, new)]
    assert isinstance(forms[1], Form)
    assert type(forms[1].load(forms[0].store(old(1, 2)))) is new  # type: ignore[union-attr]


@given(st.sampled_from([Point(1, 2), None, (1, 2), [Point(1, 2)], Place("a", Point(1, 2)), Point("a", 2), 7]))  # type: ignore[arg-type]
def test_what_a_function_gave_may_not_have_its_type(value: Any) -> None:
    form = loose_form_of(POINT)
    assert form is not None
    again = form.load(form.store(value))
    assert (again, type(again)) == (value, type(value))
    assert loose_form_of(INT) is None


def test_identities_are_stored_where_they_are_the_keys() -> None:
    assert form_of_identities(INT) is None
    assert form_of_identities(Keyed(POINT, ANY)) is None  # distinguished by bytes
    assert form_of_identities(POINT) is form_of(POINT)


def test_nothing_stays_itself() -> None:
    assert pickle.loads(pickle.dumps(NOTHING)) is NOTHING


# -- formats ----------------------------------------------------------------------------------------------------------

OTHERS = [
    (Layout("sessions", 2), "a state is 'sessions' in the format 2, and this version of Morisot reads 'sessions' in t"),
    (Layout("reorder", 1), "a state is 'reorder' in the format 1, and this version of Morisot reads 'sessions' in the"),
]


@pytest.mark.parametrize(("other", "said"), OTHERS)
def test_a_state_of_another_layout_is_refused(other: Layout, said: str) -> None:
    with pytest.raises(mo.SnapshotError, match=said) as caught:
        Layout("sessions", 1).unpacked(other.packed(None, 5, pickle.dumps))
    assert "What to do: resume with the version that wrote it" in str(caught.value)
    with pytest.raises(mo.SnapshotError, match=said):
        Layout("sessions", 1).check_metadata(other.metadata)  # type: ignore[arg-type]


@pytest.mark.parametrize("saved", [pickle.dumps((None, {})), b"", b"\n", b"sessions\n", b"x" * 500])
def test_a_state_without_a_format_is_refused(saved: bytes) -> None:
    with pytest.raises(mo.SnapshotError, match="a state has no format number"):
        Layout("sessions", 1).unpacked(saved)
    with pytest.raises(mo.SnapshotError, match="a state has no format number"):
        Layout("sessions", 1).check_metadata(None)


@pytest.mark.parametrize("name", ["sum", "tumbling"])
def test_a_table_of_states_of_another_layout_is_refused(name: str) -> None:
    """The states of one machine, given to another."""
    _, states = run_bucket("limit", BATCHES[:1])
    machine, _ = IN_BUCKETS[name]
    bucket = Bucket(machine, ORIGIN, ELEMENT, Keyed(PLACE, ANY), cloudpickle.dumps, False, False, True, False, True)
    with pytest.raises(mo.SnapshotError, match="a state is 'limit' in the format 1"):
        bucket([batch_of([1], element)], states[0])


def test_a_state_of_a_class_that_is_gone_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    layout = Layout("user state", 1)
    saved = layout.packed(None, ByThree(), pickle.dumps)
    monkeypatch.delitem(globals(), "ByThree")
    with pytest.raises(mo.SnapshotError, match="a state cannot be read by this program: AttributeError"):
        layout.unpacked(saved)


# -- loops ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "elements", [[windowed(1), windowed(2)], [windowed(1), "of another type"], []], ids=["typed", "mixed", "none"]
)
def test_the_elements_of_a_loop_are_saved_as_arrow(elements: list[Any], tmp_path: Path) -> None:
    file = tmp_path / "part-000000"
    TaskElements(WINDOWED, len(elements), elements=elements).write(file, cloudpickle.dumps)
    held = TaskElements.read(str(file), WINDOWED)
    assert (held.count, held.elements()) == (len(elements), elements)
    mixed = "of another type" in elements
    assert own_globals_in(file.read_bytes()) == (["morisot Windowed"] if mixed else [])


def test_the_columns_of_a_loop_are_saved_as_arrow(tmp_path: Path) -> None:
    import numpy as np

    file = tmp_path / "part-000000"
    columns: list[Any] = [np.arange(3), pa.array([4, 5, 6])]
    TaskElements(POINT, 3, columns=columns).write(file, cloudpickle.dumps)
    assert TaskElements.read(str(file), POINT).elements() == [Point(0, 4), Point(1, 5), Point(2, 6)]
    assert globals_in(file.read_bytes()) == set()


# -- the walk through pickles -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", range(3, pickle.HIGHEST_PROTOCOL + 1))
def test_globals_are_found_wherever_they_are(protocol: int) -> None:
    inner = pickle.dumps([LeftOut(), LeftOut()], protocol)
    for data in (inner, b"before" + inner + b"after", pickle.dumps({"a": [b"", inner]}, protocol)):
        assert own_globals_in(data) == ["morisot.worker.report.left_out LeftOut"]
    batch = pa.RecordBatch.from_pydict({"a": pa.array([inner], pa.binary())})
    assert own_globals_in(pack_batch(batch)) == ["morisot.worker.report.left_out LeftOut"]
    assert own_globals_in(pickle.dumps([1, "morisot.worker.report.left_out", "LeftOut"], protocol)) == []

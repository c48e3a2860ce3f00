"""Pipelines give what the sequential program gives."""

from __future__ import annotations

import bz2
import contextlib
import io
import queue
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

import morisot as mo

pipeline = mo.pipeline(engine="reference")

SCALE = 3
NOTED: list[int] = []


@pipeline
def count_primes(n: int, workers: int) -> int:
    total = 0
    for i in mo.to_stream(range(2, n + 1)):
        prime = True
        with mo.stage(replicate=workers):
            for j in range(2, i):
                if i % j == 0:
                    prime = False
                    break
        with mo.stage(inputs="prime", outputs="total"):
            total += prime
    return total


def test_primes() -> None:
    assert count_primes(100, 2) == count_primes.sequential(100, 2) == 25


def test_the_empty_loop() -> None:
    assert count_primes(1, 2) == 0


@mo.pipeline
def undecorated_arguments(n: int) -> list[int]:
    """Squares."""
    out: list[int] = []
    for i in mo.to_stream(range(n)):
        with mo.stage():
            square = i * i
        with mo.stage():
            out.append(square)
    return out


def test_the_decorator_without_parentheses_keeps_name_and_text() -> None:
    assert undecorated_arguments.__name__ == "undecorated_arguments"  # type: ignore[attr-defined]
    assert undecorated_arguments.__doc__ == "Squares."
    assert undecorated_arguments.sequential(3) == [0, 1, 4]


def test_undecorated_marks_do_nothing() -> None:
    loaded: list[str] = []

    def load() -> str:
        loaded.append("model")
        return "model"

    found = []
    for x in mo.to_stream([1, 2]):
        with mo.stage(replicate=2, on_init=lambda: loaded.append("not bound")):
            y = x + 1
        with mo.stage(on_init=load, on_exit=lambda: loaded.append("exit")) as model:
            found.append((model, y))
    assert found == [("model", 2), ("model", 3)]
    assert set(loaded) == {"model"}
    count = 0
    while mo.to_stream():
        count += 1
        if count == 3:
            break
    assert count == 3


@pipeline
def drops(xs: Iterable[int], out: list[tuple[int, int]]) -> int:
    seen = 0
    for x in mo.to_stream(xs):
        if x % 5 == 0:
            continue
        with mo.stage():
            if x % 3 == 0:
                continue
            y = x * SCALE
        with mo.stage():
            if y % 2:
                continue
            seen += 1
            out.append((x, y))
    return seen


@pytest.mark.parametrize("make", [list, tuple, iter, lambda xs: (x for x in xs), lambda xs: range(len(xs))])
def test_continue_drops_an_element(make: Callable[[list[int]], Iterable[int]]) -> None:
    found: list[tuple[int, int]] = []
    expected: list[tuple[int, int]] = []
    assert drops(make(list(range(40))), found) == drops.sequential(make(list(range(40))), expected)
    assert found == expected != []


@pipeline
def optional(xs: Iterable[int | None]) -> list[int | None]:
    out = []
    for x in mo.to_stream(xs):
        if x == 2:
            continue
        with mo.stage():
            y = x
        with mo.stage():
            out.append(y)
    return out


def test_none_is_an_element_like_others() -> None:
    assert optional([None, 1, 2, None]) == [None, 1, None]


@pipeline
def reads_for_itself(source: queue.Queue[int | None]) -> list[int]:
    out: list[int] = []
    events = 0
    while mo.to_stream():
        event = source.get()
        events += 1
        if event is None:
            break
        with mo.stage(replicate=2):
            event = event * 10
        with mo.stage():
            out.append(event)
    out.append(events)
    return out


def test_a_loop_that_reads_for_itself() -> None:
    source: queue.Queue[int | None] = queue.Queue()
    for each in (1, 2, 3, None):
        source.put(each)
    assert reads_for_itself(source) == [10, 20, 30, 4]


@pipeline
def two_loops(xs: list[int]) -> tuple[int, list[int]]:
    top = -1
    for x in mo.to_stream(xs):
        with mo.stage():
            y = x * x
        with mo.stage():
            if y > top:
                top = y
    found = []
    for factor in (1, 2):
        for x in mo.to_stream(xs):
            with mo.stage():
                z = x * factor + top
            with mo.stage():
                found.append(z)
    return top, found


def test_several_loops_and_a_loop_around() -> None:
    assert two_loops([3, 1, 2]) == two_loops.sequential([3, 1, 2]) == (9, [12, 10, 11, 15, 11, 13])


@pipeline
def travelling(xs: list[int]) -> list[tuple[int, int]]:
    total = 0
    out = []
    for x in mo.to_stream(xs):
        with mo.stage():
            total += x
        with mo.stage(replicate=2):
            y = total * 10
        with mo.stage():
            out.append((y, total))
    out.append((total, -1))
    return out


def test_a_kept_name_travels_as_its_value() -> None:
    assert travelling([1, 2, 3]) == travelling.sequential([1, 2, 3]) == [(10, 1), (30, 3), (60, 6), (6, -1)]


@pipeline
def some_paths(xs: list[int]) -> list[str]:
    out = []
    for x in mo.to_stream(xs):
        label = "small"
        with mo.stage():
            if x > 1:
                label = "large"
        with mo.stage():
            out.append(label)
    return out


def test_a_name_that_a_stage_sets_on_some_path_is_an_input() -> None:
    assert some_paths([1, 2]) == ["small", "large"]


class Counter:
    """An object with private names."""

    def __init__(self) -> None:
        self.__count = 0
        self.items: list[int] = []

    @pipeline
    def add(self, xs: Iterable[int], *, factor: int = 2) -> int:
        for x in mo.to_stream(xs):
            with mo.stage():
                y = x * factor
            with mo.stage():
                self.__count += y
                self.items.append(y)
        return self.__count

    @staticmethod
    @pipeline
    def double(xs: Iterable[int]) -> list[int]:
        out = []
        for x in mo.to_stream(xs):
            with mo.stage():
                y = x * 2
            with mo.stage():
                out.append(y)
        return out


def test_methods() -> None:
    counter = Counter()
    assert counter.add([1, 2]) == 6
    assert counter.add.sequential([1, 2], factor=1) == 9
    assert counter.items == [2, 4, 1, 2]
    assert Counter.double([1, 2]) == [2, 4]
    assert counter.add.plan([1])._node.label == "stage 1"


def test_nested_functions() -> None:
    offset = 10

    def shifted(x: int) -> int:
        return x + offset

    @pipeline
    def run(xs: list[int]) -> list[int]:
        out = []
        for x in mo.to_stream(xs):
            with mo.stage():
                y = shifted(x) + offset
            with mo.stage():
                out.append(y)
        return out

    assert run([1]) == [21]
    offset = 20
    assert run([1]) == run.sequential([1]) == [41]


@pipeline
def globals_and_output(xs: list[int]) -> None:
    for x in mo.to_stream(xs):
        with mo.stage():
            NOTED.append(x)
            y = x + 1
        with mo.stage():
            print(x, y)


def test_effects_run_in_order_in_this_process(capsys: pytest.CaptureFixture[str]) -> None:
    NOTED.clear()
    globals_and_output([3, 1, 2])
    assert NOTED == [3, 1, 2]
    assert capsys.readouterr().out == "3 4\n1 2\n2 3\n"


@pipeline
def from_file(path: Path, out: io.StringIO) -> int:
    lines = 0
    with path.open() as file:
        number = len(list(file)) - 1
        file.seek(0)
        for line in mo.to_stream(file):
            with mo.stage():
                words = line.split()
            with mo.stage():
                out.write(" ".join(reversed(words)) + "\n")
                lines += 1
    return lines + number


def test_a_file_and_a_loop_in_a_with_statement(tmp_path: Path) -> None:
    (tmp_path / "lines").write_text("a b\nc d\n")
    out, expected = io.StringIO(), io.StringIO()
    assert from_file(tmp_path / "lines", out) == from_file.sequential(tmp_path / "lines", expected) == 3
    assert out.getvalue() == expected.getvalue() == "b a\nd c\n"


@pipeline
def fails(xs: Iterable[int], seen: list[int]) -> None:
    for x in mo.to_stream(xs):
        with mo.stage():
            y = 10 // x
        with mo.stage():
            if y == 5:
                raise LookupError("five")
            seen.append(y)


def test_a_failing_stage_raises_an_element_error_with_its_line() -> None:
    with pytest.raises(mo.ElementError) as caught:
        fails([5, 0], [])
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    line = fails.sequential.__code__.co_firstlineno
    assert caught.value.location is not None
    assert caught.value.location.line == line + 3
    seen: list[int] = []
    with pytest.raises(mo.ElementError) as caught:
        fails([10, 2, 1], seen)
    assert isinstance(caught.value.__cause__, LookupError)
    assert caught.value.location is not None
    assert caught.value.location.line == line + 5
    assert seen == [1]


def interrupted(n: int) -> Iterator[int]:
    yield from range(n)
    raise OSError("the line is down")


def test_an_error_of_the_head_comes_after_its_elements() -> None:
    seen: list[tuple[int, int]] = []
    with pytest.raises(OSError, match="the line is down"):
        drops(interrupted(5), seen)
    assert seen == [(2, 6), (4, 12)]


@pipeline
def updates_in_the_head(xs: list[int]) -> tuple[int, int, list[int]]:
    count = last = 0
    out = []
    for x in mo.to_stream(xs):
        count += 1
        last = x
        if x < 0:
            break
        with mo.stage():
            y = x + count
        with mo.stage():
            out.append(y)
    return count, last, out


def test_names_that_the_head_updates() -> None:
    given = [5, 6, -1, 7]
    assert updates_in_the_head(given) == updates_in_the_head.sequential(given) == (3, -1, [6, 8])


@pipeline
def a_generator(xs: list[int]) -> Iterator[int]:
    out: list[int] = []
    for x in mo.to_stream(xs):
        with mo.stage():
            y = x + 1
        with mo.stage():
            out.append(y)
    yield from out


def test_a_generator_function() -> None:
    assert list(a_generator([1, 2])) == [2, 3]


@pipeline
def suppressed(xs: list[Any]) -> list[int]:
    out: list[int] = []
    for x in mo.to_stream(xs):
        y = -1
        with mo.stage():  # noqa: SIM117 - a stage stands alone
            with contextlib.suppress(ValueError):
                y = int(x)
        with mo.stage():
            match y:
                case 1 | 2 as z:
                    out.append(z)
                case _:
                    out.append(0)
    return out


def test_statements_that_may_not_set_a_name() -> None:
    assert suppressed(["1", "x", "3"]) == suppressed.sequential(["1", "x", "3"]) == [1, 0, 0]


@pipeline
def aliases(xs: list[int]) -> list[int]:
    out: list[int] = []
    add = out.append
    table = {n: n * n for n in range(10)}
    for x in mo.to_stream(xs):
        with mo.stage():
            y = table[x] + table.get(99, 1)
        with mo.stage():
            add(y)
    return out


def test_a_bound_method_keeps_its_object_and_a_table_is_read() -> None:
    assert aliases([1, 2]) == [2, 5]
    assert [record.operator for record in aliases.plan([1]).forms()] == ["map"]


def test_restored_containers_keep_their_identity() -> None:
    from types import CellType

    from morisot.annotations.run import restore_in_place

    for old, new in (([1], [2]), ({1: 2}, {3: 4}), ({1}, {2})):
        cell = CellType(old)
        restore_in_place(cell, new)
        assert cell.cell_contents is old
        assert old == new


# -- plans ------------------------------------------------------------------------------------------------------------


def test_simple_stages_are_columns_and_numeric_ones_kernels() -> None:
    forms = [(each.operator, each.form) for each in count_primes.plan(100, 2).forms()]
    assert forms == [("map", "kernel"), ("map", "kernel"), ("fold", "column")]
    assert [each.form for each in drops.plan([1, 2], []).forms()] == ["column", "column"]


def test_explain_names_each_stage_by_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    count_primes.plan(100, 8).explain()
    said = capsys.readouterr().out
    line = count_primes.sequential.__code__.co_firstlineno
    assert f"stage 1: on Spark, 8 replicas; gives prime  [tests/annotations/test_pipeline.py:{line + 5}]" in said
    assert "stage 2: on Spark, state total, one replica, in order; its last value is assigned after the loop" in said
    assert "without snapshots a failed run starts from scratch" in said
    assert f'map "stage 1"  : bool  [tests/annotations/test_pipeline.py:{line + 5}]' in said


def test_the_plan_of_a_later_loop() -> None:
    assert two_loops.plan([3], loop=1).forms()[-1].operator == "map"
    with pytest.raises(mo.PlanError, match="has no stream loop 2"):
        two_loops.plan([3], loop=2)


def test_a_function_that_returns_before_its_loop() -> None:
    @pipeline
    def early(xs: list[int]) -> None:
        if not xs:
            return
        for x in mo.to_stream(xs):
            with mo.stage():
                print(x)

    with pytest.raises(mo.PlanError, match="has returned before its stream loop 0"):
        early.plan([])


def test_a_change_of_a_copy_warns() -> None:
    with pytest.warns(RuntimeWarning, match="changes seen, and each worker has a copy of it") as caught:

        @pipeline
        def run(xs: list[int]) -> set[int]:
            seen: set[int] = set()
            for x in mo.to_stream(xs):
                with mo.stage(replicate=2):
                    seen.add(x)
            return seen

    assert caught[0].filename == __file__
    run([1])


def test_elements_that_fail_are_skipped() -> None:
    @mo.pipeline(engine="reference", on_error="skip", config={"report": False})
    def run(xs: list[int]) -> list[int]:
        out: list[int] = []
        for x in mo.to_stream(xs):
            with mo.stage():
                y = 10 // x
            with mo.stage():
                out.append(y)
        return out

    assert run([5, 0, 2]) == [2, 5]


# -- events -----------------------------------------------------------------------------------------------------------


class Store:
    """Notes its calls."""

    def __init__(self) -> None:
        self.calls: list[Any] = []

    def open(self) -> Store:
        self.calls.append("open")
        return self

    def close(self) -> None:
        self.calls.append("close")

    def commit(self) -> None:
        self.calls.append("commit")

    def rollback(self, error: BaseException) -> None:
        self.calls.append(("rollback", type(error).__name__))


@pipeline
def stores(xs: list[int], store: Store) -> None:
    for x in mo.to_stream(xs):
        with mo.stage():
            y = 6 // x
        with mo.stage(
            on_init=store.open, on_exit=store.close, on_snapshot=store.commit, on_error=store.rollback
        ) as database:
            database.calls.append(y)


@pytest.mark.parametrize("run", [stores, stores.sequential])
def test_events(run: Callable[[list[int], Store], None]) -> None:
    store = Store()
    run([1, 2], store)
    assert store.calls == ["open", 6, 3, "commit", "close"]
    store = Store()
    with pytest.raises((mo.ElementError, ZeroDivisionError)):
        run([0], store)
    assert [each[0] if isinstance(each, tuple) else each for each in store.calls] == ["open", "rollback", "close"]


# -- replicas ---------------------------------------------------------------------------------------------------------


class Loaded:
    """Counts in a replica."""

    def __init__(self) -> None:
        self.counts: dict[int, int] = {}


@pipeline
def by_key(xs: list[int], workers: int) -> list[tuple[int, int]]:
    out: list[tuple[int, int]] = []
    for x in mo.to_stream(xs):
        name = x % 3
        with mo.stage(replicate=workers, send="affinity", key="name", on_init=Loaded) as loaded:
            if x == 4:
                continue
            loaded.counts[name] = loaded.counts.get(name, 0) + 1
            count = loaded.counts[name]
        with mo.stage():
            out.append((name, count))
    return out


def test_affinity_keeps_a_key_at_a_replica() -> None:
    xs = [0, 1, 2, 3, 4, 5, 6, 7]
    assert by_key(xs, 2) == by_key.sequential(xs, 2) == [(0, 1), (1, 1), (2, 1), (0, 2), (2, 2), (0, 3), (1, 2)]
    assert [each.operator for each in by_key.plan(xs, 2).forms()][-1] == "apply"


@pipeline
def copied(xs: list[int]) -> list[int]:
    out: list[int] = []
    for x in mo.to_stream(xs):
        with mo.stage(replicate=2, send="broadcast"):
            y = x + 1
        with mo.stage():
            out.append(y)
    return out


def test_broadcast_sends_a_copy_to_each_replica() -> None:
    assert copied([1, 2]) == [2, 2, 3, 3]


@pipeline
def with_events(xs: list[int], calls: Store) -> list[int]:
    out: list[int] = []
    for x in mo.to_stream(xs):
        with mo.stage(
            replicate=2, on_init=calls.open, on_exit=calls.close, on_snapshot=calls.commit, on_error=calls.rollback
        ) as store:
            y = 6 // x + len(store.calls) * 0
        with mo.stage():
            out.append(y)
    return out


def test_a_replicated_stage_with_events_is_an_operator() -> None:
    store = Store()
    assert with_events([1, 2], store) == [6, 3]
    assert store.calls in ([], ["open", "commit", "close"]), "in its replica"
    assert [each.operator for each in with_events.plan([1], store).forms()] == ["apply"]
    with pytest.raises(mo.ElementError):
        with_events([0], store)


def test_fewer_replicas_than_slots_are_replicas_of_an_operator() -> None:
    @mo.pipeline(engine="reference", parallelism=4)
    def run(xs: list[int], workers: int) -> list[str]:
        out: list[str] = []
        for x in mo.to_stream(xs):
            with mo.stage(replicate=workers):
                text = bz2.compress(bytes(x)).hex()
            with mo.stage():
                out.append(text)
        return out

    assert run([1], 2) == run.sequential([1], 2)
    assert [each.operator for each in run.plan([1], 2).forms()] == ["apply"]
    assert [each.operator for each in run.plan([1], 4).forms()] == ["map"]

"""Users' operators with replicas: assignment, key stores, order, callbacks, errors."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import morisot as mo
from morisot.types.element import ANY, INT, STR, Tuple
from tests.operators.engines import Runner


class Twice(mo.Operator[int, int]):
    def process(self, element: int, message: mo.Message) -> Iterator[int]:
        yield element * 2


class Numbers(mo.Operator[Any, tuple[int, Any]]):
    """The ids of the messages."""

    def process(self, element: Any, message: mo.Message) -> list[tuple[int, Any]]:
        return [(message.id, element)]


class Counting(mo.Operator[int, tuple[int, int, int]]):
    """The replica of each element, and the number of elements that it has processed."""

    def process(self, element: int, message: mo.Message) -> Iterator[tuple[int, int, int]]:
        self.store["seen"] = self.store.get("seen", 0) + 1
        yield element, message.instance, self.store["seen"]


class Senders(mo.Operator[Any, tuple[int, str, int, Any]]):
    """What messages say about where elements come from."""

    def process(self, element: Any, message: mo.Message) -> list[tuple[int, str, int, Any]]:
        return [(message.id, message.sender.operator, message.sender.instance, element)]


class Repeated(mo.Operator[int, int]):
    """Each number as often as it says."""

    def process(self, element: int, message: mo.Message) -> Iterator[int]:
        for _ in range(element):
            yield element


class Failing(mo.Operator[int, int]):
    def process(self, element: int, message: mo.Message) -> Iterator[int]:
        yield 12 // element


class Calls(mo.Operator[int, int]):
    """Writes the callbacks that are called into a file for each process."""

    def __init__(self, directory: str) -> None:
        self.directory = directory

    def note(self, text: str) -> None:
        with open(f"{self.directory}/{os.getpid()}", "a") as file:
            file.write(f"{text}\n")

    def on_init(self, place: mo.Replica) -> None:
        assert place.host
        assert 0 <= place.instance < place.instances
        self.note("init")

    def process(self, element: int, message: mo.Message) -> Iterator[int]:
        self.note("process")
        yield 12 // element

    def on_error(self, error: BaseException) -> None:
        self.note(f"error {error}")

    def on_exit(self) -> None:
        self.note("exit")


def noted(directory: Any) -> list[list[str]]:
    """The callbacks of each process."""
    return [file.read_text().splitlines() for file in sorted(directory.iterdir())]


@pytest.mark.parametrize("replicate", [1, 3])
def test_outputs_are_in_stream_order(runner: Runner, replicate: int) -> None:
    result = runner.run(lambda s: s.apply(Repeated(), replicate=replicate), [3, 0, 1, 2])
    assert result == [3, 3, 3, 1, 2, 2]


def test_ids_are_the_numbers_of_the_elements(runner: Runner) -> None:
    result = runner.run(lambda s: s.filter(lambda t: t != "b").apply(Numbers(), replicate=2), ["a", "b", "c", "d"])
    assert result == [(0, "a"), (1, "c"), (2, "d")]


def test_without_a_key_elements_are_dealt_out_to_replicas_with_stores(runner: Runner) -> None:
    result = runner.run(lambda s: s.apply(Counting(), replicate=2), [10, 11, 12, 13, 14])
    assert result == [(10, 0, 1), (11, 1, 1), (12, 0, 2), (13, 1, 2), (14, 0, 3)]


def test_affinity(runner: Runner) -> None:
    def program(stream: mo.Stream[int]) -> mo.Stream[tuple[int, int, int]]:
        return stream.apply(Counting(), replicate=3, send="affinity", key=lambda n: "even" if n % 2 == 0 else "odd")

    result = runner.run(program, [1, 2, 3, 4, 6, 5])
    replicas = {element % 2: instance for element, instance, _ in result}
    assert all(instance == replicas[element % 2] for element, instance, _ in result)
    assert [(element, seen) for element, _, seen in result] == [(1, 1), (2, 1), (3, 2), (4, 2), (6, 3), (5, 3)]


def test_affinity_of_a_keyed_stream(runner: Runner) -> None:
    def program(stream: mo.Stream[int]) -> mo.Stream[Any]:
        return stream.group_by(lambda n: n % 2).apply(Counting(), replicate=2, send="affinity", returns=object)  # type: ignore[arg-type]

    result = runner.run(program, [1, 2, 3])
    assert [(element, seen) for element, _, seen in result] == [((1, 1), 1), ((0, 2), 1), ((1, 3), 2)]


def test_broadcast(runner: Runner) -> None:
    result = runner.run(lambda s: s.apply(Counting(), replicate=2, send="broadcast"), [7, 8])
    assert result == [(7, 0, 1), (7, 1, 1), (8, 0, 2), (8, 1, 2)]


def test_copies_of_an_element_have_its_id(runner: Runner) -> None:
    result = runner.run(lambda s: s.apply(Numbers(), replicate=2, send="broadcast"), ["a", "b"])
    assert result == [(0, "a"), (0, "a"), (1, "b"), (1, "b")]


def test_operators_one_after_the_other(runner: Runner) -> None:
    result = runner.run(lambda s: s.apply(Twice(), replicate=2).apply(Counting(), replicate=2), [1, 2, 3, 4])
    assert result == [(2, 0, 1), (4, 1, 1), (6, 0, 2), (8, 1, 2)]


def test_outputs_have_the_ids_of_their_elements(runner: Runner) -> None:
    def program(stream: mo.Stream[int]) -> mo.Stream[Any]:
        counted = stream.apply(Repeated(), replicate=2, store=True).name("repeated")
        return counted.apply(Senders(), replicate=2, send="affinity", key=lambda n: n)

    result = runner.run(program, [2, 0, 1, 3])
    assert result == [(id_, "repeated", id_ % 2, n) for id_, n in [(0, 2), (0, 2), (2, 1), (3, 3), (3, 3), (3, 3)]]


def test_senders_without_replicas(runner: Runner) -> None:
    result = runner.run(lambda s: s.map(lambda n: n + 1).apply(Senders(), replicate=2), [4, 5])
    assert result == [(0, "map", 0, 5), (1, "map", 0, 6)]


class Tens(mo.Source[str]):
    """Emits ids with gaps."""

    def read(self) -> Iterator[Any]:
        for number in range(4):
            yield mo.Emit(10 * number, "abcd"[number])


class Declared(mo.Source[mo.Emit[str]]):
    def __init__(self, *emitted: Any) -> None:
        self.emitted = emitted

    def read(self) -> Any:
        return self.emitted


def test_ids_of_a_source(ctx: mo.StreamContext) -> None:
    tens = ctx.stream(Tens())
    assert tens.type == STR
    assert tens.collect() == ["a", "b", "c", "d"]
    assert tens.apply(Senders(), replicate=2, send="broadcast").collect() == [
        (10 * n, "stream", 0, "abcd"[n]) for n in (0, 0, 1, 1, 2, 2, 3, 3)
    ]
    seen = tens.apply(Numbers()).apply(Senders(), replicate=2).collect()
    assert seen == [(10 * n, "apply", 0, (10 * n, "abcd"[n])) for n in range(4)]
    assert ctx.stream(Declared(mo.Emit(7, "a"))).apply(Numbers()).collect() == [(7, "a")]


def test_a_source_without_the_ids_that_it_declares() -> None:
    ctx = mo.StreamContext(engine="reference")
    with pytest.raises((mo.MorisotError, TypeError), match=r"must emit mo.Emit\(id, element\), not 'a'"):
        ctx.stream(Declared("a")).collect()


def test_diverted_elements(runner: Runner) -> None:
    failed: list[Any] = []
    result = runner.run(lambda s: s.apply(Failing(), replicate=2, on_error=failed.append), [1, 0, 2])
    assert result == [12, 6]
    assert [error.element for error in failed] == ["0"]


def test_unordered(runner: Runner) -> None:
    result = runner.run(lambda s: s.apply(Twice(), replicate=2, ordered=False), [1, 2, 3])
    assert sorted(result) == [2, 4, 6]


def test_no_elements(runner: Runner) -> None:
    assert runner.run(lambda s: s.filter(lambda n: n > 9).apply(Counting()), [1]) == []


@pytest.mark.parametrize("store", [False, True])
def test_failing_element(runner: Runner, store: bool) -> None:
    with pytest.raises(mo.ElementError, match="failed on the element 0: ZeroDivisionError") as caught:
        runner.run(lambda s: s.apply(Failing(), replicate=2, store=store), [1, 0, 2])
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert "in process" in caught.value.original_traceback


@pytest.mark.parametrize("store", [False, True])
def test_skipped_element(runner: Runner, store: bool) -> None:
    result = runner.run(lambda s: s.apply(Failing(), replicate=2, store=store, on_error="skip"), [1, 0, 2])
    assert result == [12, 6]
    assert list(runner.metrics["skipped"].values()) == [1]


def test_output_of_another_type(bounded_runner: Runner) -> None:
    class Text(mo.Operator[int, str]):
        def process(self, element: int, message: mo.Message) -> list[Any]:
            return [element]

    with pytest.raises(mo.ElementError, match="is not of the type str"):
        bounded_runner.run(lambda s: s.apply(Text()), [1])


@pytest.mark.parametrize("answer", [5, "text"])
def test_process_must_yield_outputs(bounded_runner: Runner, answer: Any) -> None:
    class Plain(mo.Operator[int, Any]):
        def process(self, element: int, message: mo.Message) -> Any:
            return answer

    with pytest.raises(mo.ElementError, match="process must yield its outputs"):
        bounded_runner.run(lambda s: s.apply(Plain()), [1])


@pytest.mark.parametrize("store", [False, True])
def test_callbacks(bounded_runner: Runner, tmp_path: Any, store: bool) -> None:
    result = bounded_runner.run(lambda s: s.apply(Calls(str(tmp_path)), replicate=2, store=store), [1, 2, 3, 4, 6])
    assert result == [12, 6, 4, 3, 2]
    for calls in noted(tmp_path):
        replicas = 1 if not store else calls.count("init")
        assert calls[0] == "init"
        assert calls.count("init") == replicas, "a model is loaded once in a worker process"
        assert calls[-1] == "exit"
        assert calls.count("exit") == replicas
    assert sum(calls.count("process") for calls in noted(tmp_path)) == 5


def test_callbacks_after_a_failure(bounded_runner: Runner, tmp_path: Any) -> None:
    with pytest.raises(mo.ElementError):
        bounded_runner.run(lambda s: s.apply(Calls(str(tmp_path)), replicate=2, store=True), [1, 0, 3, 4])
    for calls in noted(tmp_path):
        failures = [each for each in calls if each.startswith("error")]
        assert failures
        assert all("integer division or modulo by zero" in each for each in failures)
        assert calls.count("init") == len(failures) == calls.count("exit")
        assert calls[-1] == "exit"


def test_failing_on_init(bounded_runner: Runner) -> None:
    class Broken(Twice):
        def on_init(self, place: mo.Replica) -> None:
            raise OSError("no model")

    with pytest.raises(mo.ElementError, match="on_init failed.*no model"):
        bounded_runner.run(lambda s: s.apply(Broken()), [1])


class TestPlans:
    def ctx(self) -> mo.StreamContext:
        return mo.StreamContext(engine="reference")

    def test_types(self) -> None:
        numbers = self.ctx().stream_iter([1])
        assert numbers.apply(Twice()).type == INT
        assert numbers.apply(Numbers()).type == Tuple((INT, ANY))
        assert numbers.apply(Twice(), returns=str).type == STR

    def test_explain(self, capsys: pytest.CaptureFixture[str]) -> None:
        numbers = self.ctx().stream_iter([1])
        numbers.apply(Twice(), replicate=2).explain()
        assert "process: stage — on demand" in capsys.readouterr().out
        numbers.apply(Counting(), replicate=2).explain()
        assert "process: stage — fixed" in capsys.readouterr().out
        numbers.apply(Twice(), replicate=2, send="affinity", key=lambda n: n).explain()
        shown = capsys.readouterr().out
        assert "fixed: the key determines the replica" in shown
        assert shown.count("apply(") == 1

    def test_no_store(self) -> None:
        class Hidden(mo.Operator[int, int]):
            def process(self, element: int, message: mo.Message) -> list[int]:
                return [getattr(self, "erots"[::-1])[1]]

        with pytest.raises(mo.ElementError, match="Hidden has no key store here"):
            self.ctx().stream_iter([1]).apply(Hidden()).collect()

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            ({"replicate": 0}, "replicate cannot be 0"),
            ({"send": "round_robin"}, "does not support send='round_robin'"),
            ({"send": "affinity"}, 'send="affinity" needs a key'),
            ({"key": abs}, "takes no key"),
        ],
    )
    def test_wrong_arguments(self, arguments: dict[str, Any], said: str) -> None:
        with pytest.raises(mo.PlanError, match=said):
            self.ctx().stream_iter([1]).apply(Twice(), **arguments)

    def test_wrong_operator(self) -> None:
        class Short(mo.Operator[int, int]):
            def process(self, element: int) -> list[int]:  # type: ignore[override]
                return [element]

        with pytest.raises(mo.PlanError, match=r"process\(self, element, message\)"):
            self.ctx().stream_iter([1]).apply(Short())
        with pytest.raises(mo.PlanError, match=r"takes a mo\.Operator"):
            self.ctx().stream_iter([1]).apply(abs)  # type: ignore[arg-type]


class Counter:
    """Counts its calls in an attribute."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, n: int) -> int:
        self.calls += 1
        return n + self.calls


class Adder:
    def __init__(self, by: int) -> None:
        self.by = by

    def __call__(self, n: int) -> int:
        return n + self.by


class Model:
    """Loads what it calls when it is called first."""

    def __init__(self) -> None:
        self.function: Callable[[int], int] | None = None

    def __call__(self, n: int) -> int:
        if self.function is None:
            self.function = Adder(2)
        return self.function(n)


def test_attributes_that_a_function_sets_are_no_state() -> None:
    numbers = mo.StreamContext(engine="reference").stream_iter([1, 2])
    with pytest.warns(RuntimeWarning, match="Counter sets calls, and each task sets that of its own copy") as caught:
        numbers.map(Counter())
    assert caught[0].filename == __file__
    assert numbers.map(Adder(1)).collect() == [2, 3]  # warnings are errors
    assert numbers.map(Model()).collect() == [3, 4]

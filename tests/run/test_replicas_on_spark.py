"""Operators with replicas on Spark: callbacks of snapshots, key stores after a restart, blocks of slow elements."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import morisot as mo
from tests.run.test_two_phase_on_spark import FILES, write_files

pytestmark = [pytest.mark.jvm, pytest.mark.thorough]


class Counting(mo.Operator[int, tuple[int, int]]):
    """Counts its elements, and notes its callbacks in a file of its process."""

    def __init__(self, directory: Path) -> None:
        self.directory = str(directory)

    def note(self, *words: object) -> None:
        with open(f"{self.directory}/{os.getpid()}-{words[0]}", "a") as calls:
            calls.write(" ".join(map(str, words[1:])) + "\n")

    def on_init(self, place: mo.Replica) -> None:
        self.instance = place.instance
        self.note(self.instance, "init")

    def process(self, element: int, message: mo.Message) -> Iterator[tuple[int, int]]:
        assert message.instance == self.instance
        self.note(self.instance, "process", message.snapshot, message.id, message.replayed)
        self.store["seen"] = self.store.get("seen", 0) + 1
        yield element, self.store["seen"]

    def on_local_snapshot(self, snapshot: int) -> None:
        self.note(self.instance, "local", snapshot)

    def on_global_snapshot(self, snapshot: int) -> None:
        self.note(self.instance, "global", snapshot)

    def on_exit(self) -> None:
        self.note(self.instance, "exit")


def run(spark: Any, directory: Path, calls: Path) -> list[tuple[int, int]]:
    """The results of a job over the files that are there."""
    calls.mkdir(exist_ok=True)
    found: list[tuple[int, int]] = []
    saves = mo.Snapshots(directory / "saves")
    with mo.StreamContext(spark, config=mo.Config(progress=False), snapshots=saves) as ctx:
        numbers = ctx.stream_file(directory / "in", unbounded=True, files_per_batch=1).map(lambda line: int(line))
        numbers.apply(Counting(calls), replicate=2).for_each(found.append)
        job = ctx.start()
        job.catch_up()
        time.sleep(0.5)  # the watching thread sees the last commit entry
        job.stop()
    return found


@pytest.mark.unbounded
def test_stores_and_snapshots_of_an_unbounded_job(spark: Any, tmp_path: Path) -> None:
    numbers = write_files(tmp_path)
    assert run(spark, tmp_path, tmp_path / "calls") == [(n, n // 2 + 1) for n in numbers]
    for file in (tmp_path / "calls").iterdir():
        calls = [line.split() for line in file.read_text().splitlines()]
        instance = int(file.name.partition("-")[2])
        assert calls[0] == ["init"]
        assert calls[-1] == ["exit"]
        done = [call for call in calls if call[0] == "process"]
        assert all(int(call[2]) % 2 == instance for call in done)
        assert all(int(call[2]) // 2 == int(call[1]) for call in done), "two elements in each micro-batch"
        for kind in ("local", "global"):
            said = [int(call[1]) for call in calls if call[0] == kind]
            assert said == sorted(said)
            assert said[-1] == FILES - 1
    more = tmp_path / "in" / "more.txt"
    more.write_text("8\n9\n")
    os.utime(more, (99, 99))
    assert run(spark, tmp_path, tmp_path / "later") == [(8, FILES + 1), (9, FILES + 1)]
    for file in (tmp_path / "later").iterdir():
        assert file.read_text().splitlines()[:2] == ["init", f"global {FILES - 1}"]


class Slow(mo.Operator[float, float]):
    def process(self, element: float, message: mo.Message) -> Iterator[float]:
        time.sleep(element)
        yield element


class SlowAndStored(Slow):
    """The same with a key store, so that the replicas of elements are fixed."""

    def process(self, element: float, message: mo.Message) -> Iterator[float]:
        self.store["last"] = element
        return super().process(element, message)


def test_a_slow_element_delays_its_block_only(spark: Any) -> None:
    elements = [0.02] * 100
    elements[3] = 1.0
    taken: dict[str, float] = {}
    with mo.StreamContext(spark, config=mo.Config(progress=False)) as ctx:
        stream = ctx.stream_iter(elements)
        for operator in (Slow(), SlowAndStored()) * 2:
            began = time.monotonic()
            assert stream.apply(operator, replicate=2).collect() == elements
            taken[type(operator).__name__] = time.monotonic() - began
    print(taken)
    assert taken["Slow"] < taken["SlowAndStored"]


class Loading(mo.Operator[int, int]):
    """Its model is the process in which it was loaded."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def on_init(self, place: mo.Replica) -> None:
        with (self.directory / str(os.getpid())).open("a") as loads:
            loads.write("loaded\n")

    def process(self, element: int, message: mo.Message) -> list[int]:
        return [os.getpid()]


def test_a_model_is_loaded_once_in_a_worker_process(spark: Any, tmp_path: Path) -> None:
    with mo.StreamContext(spark, config=mo.Config(progress=False)) as ctx:
        processes = set(ctx.stream_iter(range(500)).apply(Loading(tmp_path), replicate=2).collect())
    assert {int(file.name) for file in tmp_path.iterdir()} >= processes
    assert all(file.read_text() == "loaded\n" for file in tmp_path.iterdir())


class Ticks(mo.OffsetSource[int]):
    """Ten numbers for each offset, with the count of reads in its key store."""

    def __init__(self, calls: Path, last: int) -> None:
        self.calls, self.last = str(calls), last

    def note(self, *words: object) -> None:
        with open(f"{self.calls}/source-{os.getpid()}", "a") as calls:
            calls.write(" ".join(map(str, words)) + "\n")

    def on_init(self, place: mo.Replica) -> None:
        self.note("init")

    def initial_offset(self) -> dict[str, Any]:
        return {"next": 0}

    def read(self, start: dict[str, Any]) -> tuple[list[int], dict[str, Any]]:
        if start["next"] >= self.last:
            return [], start
        self.store["reads"] = self.store.get("reads", 0) + 1
        assert self.store["reads"] == start["next"] + 1
        return [10 * start["next"] + n for n in range(10)], {"next": start["next"] + 1}

    def on_global_snapshot(self, snapshot: int) -> None:
        self.note("global", snapshot)

    def on_exit(self) -> None:
        self.note("exit")


class Summing(mo.Sink[int]):
    """The sum of all elements is in the key store."""

    def __init__(self) -> None:
        self.calls: list[Any] = []

    def prepare(self, batch: int, elements: list[int]) -> None:
        self.store["sum"] = self.store.get("sum", 0) + sum(elements)
        self.calls.append(self.store["sum"])

    def on_global_snapshot(self, snapshot: int) -> None:
        self.calls.append("global")

    def on_exit(self) -> None:
        self.calls.append("exit")


def follow(spark: Any, directory: Path, last: int, *, placed: bool = False) -> list[Any]:
    """The calls of the sink of a job that reads numbers up to an offset."""
    sink = Summing()
    (directory / "calls").mkdir(exist_ok=True)
    saves = mo.Snapshots(directory / "saves")
    with mo.StreamContext(spark, config=mo.Config(progress=False), snapshots=saves) as ctx:
        numbers = ctx.stream(Ticks(directory / "calls", last))
        numbers.apply(Doubling(), replicate=2, send="affinity", key=lambda n: n).write_to(sink)
        job = ctx.start()
        job.catch_up()
        time.sleep(0.5)
        places = [each for each in job.placement() if each.operator.startswith("apply")]
        job.stop()
    if placed:
        assert {each.instance for each in places} == {0, 1}
        assert sum(each.inputs for each in places) == sum(each.outputs for each in places) == 10 * last
        assert all(each.host and each.pid != os.getpid() for each in places)
    return sink.calls


class Doubling(mo.Operator[int, int]):
    def process(self, element: int, message: mo.Message) -> list[int]:
        return [2 * element]


@pytest.mark.unbounded
def test_life_of_a_source_and_a_sink(spark: Any, tmp_path: Path) -> None:
    first = follow(spark, tmp_path, 3, placed=True)
    assert [call for call in first if isinstance(call, int)][-1] == 2 * sum(range(30))
    assert first[-2:] == ["global", "exit"]
    second = follow(spark, tmp_path, 5)
    assert second[0] == "global"
    assert [call for call in second if isinstance(call, int)][-1] == 2 * sum(range(50))
    notes = [file.read_text().splitlines() for file in (tmp_path / "calls").glob("source-*")]
    assert all(calls[0] == "init" and calls.count("init") == 1 for calls in notes), notes
    assert any(call.startswith("global") for calls in notes for call in calls), notes
    assert all(calls[-1] == "exit" for calls in notes), notes

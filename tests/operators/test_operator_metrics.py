"""The input and output counts of each operator of an unbounded job, if the user asks for them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import morisot as mo
from morisot.engines.spark.terminal import job_table
from morisot.runtime.metrics import JobMetrics

pytestmark = [pytest.mark.jvm, pytest.mark.unbounded]


def run(spark: Any, directory: Path, *, counted: bool) -> tuple[list[Any], JobMetrics]:
    """A job over three files, with native operators, Python, a state, a table and a bounded stream."""
    inbox = directory / "in"
    inbox.mkdir(exist_ok=True)
    for number in range(3):
        (inbox / f"{number}.txt").write_text("".join(f"{10 * number + each}\n" for each in range(10)))
    found: list[Any] = []
    config = mo.Config(progress=False, operator_metrics=counted)
    with mo.StreamContext(spark, config=config) as ctx:
        table = ctx.stream_iter([(0, "zero"), (1, "one")])
        numbers = ctx.stream_file(inbox, unbounded=True, files_per_batch=1).map(lambda line: int(line))
        even = numbers.filter(lambda n: n % 2 == 0)
        parts = even.merge(ctx.stream_iter([100, 102])).flat_map(lambda n: [hex(n), oct(n), bin(n)])
        named = parts.map(lambda text: (len(text) % 3, text)).join(table, lambda pair: pair[0], lambda row: row[0])
        large = named.drop_key().filter(lambda pair: len(pair[0][1]) > 3)
        large.map(lambda pair: len(pair[0][1])).unique().for_each(found.append)
        even.for_each(lambda n: None)
        job = ctx.start()
        job.catch_up()
        metrics = job.metrics()
        job.stop()
    return found, metrics


def test_row_wise_operators_are_counted(spark: Any, tmp_path: Path) -> None:
    inbox = tmp_path / "in"
    inbox.mkdir()
    (inbox / "0.txt").write_text("".join(f"{n}\n" for n in range(10)))
    found: list[Any] = []
    with mo.StreamContext(spark, config=mo.Config(progress=False, operator_metrics=True)) as ctx:
        even = ctx.stream_file(inbox, unbounded=True).map(lambda line: int(line)).filter(lambda n: n % 2 == 0)
        even.flat_map(lambda n: [hex(n), oct(n), bin(n)]).for_each(found.append)
        job = ctx.start()
        job.catch_up()
        (sink,) = job.metrics()["sinks"]
        job.stop()
    assert len(found) == 15
    counts = {each["operator"].split(" (")[0]: (each["in"], each["out"]) for each in sink["operators"]}
    assert counts == {"stream_file": (0, 10), "map": (10, 10), "filter": (10, 5), "flat_map": (5, 15)}


def collatz(n: int) -> int:
    steps = 0
    while n > 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


def opaque(n: int) -> int:
    return hash((n,)) % 1000


def test_operators_inside_a_pass_are_counted(spark: Any, tmp_path: Path) -> None:
    """Neither a stage nor a pass of machine code ends because its operators are counted."""
    inbox = tmp_path / "in"
    inbox.mkdir()
    for file in range(2):
        (inbox / f"{file}.txt").write_text("".join(f"{n}\n" for n in range(100)))
    found: list[Any] = []
    with mo.StreamContext(spark, config=mo.Config(progress=False, operator_metrics=True)) as ctx:
        numbers = ctx.stream_file(inbox, unbounded=True, files_per_batch=1).map(lambda line: int(line))
        short = numbers.map(collatz).filter(lambda n: collatz(n) < 3)
        twice = short.flat_map(lambda n: [opaque(n), -1]).filter(
            lambda n: n >= 0 or opaque(1 // (n + 1)) > 0, on_error="skip"
        )
        last = twice.map(opaque)
        last.for_each(found.append)
        operators = [type(each).__name__ for each in ctx.engine.job(last._node).plan.operators.values()]
        job = ctx.start()
        job.catch_up()
        (sink,) = job.metrics()["sinks"]
        job.stop()
    assert operators == ["ReadOp", "ColumnsOp", "KernelOp", "StageOp"]
    few = [collatz(n) for n in range(100) if collatz(collatz(n)) < 3]
    counts = [(each["in"], each["out"]) for each in sink["operators"]]
    given = [200, 200, 200, 2 * len(few), 4 * len(few), 2 * len(few), 2 * len(few)]
    assert counts == list(zip([0, *given], given, strict=False))
    assert sorted(found) == sorted(opaque(opaque(n)) for n in 2 * few)


TEXTS = [write(n) for n in [*range(0, 30, 2), 100, 102] for write in (hex, oct, bin)]
JOINED = [text for text in TEXTS if len(text) % 3 < 2]
LARGE = [text for text in JOINED if len(text) > 3]


@pytest.mark.thorough
def test_operators_of_every_kind_are_counted(spark: Any, tmp_path: Path) -> None:
    found, metrics = run(spark, tmp_path, counted=True)
    first, second = ({each["operator"].split(" (")[0]: each for each in sink["operators"]} for sink in metrics["sinks"])
    assert [(each["in"], each["out"]) for each in second.values()] == [(0, 30), (30, 30), (30, 15)]
    counts = {name: (each["in"], each["out"]) for name, each in first.items() if name not in ("map", "filter")}
    assert counts == {
        "stream_file": (0, 30),
        "stream_iter": (0, 2),
        "merge": (17, 17),
        "flat_map": (17, 51),
        "join": (51, len(JOINED)),
        "drop_key": (len(JOINED), len(JOINED)),
        "unique": (len(LARGE), len(set(map(len, LARGE)))),
    }
    assert sorted(found) == sorted(set(map(len, LARGE)))
    assert ("flat_map", "17", "51") in [(row[0].split(" (")[0], *row[1:]) for row in job_table.operators(metrics)]
    assert len(job_table._tables(metrics).renderables) == 3


@pytest.mark.thorough
def test_nothing_is_counted_otherwise(spark: Any, tmp_path: Path) -> None:
    found, metrics = run(spark, tmp_path, counted=False)
    assert sorted(found) == sorted(set(map(len, LARGE)))
    assert all("operators" not in sink for sink in metrics["sinks"])
    assert len(job_table._tables(metrics).renderables) == 1

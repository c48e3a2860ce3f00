"""Hostile data through every path on which an error is reported: no code runs, and the error is the right one."""

from __future__ import annotations

import random
from collections.abc import Container, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import morisot as mo
from tests.driver.run import drive
from tests.hostile.paths import (
    LOOPS,
    NATIVE,
    PROGRAMS,
    Cell,
    FailingSink,
    FailingSource,
    Program,
    RejectedError,
    fails,
    write_csv,
    write_json,
)
from tests.hostile.strings import hostile_strings

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

CHUNK = 25


@pytest.fixture
def strings(tmp_path: Path, chance: random.Random) -> Iterator[list[str]]:
    """Five hundred strings; no pickle in them was loaded when the test has ended."""
    loaded = tmp_path / "loaded"
    yield hostile_strings(loaded, chance)
    assert not loaded.exists(), "a pickle from the data was loaded"


@pytest.fixture
def ctx(spark: SparkSession) -> mo.StreamContext:
    return mo.StreamContext(spark, config=mo.Config(progress=False, report=False))


def texts(strings: list[str], *, all_of_them: bool) -> Iterator[str]:
    """All strings in one text; or in some texts, one after the other."""
    if not all_of_them:
        yield " ".join(strings)
        return
    for start in range(0, len(strings), CHUNK):
        yield " ".join(strings[start : start + CHUNK])


AMOUNTS = [pytest.param(False, id="at once"), pytest.param(True, id="one by one", marks=pytest.mark.thorough)]


KINDS = ("column", "keyed rich_map", "map")
"""One program for each way in which a failure reaches this process from unbounded input: a native form, a processor,
a stage."""
BOUNDED_KINDS = ("map", "group_by", "fold", "keyed rich_map", "time window")
LOOP_KINDS = ("generator", "barrier loop", "loop by rounds")


def some(names: Iterable[str], kept: Container[str]) -> list[Any]:
    """The names; those that are left out are for `make thorough`."""
    return [pytest.param(name, marks=() if name in kept else pytest.mark.thorough) for name in names]


def check(error: mo.ElementError, text: str) -> None:
    assert type(error.__cause__) is RejectedError
    assert error.__cause__.args == (text,)


@pytest.mark.parametrize("all_of_them", AMOUNTS)
@pytest.mark.parametrize("name", some(PROGRAMS, BOUNDED_KINDS))
def test_functions_on_bounded_input(name: str, all_of_them: bool, ctx: mo.StreamContext, strings: list[str]) -> None:
    for text in texts(strings, all_of_them=all_of_them):
        with pytest.raises(mo.ElementError) as raised:
            PROGRAMS[name](ctx.stream_iter([text, text])).collect()
        check(raised.value, text)


@pytest.mark.parametrize("all_of_them", AMOUNTS)
@pytest.mark.parametrize("name", NATIVE)
def test_compiled_functions_on_bounded_input(
    name: str, all_of_them: bool, ctx: mo.StreamContext, strings: list[str]
) -> None:
    for text in texts(strings, all_of_them=all_of_them):
        with pytest.raises(mo.ElementError) as raised:
            NATIVE[name](ctx.stream_iter([text])).collect()
        assert isinstance(raised.value.__cause__, ValueError if name == "column" else ZeroDivisionError)


@pytest.mark.parametrize("all_of_them", AMOUNTS)
@pytest.mark.parametrize("name", some(LOOPS, LOOP_KINDS))
def test_loops_and_generators(name: str, all_of_them: bool, ctx: mo.StreamContext, strings: list[str]) -> None:
    for text in texts(strings, all_of_them=all_of_them):
        with pytest.raises(mo.ElementError) as raised:
            LOOPS[name](ctx, [text, text])
        check(raised.value, text)


@pytest.mark.parametrize("all_of_them", AMOUNTS)
@pytest.mark.parametrize("unbounded", [False, True], ids=["bounded", "unbounded"])
@pytest.mark.parametrize("kind", some(["csv", "json"], ["csv"]))
def test_rows_of_files(
    kind: str, unbounded: bool, all_of_them: bool, ctx: mo.StreamContext, strings: list[str], tmp_path: Path
) -> None:
    write = write_csv if kind == "csv" else write_json
    for number, text in enumerate(texts(strings, all_of_them=all_of_them)):
        directory = tmp_path / str(number)
        directory.mkdir()
        write(directory / f"a.{kind}", text)
        read: Callable[..., Any] = ctx.stream_csv if kind == "csv" else ctx.stream_json
        read(directory, Cell, unbounded=unbounded).for_each(print)
        with pytest.raises(mo.SourceError, match=rf"a\.{kind}, line {3 if kind == 'csv' else 2}"):
            ctx.start().wait(60)


@pytest.mark.unbounded
@pytest.mark.parametrize("all_of_them", AMOUNTS)
@pytest.mark.parametrize("name", some((*PROGRAMS, *NATIVE), KINDS))
def test_functions_on_unbounded_input(name: str, all_of_them: bool, spark: SparkSession, strings: list[str]) -> None:
    program: Program = PROGRAMS.get(name) or NATIVE[name]
    for text in texts(strings, all_of_them=all_of_them):
        batches: list[Any] = [[text, text]]
        if name == "time window":
            batches.append(mo.testing.advance_time(100))
        with pytest.raises(mo.ElementError) as raised:
            mo.testing.run(program, batches, engine="unbounded", spark=spark)
        if name in PROGRAMS:
            check(raised.value, text)


@pytest.mark.parametrize("name", PROGRAMS)
def test_functions_on_the_driver(name: str, strings: list[str], chance: random.Random) -> None:
    for text in texts(strings, all_of_them=False):
        with pytest.raises(mo.ElementError) as raised:
            drive(PROGRAMS[name], [[[text, text], mo.testing.advance_time(100)]], chance)
        check(raised.value, text)


@pytest.mark.parametrize("engine", ["spark", "unbounded"])
def test_handlers_get_the_elements_themselves(engine: Any, spark: SparkSession, strings: list[str]) -> None:
    got: list[mo.ElementError] = []
    program: Program = lambda s: s.map(fails, on_error=got.append)  # noqa: E731
    assert mo.testing.run(program, [strings], engine=engine, spark=spark) == []
    assert [error.value for error in got] == strings
    assert [error.__cause__.args for error in got if error.__cause__] == [(text,) for text in strings]


def test_handlers_of_folds_get_the_elements_themselves(spark: SparkSession, strings: list[str]) -> None:
    got: list[mo.ElementError] = []
    program: Program = lambda s: s.fold("", lambda held, t: fails(t), on_error=got.append)  # noqa: E731
    mo.testing.run(program, [strings], engine="spark", spark=spark)
    assert [error.value for error in got] == strings


def test_rows_that_are_skipped(ctx: mo.StreamContext, strings: list[str], tmp_path: Path) -> None:
    write_csv(tmp_path / "a.csv", " ".join(strings))
    stream = ctx.stream_csv(tmp_path / "a.csv", Cell, on_error="skip")
    assert stream.collect() == [Cell(1)]
    assert sum(ctx.metrics()["skipped"].values()) == 1


def test_sinks_and_sources_of_the_users_own(ctx: mo.StreamContext, strings: list[str], tmp_path: Path) -> None:
    text = " ".join(strings)
    ctx.stream_iter([text]).for_each(fails)
    with pytest.raises(mo.ElementError) as raised:
        ctx.execute()
    check(raised.value, text)
    ctx.stream_iter([text]).write_to(FailingSink())
    with pytest.raises(mo.MorisotError, match="RejectedError"):
        ctx.execute()
    ctx.stream(FailingSource(text)).for_each(print)
    with pytest.raises(mo.SourceError, match="FailingSource") as failed:
        ctx.start().wait(60)
    assert text in str(failed.value)

"""Wrong arguments of every public method: the user reads a sentence with a line, and never an error from inside."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pytest

import morisot as mo
from tests.house.public_api import NOT_FOR_USERS


class Sale(NamedTuple):
    shop: str
    price: float


@functools.cache
def context() -> mo.StreamContext:
    return mo.StreamContext(engine="reference")


@functools.cache
def plain() -> mo.Stream[int]:
    return context().stream_iter([1, 2, 3]).add_timestamps(lambda n: n)


@functools.cache
def keyed() -> mo.KeyedStream[int, int]:
    return plain().group_by(lambda n: n % 2)


@functools.cache
def windowed() -> Any:
    return plain().window_all(mo.CountWindow.tumbling(2))


@functools.cache
def keyed_windowed() -> Any:
    return keyed().window(mo.CountWindow.tumbling(2))


def without_arguments() -> int:
    return 0


def of_nine(*, a: int, b: int) -> int:
    return a + b


WRONG: dict[str, Any] = {
    "None": None,
    "a negative int": -1,
    "a text": "x",
    "a list": [1],
    "a dict": {"a": 1},
    "a float": 1.5,
    "an object": object(),
    "a function without parameters": without_arguments,
    "a function of named arguments": of_nine,
}

TARGETS: dict[str, Callable[[], Any]] = {
    "StreamContext": context,
    "Stream": plain,
    "KeyedStream": keyed,
    "WindowedStream": windowed,
    "KeyedWindowedStream": keyed_windowed,
}

ANY_VALUE = {"init", "state", "delta", "late", "element", "elements", "accumulator", "argv", "aggregates"}
"""Parameters that take any value, or that a test of their own covers."""


RIGHT = {
    "stream_iter(iterable=a text)",
    "stream_iter(iterable=a list)",
    "stream_iter(iterable=a dict)",
    "stream_kafka(topic=a text)",
    "stream_kafka(topic=a dict)",
    "stream_kafka(options=a dict)",
    "stream_socket(host=a text)",
    "interval_join(lower=a negative int)",
    "interval_join(upper=a negative int)",
    "name(label=a text)",
    "write_csv(path=a text)",
    "write_csv(delimiter=a text)",
    "write_json(path=a text)",
    "write_parquet(path=a text)",
}
"""Arguments among the wrong ones that a method takes."""


def methods() -> Iterator[Any]:
    for target, make in TARGETS.items():
        cls = type(make())
        for name in sorted(set(dir(cls)) - NOT_FOR_USERS.get(cls, set())):
            found = inspect.getattr_static(cls, name)
            if not name.startswith("_") and inspect.isfunction(found):
                yield pytest.param(target, name, id=f"{target}.{name}")


def right(name: str, parameter: inspect.Parameter, target: str, directory: Path) -> Any:
    """An argument that the method takes, as far as the name of the parameter tells it."""
    of_key = target.startswith("Keyed")
    values: dict[str, Any] = {
        "path": str(directory / "missing"),
        "record": Sale,
        "label": "name",
        "n": 2,
        "max_iterations": 2,
        "n_per_second": 5,
        "host": "localhost",
        "port": 9999,
        "servers": "localhost:9092",
        "topic": "t",
        "desc": mo.CountWindow.tumbling(2),
        "lower": "1s",
        "upper": "1s",
        "mode": mo.BatchMode.fixed(3),
        "iterable": [1],
        "table": pa.table({"a": [1]}),
        "generator": range(3),
        "init": 0,
        "state": 0,
    }
    if parameter.name in values:
        return values[parameter.name]
    if parameter.name in ("other", "others"):
        return keyed() if of_key else plain()
    return _any_number


def _any_number(*args: Any) -> Any:
    return args[-1] if args else 0


@pytest.mark.parametrize(("target", "name"), list(methods()))
def test_wrong_arguments_are_named(target: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    make = TARGETS[target]
    parameters = list(inspect.signature(getattr(type(make()), name)).parameters.values())[1:]
    required = [one for one in parameters if one.default is one.empty and one.kind is one.POSITIONAL_OR_KEYWORD]
    accepted: list[str] = []
    for changed in parameters:
        if changed.name in ANY_VALUE or changed.kind is changed.VAR_KEYWORD:
            continue
        for kind, wrong in WRONG.items():
            if changed.default is not changed.empty and wrong is None:
                continue
            arguments = {one.name: right(name, one, target, tmp_path) for one in required}
            several = changed.kind is changed.VAR_POSITIONAL
            try:
                if several:
                    getattr(make(), name)(wrong)
                else:
                    getattr(make(), name)(**{**arguments, changed.name: wrong})
                accepted.append(f"{target}.{name}({changed.name}={kind})")
            except mo.MorisotError as error:
                if "test_arguments.py:" not in str(error):
                    pytest.fail(f"{changed.name} = {kind}: no line in {error}")
            except Exception as error:
                pytest.fail(f"{changed.name} = {kind}: {type(error).__name__}: {error}")
    assert [each for each in accepted if each.partition(".")[2] not in RIGHT] == []


@pytest.mark.parametrize(("target", "name"), list(methods()))
def test_arguments_that_a_method_does_not_take_are_named(target: str, name: str) -> None:
    method = getattr(TARGETS[target](), name)
    parameters = list(inspect.signature(method).parameters.values())
    if not any(one.kind is one.VAR_KEYWORD for one in parameters):
        with pytest.raises(
            mo.PlanError, match=rf"(?s){name}: .*no_such_parameter.*test_arguments.*call it as {name}\("
        ):
            method(no_such_parameter=1)
    if not any(one.kind is one.VAR_POSITIONAL for one in parameters):
        with pytest.raises(mo.PlanError, match=rf"(?s){name}: too many positional arguments.*test_arguments"):
            method(*range(12))


@pytest.mark.parametrize(
    ("call", "wanted"),
    [
        (lambda: context().stream_csv("x.csv", Sale, delimiter=""), "one character"),
        (lambda: context().stream_csv("x.csv", Sale, delimiter=";;"), "one character"),
        (lambda: context().stream_csv("x.csv", Sale, quote="''"), "one character, or '' for none"),
        (lambda: plain().write_csv("x.csv", delimiter=",,"), "one character"),
        (lambda: mo.StreamContext.from_args("--parallelism 2"), "a list of texts"),
        (lambda: mo.StreamContext.from_args(3), "a list of texts"),  # type: ignore[arg-type]
        (lambda: mo.Snapshots(3), "the path of a directory"),  # type: ignore[arg-type]
        (lambda: mo.Snapshots(""), "the path of a directory"),
    ],
)
def test_arguments_of_the_right_class_and_the_wrong_kind(call: Callable[[], Any], wanted: str) -> None:
    with pytest.raises(mo.MorisotError, match=f"give {wanted}"):
        call()

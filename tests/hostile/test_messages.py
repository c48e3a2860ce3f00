"""What the driver reads from an exception's text: signed messages, from which nothing is imported or run."""

from __future__ import annotations

import random
import subprocess
import sys
import types
from pathlib import Path
from typing import Any, NamedTuple, Self

import pytest
from hypothesis import given
from hypothesis import strategies as st

import morisot as mo
from morisot.errors import ElementError, Location
from morisot.worker.report.exceptions import described, rebuilt
from morisot.worker.report.failure import WorkerFailure, element_error, report_of, reported, reporting
from morisot.worker.report.signature import Seal
from tests.hostile.strings import hostile_strings


def test_a_message_is_read_with_the_key_that_signed_it_alone() -> None:
    ours, other = Seal(), Seal()
    text = f"Traceback …\n{other.sealed({'kind': 'x'})} {ours.sealed({'kind': 'y'})} SQLSTATE: 38000"
    assert list(ours.messages(text)) == [{"kind": "y"}]
    assert list(other.messages(text)) == [{"kind": "x"}]
    assert list(Seal().messages(text)) == []


def test_a_message_that_was_changed_is_not_read() -> None:
    seal = Seal()
    text = seal.sealed({"kind": "y"})
    for place in range(len(text)):
        changed = text[:place] + ("A" if text[place] != "A" else "B") + text[place + 1 :]
        assert list(seal.messages(changed)) == [], place


def test_hostile_text_before_a_message_does_not_hide_it(tmp_path: Path, chance: random.Random) -> None:
    seal = Seal()
    for string in hostile_strings(tmp_path / "loaded", chance):
        assert list(seal.messages(f"{string}{seal.sealed({'kind': 'y'})}{string}")) == [{"kind": "y"}]
    assert not (tmp_path / "loaded").exists()


def test_the_key_is_not_shown() -> None:
    seal = Seal()
    assert seal.key.hex() not in repr(seal)
    assert str(seal.key) not in repr(seal)


class OwnError(ValueError):
    """An exception with arguments, attributes and code of its own."""

    made = 0

    def __new__(cls, *arguments: object) -> Self:
        cls.made += 1
        return super().__new__(cls, *arguments)

    def __init__(self, text: str, code: int) -> None:
        type(self).made += 1
        super().__init__(text, code)
        self.code = code
        self.thing = object()


def test_an_exception_keeps_its_class_arguments_and_plain_attributes() -> None:
    error = OwnError("bad", 7)
    error.add_note("noted")
    OwnError.made = 0
    made = rebuilt(described(error))
    assert type(made) is OwnError
    assert made.args == ("bad", 7)
    assert made.code == 7
    assert made.__notes__ == ["noted"]
    assert not hasattr(made, "thing")
    assert OwnError.made == 0, "no code of the class was run"


@pytest.mark.parametrize(
    "error",
    [
        ValueError("x"),
        KeyError(("a", 1)),
        UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"),
        OSError(2, "No such file", "x.txt"),
        ZeroDivisionError(),
        StopIteration(3),
        subprocess.CalledProcessError(1, ["a"]),
        ExceptionGroup("several", [ValueError(1)]),
    ],
    ids=lambda error: type(error).__name__,
)
def test_exceptions_of_the_library_are_rebuilt(error: BaseException) -> None:
    made = rebuilt(described(error))
    assert made is not None
    if type(error) is ExceptionGroup:  # its parts are no literals
        assert type(made) is Exception
    else:
        assert type(made) is type(error)
        assert str(made) == str(error)


def test_a_class_that_is_not_loaded_becomes_its_nearest_ancestor() -> None:
    class LocalError(KeyError):
        pass

    made = rebuilt(described(LocalError("k")))
    assert type(made) is KeyError
    assert made.args == ("k",)


def test_nothing_is_imported_or_asked_for() -> None:
    asked: list[str] = []

    class Lazy(types.ModuleType):
        def __getattr__(self, name: str) -> object:
            asked.append(name)
            return ValueError

    sys.modules["lazy_module_of_the_test"] = Lazy("lazy_module_of_the_test")
    assert "antigravity" not in sys.modules
    try:
        description = described(ValueError("x"))
        forged = [["antigravity", "Error"], ["lazy_module_of_the_test", "Error"], ["pathlib", "Path"]]
        description["classes"] = [*forged, ["builtins", "eval"], ["builtins", "ValueError"]]
        assert type(rebuilt(description)) is ValueError
    finally:
        del sys.modules["lazy_module_of_the_test"]
    assert asked == []
    assert "antigravity" not in sys.modules


_LITERALS = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text()
    | st.binary()
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(st.lists(_LITERALS, max_size=3))
def test_literal_arguments_come_back_as_they_are(arguments: list[object]) -> None:
    made = rebuilt(described(RuntimeError(*arguments)))
    assert type(made) is RuntimeError
    assert made.args == tuple(arguments)


def test_a_failure_is_the_same_on_the_other_side() -> None:
    seal = Seal()
    try:
        raise OwnError("bad", 7)
    except OwnError as error:
        failed = element_error("map", Location("program.py", 3), {"a": 1}, error)
    with pytest.raises(WorkerFailure) as raised, reporting(seal):
        raise failed from failed.__cause__
    (message,) = seal.messages(str(raised.value))
    found = reported(message)  # type: ignore[arg-type]
    assert isinstance(found, ElementError)
    assert str(found) == str(failed)
    assert found.original_traceback == failed.original_traceback
    assert type(found.__cause__) is OwnError


def test_no_unpickling_in_what_reads_messages() -> None:
    from morisot.engines.spark import failures
    from morisot.engines.spark.internals import causes
    from morisot.engines.spark.terminal import left_out
    from morisot.worker.report import exceptions, failure
    from morisot.worker.report import signature as seal

    for module in (causes, failures, left_out, exceptions, failure, seal):
        assert not {"pickle", "cloudpickle"} & set(vars(module)), module
    assert report_of(ElementError("map", None, "x", "y"))["cause"] is None


class Field(NamedTuple):
    thing: Any


class Fields(NamedTuple):
    things: list[Any]


@pytest.mark.parametrize("record", [Field, Fields])
@pytest.mark.parametrize("kind", ["csv", "json", "parquet"])
def test_files_are_not_read_as_objects_because_these_are_pickles(kind: str, record: Any, tmp_path: Path) -> None:
    file = tmp_path / f"a.{kind}"
    file.touch()
    read = getattr(mo.StreamContext(engine="reference"), f"stream_{kind}")
    with pytest.raises(mo.PlanError, match="its annotation is no element type"):
        read(file, record)

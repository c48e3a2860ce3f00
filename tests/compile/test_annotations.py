"""Annotations: what a function declares counts, also beside names that only type checkers see."""

from __future__ import annotations

import importlib.util
import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import morisot as mo
from morisot.errors import Location
from morisot.plan.nodes.closure import Closure, freeze
from morisot.types.annotations import annotations_of, portable_annotations, signature_of
from morisot.types.element import INT, List
from morisot.types.infer import of_return

QUOTED = """
def f(row: "Row", *, times: int = 2) -> list[int]:
    return [row] * times
"""
UNQUOTED = QUOTED.replace('"', "")

in_text = pytest.param(QUOTED, id="as text")
deferred = pytest.param(
    UNQUOTED,
    id="deferred",
    marks=pytest.mark.skipif(
        sys.version_info < (3, 14), reason="before Python 3.14 the definition raises an exception"
    ),
)


@pytest.fixture(params=[in_text, deferred])
def function(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[..., Any]:
    """A function with an annotation that names something unknown, of a module of its own."""
    file = tmp_path / "unknown_names.py"
    file.write_text(request.param)
    return load(file).f  # type: ignore[no-any-return]


def load(file: Path) -> Any:
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_return_annotation_counts(function: Callable[..., Any]) -> None:
    assert annotations_of(function)["return"] == list[int]
    assert of_return(function) == List(INT)


def test_a_frozen_copy_travels(function: Callable[..., Any]) -> None:
    annotations = freeze(function).__annotations__
    assert annotations["row"] == "Row"
    assert pickle.loads(pickle.dumps(annotations)) == annotations
    assert annotations == portable_annotations(function)


def test_parameters_are_known(function: Callable[..., Any]) -> None:
    assert list(signature_of(function).parameters) == ["row", "times"]
    with pytest.raises(mo.PlanError, match="is called with one argument, the element, but it is written as"):
        mo.StreamContext(engine="reference").stream_iter([1]).map(lambda *, row: row)  # type: ignore[arg-type, misc]


def test_a_program_runs(function: Callable[..., Any]) -> None:
    with mo.StreamContext(engine="reference") as ctx:
        assert ctx.stream_iter([1, 2]).map(function).collect() == [[1, 1], [2, 2]]


@pytest.mark.parametrize("value", [len, int, 3, None, "text"])
def test_what_has_no_annotations_declares_nothing(value: Any) -> None:
    assert annotations_of(value) == portable_annotations(value) == {}


@pytest.mark.skipif(sys.version_info < (3, 14), reason="before Python 3.14 the definition raises an exception")
def test_a_called_function_with_an_unknown_name_is_refused_with_advice(tmp_path: Path) -> None:
    from morisot.engines.spark.emit.python.pickling import check_travels

    file = tmp_path / "calling.py"
    file.write_text(f"{UNQUOTED}\ndef g(x: Other) -> int:\n    return len(f(x))\n")
    function = load(file).g
    with pytest.raises(mo.PlanError, match="name 'Row' is not defined") as caught:
        check_travels(Closure(function, Location(str(file), 1), "map"))
    assert "write the annotation as text" in str(caught.value)

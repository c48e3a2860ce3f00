"""Which modules travel with users' functions: those of the user, none that a worker imports itself."""

from __future__ import annotations

import copy
import functools
import importlib
import json
import pkgutil
import posixpath
import statistics
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest

import morisot
from morisot.engines.spark.emit.python.pickling import check_travels
from morisot.errors import Location
from morisot.installed import is_users
from morisot.plan.nodes.closure import Closure, freeze


def test_no_module_of_ours_travels() -> None:
    names = [each.name for each in pkgutil.walk_packages(morisot.__path__, "morisot.")]
    modules = [importlib.import_module(name) for name in names if "worker_daemon" not in name]
    assert len(modules) > 200
    assert [module.__name__ for module in modules if is_users(module)] == []


@pytest.mark.parametrize("module", [json, numpy, sys, importlib.import_module("pyspark.sql")])
def test_no_installed_module_travels(module: types.ModuleType) -> None:
    assert not is_users(module)


def test_a_module_of_the_user_travels(tmp_path: Path) -> None:
    module = types.ModuleType("helpers")
    module.__file__ = str(tmp_path / "helpers.py")
    assert is_users(module)


@pytest.mark.parametrize(
    "function", [json.loads, copy.deepcopy, functools.reduce, statistics.median, posixpath.basename]
)
def test_a_function_of_a_library_travels_by_reference(function: Callable[..., Any]) -> None:
    closure = Closure(function, Location("program.py", 1), "map")
    assert closure.function is function
    check_travels(closure)


def test_a_function_of_the_user_is_frozen() -> None:
    assert freeze(tests_helper) is not tests_helper
    local = eval("lambda x: x", {"__name__": "json"})
    assert freeze(local) is not local


def tests_helper() -> None: ...

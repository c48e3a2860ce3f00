"""Which modules travel with users' functions: those of the user, none that a worker imports itself."""

from __future__ import annotations

import importlib
import json
import pkgutil
import sys
import types
from pathlib import Path

import numpy
import pytest

import morisot
from morisot.engines.spark.emit.python.pickling import is_users


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

"""Another version of Spark is refused in words; the one that is installed was checked."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyspark
import pytest

from morisot.config import CONNECTORS
from morisot.engines.spark.internals import names, version
from morisot.engines.spark.session import session
from morisot.errors import EnvironmentProblem

ROOT = Path(__file__).parents[2]


def test_the_installed_version_was_checked() -> None:
    version.check_version(version.installed_version())


@pytest.mark.parametrize("other", ["4.2.9", "4.30.0", "5.0.0", "4.4.0.dev1"])
def test_another_version_is_refused_by_a_message_that_names_both(other: str) -> None:
    with pytest.raises(EnvironmentProblem, match=rf"^This is Spark {re.escape(other)}, and .* with Spark 4\.3:"):
        version.check_version(other)


def test_another_pyspark_is_refused_before_anything_is_called(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pyspark, "__version__", "4.4.0")
    monkeypatch.setattr(session, "forget_dead", lambda: pytest.fail("it asks PySpark for its gateway"))
    with pytest.raises(EnvironmentProblem, match=r"^This is Spark 4\.4\.0,"):
        session.build_session()


def test_a_session_of_another_spark_is_refused() -> None:
    other: Any = SimpleNamespace(version="4.4.0", _jsparkSession=None)
    with pytest.raises(EnvironmentProblem, match=r"^This is Spark 4\.4\.0,"):
        session.check_session(other)


def test_the_package_asks_for_checked_versions_alone() -> None:
    dependencies = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    (asked,) = (each for each in dependencies if each.startswith("pyspark"))
    major, minor = map(int, version.CHECKED[-1].split("."))
    assert asked == f"pyspark>={version.CHECKED[0]},<{major}.{minor + 1}"


def test_every_connector_has_coordinates() -> None:
    assert [names.coordinates(each, "4.3.0") for each in CONNECTORS] == [
        "org.apache.spark:spark-sql-kafka-0-10_2.13:4.3.0"
    ]

"""What all tests share: one Spark session a process, hypothesis profiles, and which tests need a JVM."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest

from tests.durations import Recorder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SOURCE = Path(__file__).parents[1] / "src" / "morisot"
# Packages whose doctests run programs on Spark.
ON_SPARK = tuple(SOURCE / name for name in ("api", "run", "lower", "annotations", "cli"))

# Tests are many short jobs: the JVM's second compiler takes more than it gives back, also in programs that tests start.
os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")

hypothesis.settings.register_profile(
    "ci", max_examples=30, deadline=None, derandomize=True, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.register_profile("thorough", parent=hypothesis.settings.get_profile("ci"), max_examples=1000)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """One small session for all tests of this process."""
    from morisot.config import Config
    from morisot.run.session import build_session

    session = build_session(Config(master="local[2]", parallelism=2, memory="1g", progress=False))
    yield session
    session.stop()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--record-durations", metavar="FILE", help="write what each test costs to a file")


def pytest_configure(config: pytest.Config) -> None:
    file = config.getoption("--record-durations")
    if file:
        config.pluginmanager.register(Recorder(Path(file)), "durations")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        on_spark = isinstance(item, pytest.DoctestItem) and any(item.path.is_relative_to(part) for part in ON_SPARK)
        if on_spark or "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.jvm)

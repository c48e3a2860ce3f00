"""Fixtures of the operator tests."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import morisot as mo
from tests.driver.spark_runs import check_claims
from tests.operators.engines import Runner

THOROUGH = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"
ENGINES = (
    "reference",
    pytest.param("bounded", marks=pytest.mark.jvm),
    "driver",
    pytest.param("unbounded", marks=pytest.mark.jvm),
)
"""On unbounded input the driver runs every test, and Spark those of `tests.driver.spark_runs`, or all of them in
`make thorough`."""


PARTITIONED = {
    "test_aggregate",
    "test_combine",
    "test_file_order",
    "test_keyed",
    "test_order",
    "test_order_columns",
    "test_partition",
    "test_source",
    "test_source_files",
    "test_state",
    "test_tokens",
    "test_window",
}
"""Files whose tests run in two partitions on bounded input, because results depend on rows of several partitions."""


@pytest.fixture
def make_context(request: pytest.FixtureRequest) -> Callable[[str], mo.StreamContext]:
    """A context on the named engine; Spark is started only for those who ask.

    One partition takes a third less than two, which are for tests about partitions and for `make thorough`.
    """
    marked = THOROUGH or request.node.get_closest_marker("partitions")

    def make(engine: str) -> mo.StreamContext:
        if engine in ("reference", "driver"):
            return mo.StreamContext(engine="reference")
        several = marked or (engine == "bounded" and request.node.path.stem in PARTITIONED)
        config = mo.Config(progress=False, parallelism=None if several else 1)
        return mo.StreamContext(request.getfixturevalue("spark"), config=config)

    return make


@pytest.fixture(params=ENGINES)
def runner(request: pytest.FixtureRequest, make_context: Any, chance: random.Random) -> Iterator[Runner]:
    """Every engine, one after the other."""
    runner = Runner(request.param, make_context, chance)
    yield runner
    if runner.engine == "driver":
        check_claims(request.node.nodeid, runner.drives)


@pytest.fixture(params=ENGINES[2:])
def unbounded_runner(request: pytest.FixtureRequest, make_context: Any, chance: random.Random) -> Iterator[Runner]:
    """The engines for unbounded input: for tests about micro-batches."""
    runner = Runner(request.param, make_context, chance)
    yield runner
    if runner.engine == "driver":
        check_claims(request.node.nodeid, runner.drives)


@pytest.fixture(params=ENGINES[:2])
def bounded_runner(request: pytest.FixtureRequest, make_context: Any) -> Runner:
    """The engines for bounded input: for operators that do not run unbounded yet."""
    return Runner(request.param, make_context)


@pytest.fixture(params=ENGINES[:2])
def ctx(request: pytest.FixtureRequest, make_context: Any) -> mo.StreamContext:
    """A context on the reference engine and on Spark."""
    return make_context(request.param)  # type: ignore[no-any-return]


@pytest.fixture
def spark_ctx(make_context: Any) -> mo.StreamContext:
    """A context on Spark."""
    return make_context("bounded")  # type: ignore[no-any-return]

"""Fixtures for pytest, which run a test on every engine. Add this module to `pytest_plugins`.

`morisot_run(program, batches)` is `mo.testing.run` on the engine of the test. A project may override the fixtures
`morisot_engine`, to select engines, and `morisot_spark`, to use its own Spark session.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, get_args

import pytest

from morisot.api.context import StreamContext
from morisot.config import Config
from morisot.testing.run import Engine, run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(params=get_args(Engine))
def morisot_engine(request: pytest.FixtureRequest) -> Engine:
    """The engine of the test: "reference", "spark" or "unbounded"."""
    engine: Engine = request.param
    return engine


@pytest.fixture(scope="session")
def morisot_spark() -> Iterator[SparkSession]:
    """A Spark session that all tests share."""
    with StreamContext(config=Config(progress=False), engine="spark") as context:
        yield context.spark


@pytest.fixture
def morisot_run(morisot_engine: Engine, request: pytest.FixtureRequest) -> Callable[..., list[Any]]:
    """`mo.testing.run` on the engine of the test. Spark starts only for tests that run on it."""
    spark = None if morisot_engine == "reference" else request.getfixturevalue("morisot_spark")
    return functools.partial(run, engine=morisot_engine, spark=spark)

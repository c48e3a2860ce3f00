"""What all tests share: one Spark session a process, one seed a run, and which tests need a JVM."""

from __future__ import annotations

import inspect
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.driver.spark_runs import SPARK_RUNS
from tests.durations import ENGINES, Recorder, variant_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SOURCE = Path(__file__).parents[1] / "src" / "morisot"
WORKERS = Path(__file__).parent / "workers"
USING_SPARK = {"spark", "spark_ctx"}
"""The fixtures that start Spark."""
HEAVY = {"recovery", "hostile", "examples", "test_plain_session", "test_session", "test_loop", "test_benchmarks"}
"""Directories and files whose tests take long: they come first, so that the processes end together."""
DRIVEN = {"operators", "cases"}
"""Directories whose tests on unbounded input run on the driver, and on Spark in `make thorough` or by SPARK_RUNS."""
SLOW = {
    "driver",
    "test_benchmarks",
    "test_budget",
    "test_closure_corpus",
    "test_loop_task",
    "test_private_calls",
    "test_randomness",
    "test_structure",
    "test_timers",
    "test_typing",
    "test_without_spark",
    "test_wording",
}
"""Directories and files whose tests need no JVM and take long."""
SAMPLED = {"test_kernel", "test_loop_kernel"}
"""Files that compile machine code: of the cases of a test, `make fast` runs every eighth."""
COLLECTED = pytest.StashKey[tuple[pytest.Item, ...]]()
"""All tests that were found."""
# Packages whose doctests run programs on Spark.
ON_SPARK = tuple(SOURCE / name for name in ("api", "engines/spark", "annotations", "cli"))

# A shell that starts the tests in the background has them ignore Ctrl-C, and the programs that they start inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Tests are many short jobs: the JVM's second compiler takes more than it gives back, also in programs that tests start.
os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
# The Python processes that Spark starts find `sitecustomize` there.
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), str(WORKERS)]))


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """One small session for all tests of this process."""
    from morisot.config import Config
    from morisot.engines.spark.session.session import build_session

    session = build_session(Config(master="local[2]", parallelism=2, memory="1g", progress=False))
    yield session
    session.stop()


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The connection string of a PostgreSQL server for all tests of this process."""
    from tests.postgres import server

    with server() as conninfo:
        yield conninfo


@pytest.fixture
def collected(request: pytest.FixtureRequest) -> tuple[pytest.Item, ...]:
    """All tests that were found, also those that are left out."""
    return request.config.stash[COLLECTED]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--record-durations", metavar="FILE", help="write what each test costs to a file")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.import_plugin("tests.randomness")
    file = config.getoption("--record-durations")
    if file:
        config.pluginmanager.register(Recorder(Path(file)), "durations")


@pytest.hookimpl(tryfirst=True)  # before marks and names on the command line leave some out
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        mark(item)
    if items:
        items[0].config.stash[COLLECTED] = tuple(items)
    items.sort(key=lambda item: not HEAVY & {*item.path.parts, item.path.stem})  # sorting keeps the order of the rest


def mark(item: pytest.Item) -> None:
    """Say what a test needs, where its fixtures, its parameters or its file tell."""
    fixtures = set(getattr(item, "fixturenames", ()))
    arguments = set(inspect.signature(item.function).parameters) if isinstance(item, pytest.Function) else set()
    on_spark = isinstance(item, pytest.DoctestItem) and any(item.path.is_relative_to(part) for part in ON_SPARK)
    if on_spark or USING_SPARK & fixtures or "make_context" in arguments:
        item.add_marker(pytest.mark.jvm)
    parameters = item.callspec.params.values() if hasattr(item, "callspec") else ()
    texts = {each for each in parameters if isinstance(each, str)}
    indices = item.callspec.indices.values() if hasattr(item, "callspec") else ()
    sampled_out = item.path.stem in SAMPLED and any(index % 8 for index in indices)
    if sampled_out or SLOW & {*item.path.parts, item.path.stem} or "driver" in texts:
        item.add_marker(pytest.mark.slow)
    engines = {*ENGINES} & {each for each in parameters if isinstance(each, str)}
    if "unbounded" in engines or ("unbounded" in item.path.stem and not engines):
        item.add_marker(pytest.mark.unbounded)
    if "unbounded" in engines and DRIVEN & {*item.path.parts} and item.nodeid not in SPARK_RUNS:
        item.add_marker(pytest.mark.thorough)
    for engine in engines & {"bounded", "unbounded"}:
        variants = item.get_closest_marker(f"{engine}_thorough")
        if variants and variant_of(item) not in variants.kwargs.get("kept", ()):
            item.add_marker(pytest.mark.thorough)

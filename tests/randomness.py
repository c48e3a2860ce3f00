"""What is random in the tests draws from one seed of the run; a failure prints the command that repeats it."""

from __future__ import annotations

import os
import random
import shlex
import sys
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from hypothesis.database import DirectoryBasedExampleDatabase
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants

PROFILE = "HYPOTHESIS_PROFILE"
_SEED = pytest.StashKey[int]()
_SHARED = "seed"
_DRAWING = ("hypothesis", "seeded")
"""The marks of tests that draw from the seed."""

hypothesis.settings.register_profile(
    "ci",
    max_examples=30,
    deadline=None,
    derandomize=False,
    database=DirectoryBasedExampleDatabase(".hypothesis/examples"),
    print_blob=True,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.register_profile("thorough", parent=hypothesis.settings.get_profile("ci"), max_examples=1000)
hypothesis.settings.load_profile(os.environ.get(PROFILE, "ci"))

# Hypothesis also draws constants from the source of the modules that are loaded. Which these are depends on the tests
# that ran before in the process, so one test alone would not get the examples that it had in a run of all.
assert callable(providers._get_local_constants)
providers._get_local_constants = Constants


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "seeded: draws from the seed of the run, without hypothesis (fixture `chance`)")
    config.stash[_SEED] = _chosen(config)


def _chosen(config: pytest.Config) -> int:
    """The seed that the user gave, that of the controller of this worker, or a new one."""
    given = config.getoption("--hypothesis-seed")
    if given is None:
        given = getattr(config, "workerinput", {}).get(_SHARED, random.SystemRandom().randrange(10**9))
    try:
        return int(given)
    except ValueError:
        raise pytest.UsageError(f"--hypothesis-seed is a number, not {given!r}") from None


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell a worker of pytest-xdist the seed."""
    node.workerinput[_SHARED] = node.config.stash[_SEED]


def pytest_report_header(config: pytest.Config) -> str:
    return f"seed: {config.stash[_SEED]} (--hypothesis-seed={config.stash[_SEED]} repeats the run)"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        function = getattr(item, "function", None)
        if "chance" in getattr(item, "fixturenames", ()):
            item.add_marker("seeded")
        if function is not None and hypothesis.is_hypothesis_test(function):
            # As the decorator @seed and --hypothesis-seed do; but those do not look up what failed in earlier runs.
            function._hypothesis_internal_use_seed = config.stash[_SEED]


@pytest.fixture
def chance(request: pytest.FixtureRequest) -> random.Random:
    """A generator of random numbers that gives a test the same ones for the same seed of the run."""
    return random.Random(f"{request.config.stash[_SEED]} {request.node.nodeid}")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    failed = [*terminalreporter.getreports("failed"), *terminalreporter.getreports("error")]
    tests = [report for report in failed if isinstance(report, pytest.TestReport)]  # not those of failed collections
    names = dict.fromkeys(report.nodeid for report in tests if any(mark in report.keywords for mark in _DRAWING))
    if names:
        terminalreporter.section("random examples")
        terminalreporter.write_line("These failures may depend on the seed of this run. To repeat them:")
        terminalreporter.write_line(repeating(config.stash[_SEED], list(names)))


def repeating(seed: int, names: list[str]) -> str:
    """The command that runs tests with the examples that they drew."""
    python, here = Path(sys.executable), Path.cwd()
    program = str(python.relative_to(here) if python.is_relative_to(here) else python)
    command = shlex.join([program, "-m", "pytest", f"--hypothesis-seed={seed}", *names])
    return f"{PROFILE}={shlex.quote(os.environ[PROFILE])} {command}" if PROFILE in os.environ else command

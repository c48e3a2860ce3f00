"""Sessions of Spark Connect: what runs there, and what is refused when a job is started."""

from __future__ import annotations

import importlib.util
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import morisot as mo
from morisot.engines.spark.session.java_runtime import find_java, launcher_variables
from morisot.engines.spark.streaming.launch import refuse_on_connect

if TYPE_CHECKING:
    from morisot.plan.nodes.sink import SinkNode

PROGRAM = Path(__file__).with_name("plain_session.py")
SERVER = """
import sys
from pyspark.sql import SparkSession
settings = {"ui.enabled": "false", "sql.shuffle.partitions": "2", "connect.grpc.binding.port": sys.argv[1],
            "plugins": "org.apache.spark.sql.connect.SparkConnectPlugin"}
builder = SparkSession.builder.master("local[2]")
for name, value in settings.items():
    builder = builder.config(f"spark.{name}", value)
builder.getOrCreate()
print("up", flush=True)
sys.stdin.read()
"""
RUN = ["bounded_times", "files", "stream_goes_on_from_a_snapshot", "loop_with_snapshots"]
REFUSED = ["channel_into_for_each", "running_aggregates"]


def sinks(context: mo.StreamContext) -> list[SinkNode]:
    return list(context._sinks)


def unbounded(tmp_path: Path) -> mo.Stream[int]:
    return mo.StreamContext().stream_file(tmp_path, unbounded=True).map(lambda line: int(line))


def test_functions_of_the_program_are_refused(tmp_path: Path) -> None:
    numbers = unbounded(tmp_path)
    numbers.for_each(print)
    with pytest.raises(mo.EnvironmentProblem, match=r"^for_each \(.*\) cannot take the elements on a Spark Connect"):
        refuse_on_connect(sinks(numbers._context))


def test_running_values_are_refused(tmp_path: Path) -> None:
    counts = unbounded(tmp_path).group_by_count(lambda n: n % 2)
    counts.write_parquet(str(tmp_path / "out"))
    with pytest.raises(mo.EnvironmentProblem, match=r"^write_parquet \(.*\) cannot take the running values of"):
        refuse_on_connect(sinks(counts._context))


def test_rows_that_are_written_are_not_refused(tmp_path: Path) -> None:
    numbers = unbounded(tmp_path)
    numbers.write_parquet(str(tmp_path / "out"))
    refuse_on_connect(sinks(numbers._context))


# --- a server ---


def environment() -> dict[str, str]:
    path = os.pathsep.join(filter(None, sys.path))
    python = {"PYSPARK_PYTHON": sys.executable, "PYTHONPATH": path}
    return {**os.environ, **launcher_variables(find_java()), **python}


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """What jobs gave on a server that this machine runs."""
    directory = tmp_path_factory.mktemp("connect")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    command = [sys.executable, "-c", SERVER, port]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    server = subprocess.Popen(command, cwd=directory, env=environment(), text=True, **pipes)  # type: ignore[call-overload]
    try:
        assert server.stdout.readline() == "up\n"
        client = [sys.executable, str(PROGRAM), f"sc://127.0.0.1:{port}", *RUN, *REFUSED]
        done = subprocess.run(
            client, cwd=directory, env=environment(), capture_output=True, text=True, check=False, timeout=250
        )
        assert done.returncode == 0, done.stderr[-5000:]
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        yield {line["job"]: line for line in lines}
    finally:
        server.communicate()  # closes its input, and so ends it


needs_client = pytest.mark.skipif(importlib.util.find_spec("grpc") is None, reason="pip install 'pyspark[connect]'")


@needs_client
@pytest.mark.jvm
@pytest.mark.program
@pytest.mark.thorough
@pytest.mark.parametrize("name", RUN)
def test_a_job_gives_what_the_reference_gives(name: str, outcomes: dict[str, Any]) -> None:
    assert outcomes[name]["found"] == outcomes[name]["wanted"]


@needs_client
@pytest.mark.jvm
@pytest.mark.program
@pytest.mark.thorough
@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_run_is_refused_when_it_starts(name: str, outcomes: dict[str, Any]) -> None:
    found = outcomes[name]["found"]
    assert found.startswith("EnvironmentProblem: for_each (")
    assert "on a Spark Connect session" in found

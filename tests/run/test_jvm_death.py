"""The JVM ends during a job: the caller gets an error that says so, and a new context works."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

import morisot as mo
from morisot.engines.spark.session.jvm_death import Jvm, caused_by_death, how, is_sign, remember, sentence
from morisot.engines.spark.streaming.job import Job, ThreadPart
from morisot.engines.spark.streaming.metrics import Measures
from morisot.errors import ElementError, JobError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[2]

PROGRAM = '''
import contextlib, io, os, pathlib, signal, tempfile, threading, time
import morisot as mo
from pyspark.core.context import SparkContext

config = mo.Config(master="local[2]", parallelism=2, memory="1g", progress=False)


def kill():
    os.kill(SparkContext._gateway.proc.pid, signal.SIGKILL)


def kill_when(started):
    """Kill the JVM as soon as a task says that it runs."""
    started.unlink(missing_ok=True)
    def wait():
        while not started.exists():
            time.sleep(0.05)
        kill()
    threading.Thread(target=wait, daemon=True).start()


def caused_by_death(name, action):
    """What an action raises: it is JobError, in plain words, and it comes soon."""
    began = time.monotonic()
    try:
        result = action()
    except mo.JobError as error:
        text = str(error)
        plain = text.startswith("The JVM in which Spark ran") and "SIGKILL" in text and "\\n" not in text
        print(name, "caused_by_death" if plain and error.__cause__ is None else repr(text), flush=True)
    except BaseException as error:
        print(name, repr(error), flush=True)
    else:
        print(name, "ended well:", result, flush=True)
    if time.monotonic() - began > 30:
        print(name, "too late", flush=True)


running = pathlib.Path(tempfile.gettempdir(), "running")


def slow(n):
    running.touch()
    time.sleep(0.2)
    return n + 1
'''

UNBOUNDED = """
# an unbounded job
ctx = mo.StreamContext(config=config)
inlet, numbers = ctx.stream_channel(int)
results = numbers.map(lambda n: n + 1).collect_channel()
job = ctx.start()
inlet.send_all([1, 2])
print(results.get(), results.get())
kill()
caused_by_death("wait", lambda: job.wait(60))
print("exception", isinstance(job.exception(), mo.JobError), job.running)
caused_by_death("catch_up", job.catch_up)
caused_by_death("metrics", job.metrics)
caused_by_death("channel", lambda: list(results))
caused_by_death("stop", job.stop)
print("snapshots", job.snapshots())
stream = ctx.stream_iter(range(10)).map(lambda n: n + 1)
caused_by_death("collect", stream.collect)
caused_by_death("to_arrow", stream.to_arrow)
with contextlib.redirect_stdout(io.StringIO()) as shown:
    caused_by_death("explain", lambda: stream.explain(detail=True))
print(shown.getvalue().splitlines()[-1])
stream.collect_vec()
caused_by_death("execute", ctx.execute)
ctx.close()
"""

BOUNDED = """
# a bounded action, in the middle
with mo.StreamContext(config=config) as ctx:
    print("new", ctx.stream_iter([1, 2]).map(lambda n: n + 1).collect())
    kill_when(running)
    caused_by_death("collect", lambda: ctx.stream_iter(range(1000)).map(slow).collect())
print("closed")

# a loop
ctx = mo.StreamContext(config=config)
body = lambda stream, state: stream.map(slow)
kill_when(running)
caused_by_death("loop", lambda: ctx.stream_iter(range(4)).replay(
    1000, 0, body, lambda d, n: d + n, lambda s, d: s + d, lambda s: True, delta=0).collect())
ctx.close()
"""

SAID_OF_UNBOUNDED = """
2 3
wait caused_by_death
exception True False
catch_up caused_by_death
metrics caused_by_death
channel caused_by_death
stop caused_by_death
snapshots []
collect caused_by_death
to_arrow caused_by_death
explain caused_by_death
execute caused_by_death
"""

SAID_OF_BOUNDED = """
new [2, 3]
collect caused_by_death
closed
loop caused_by_death
"""


@pytest.mark.jvm
@pytest.mark.program
@pytest.mark.parametrize(
    ("parts", "said"),
    [
        (UNBOUNDED, SAID_OF_UNBOUNDED),
        pytest.param(UNBOUNDED + BOUNDED, SAID_OF_UNBOUNDED.rstrip() + SAID_OF_BOUNDED, marks=pytest.mark.thorough),
    ],
    ids=["an unbounded job", "three jobs"],
)
def test_whoever_waits_for_spark_is_told_that_its_jvm_has_ended(parts: str, said: str, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM + parts)
    temporary = tmp_path / "t"
    temporary.mkdir()
    path = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    environ = {**os.environ, "PYTHONPATH": path, "TMPDIR": str(temporary)}
    done = subprocess.run(
        [sys.executable, program], env=environ, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=280
    )
    assert (done.stdout.strip(), done.stderr) == (said.strip(), "")
    assert {file.name for file in temporary.iterdir()} <= {"running"}, "no temporary directory stays"


# --- without Spark ---


class Ended:
    """The process of a JVM that has ended."""

    pid = 7

    def __init__(self, code: int | None) -> None:
        self._code = code

    def poll(self) -> int | None:
        return self._code


@pytest.mark.parametrize(
    ("code", "said", "expected"),
    [
        (-9, "", "it was killed (SIGKILL)"),
        (137, "", "it was killed (SIGKILL)"),
        (-6, "", "it crashed (SIGABRT)"),
        (143, "", "it was ended by SIGTERM."),
        (
            3,
            "java.lang.OutOfMemoryError: Java heap space",
            "its heap was too small. Give it more with Config(memory=…).",
        ),
        (1, "", "its exit code is 1."),
    ],
)
def test_how_a_jvm_ended_is_said(code: int, said: str, expected: str) -> None:
    assert how(code, said).startswith(expected)


def test_the_last_lines_of_stderr_are_told() -> None:
    text = sentence(Jvm(Ended(1), lambda: "one\ntwo"))
    assert text.startswith("The JVM in which Spark ran (process 7) has ended: its exit code is 1.")
    assert text.endswith("as well:\none\ntwo")
    assert "stderr" not in sentence(Jvm(Ended(1), str))


def session(code: int | None) -> Any:
    """A session whose JVM has ended, or not."""

    class Client:
        pass

    client = Client()
    remember(client, Jvm(Ended(code), str))
    return SimpleNamespace(_jvm=SimpleNamespace(_gateway_client=client))


def test_only_errors_that_may_come_from_the_end_of_the_jvm_are_taken_for_it() -> None:
    assert isinstance(caused_by_death(session(-9), ValueError("anything")), JobError)
    assert isinstance(caused_by_death(session(-9), JobError("a loop ended too early")), JobError)
    assert caused_by_death(session(-9), ElementError("map", None, "1", "ValueError")) is None
    assert caused_by_death(session(None), ValueError("anything")) is None


def test_a_broken_connection_is_a_sign_of_the_end() -> None:
    assert is_sign(ConnectionRefusedError())
    assert is_sign(EOFError())
    wrapped = RuntimeError("x")
    wrapped.__cause__ = BrokenPipeError()
    assert is_sign(wrapped)
    assert is_sign(RuntimeError("Job 3 cancelled because SparkContext was shut down"))
    assert not is_sign(ValueError("x"))


def test_a_job_whose_thread_ends_with_any_error_has_failed() -> None:
    def fail() -> None:
        raise KeyError("unexpected key")

    job = Job([ThreadPart("bounded", fail, lambda: {"skipped": {}, "diverted": {}, "late": {}})])
    with pytest.raises(JobError, match="unexpected KeyError: 'unexpected key'") as caught:
        job.wait(60)
    assert isinstance(caught.value.__cause__, KeyError)
    assert job.exception() is caught.value
    assert repr(job) == "<Job failed>"


def test_a_stream_whose_watch_meets_any_error_has_failed(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise KeyError("unexpected key")

    with mo.StreamContext(spark) as ctx:
        inlet, numbers = ctx.stream_channel(int)
        results = numbers.collect_channel()
        monkeypatch.setattr(Measures, "add", fail)
        job = ctx.start()
        inlet.send(1)
        with pytest.raises(JobError, match="unexpected KeyError"):
            job.wait(60)
        with pytest.raises(JobError, match="unexpected KeyError"):
            list(results)
        with pytest.raises(JobError, match="unexpected KeyError"):
            job.catch_up()

"""Starts the JVM of Spark, and forwards its stderr."""

from __future__ import annotations

import contextlib
import functools
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING

from morisot.config import Config
from morisot.engines.spark.internals import gateway as gateways
from morisot.engines.spark.session.class_archive import COLLECTOR, archive_options, drop_archive
from morisot.engines.spark.session.ending import at_exit
from morisot.engines.spark.session.java_runtime import Java, launcher_variables
from morisot.engines.spark.session.jvm_death import Jvm, remember
from morisot.engines.spark.session.scratch import temporary_directory
from morisot.errors import EnvironmentProblem

if TYPE_CHECKING:
    from py4j.java_gateway import JavaGateway
    from pyspark.conf import SparkConf

JAVA_OPTIONS = "spark.driver.defaultJavaOptions"
_NEWEST_WITH_VFORK = 24
"""The newest Java that starts processes by vfork without a warning."""
_OPTIONS = ("SPARK_SUBMIT_OPTS", "JDK_JAVA_OPTIONS", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS")
"""Environment variables from which Spark and Java read further options."""

# Warnings that the JVM prints before any logger exists: Spark adds an incubating module, and opens a package that Java
# 24 does not have any more.
_NOISE = (b"WARNING: Using incubator modules", b"WARNING: package sun.security.action not in java.base")
# PySpark prints this, followed by an empty line, when a stateful query starts. There is no setting for it.
_WORKERS_NAME = b"Streaming TransformWithStateInPandas Python worker"
_WORKERS_NOISE = (_WORKERS_NAME, b"Starting " + _WORKERS_NAME)
_EVERYTHING = (b"",)
_LAST_LINES = 10
_LOOK_SECONDS = 0.05
_KILL_SECONDS = 5.0
_UNFETCHED = re.compile(r"unresolved dependency: ([^\s\]]+?):? (?:not found|[\w ]+)")


def java_options(config: Config, java: Java) -> list[str]:
    options = [
        f"-Dlog4j2.configurationFile={gateways.LOG_SETTINGS.as_uri()}",
        f"-Dmorisot.log={'WARN' if config.verbose else 'OFF'}",
        # The JVM's own messages go to stderr, which is forwarded (see _Forwarding), and only errors.
        "-XX:+DisplayVMOutputToStderr",
        "-Xlog:disable",
        # No messages about archives of classes: Java starts without one that does not fit.
        "-Xlog:all=error,cds*=off:stderr",
    ]
    if java.major <= _NEWEST_WITH_VFORK:
        # Hadoop starts `chmod` for every file that it creates; this way it is started without a helper process.
        options.append("-Djdk.lang.Process.launchMechanism=VFORK")
    if not names_collector(config, os.environ):
        # Java's default collector optimises for short pauses, at the cost of throughput.
        options.append(COLLECTOR)
    return options + archive_options(java)


def names_collector(config: Config, environ: Mapping[str, str]) -> bool:
    """Whether the user has selected a garbage collector: Java does not start with two."""
    given = [config.spark.get("spark.driver.extraJavaOptions", ""), *(environ.get(name, "") for name in _OPTIONS)]
    return any(re.search(r"-XX:\+Use\w+GC\b", each) for each in given)


class Launch:
    """A JVM that is starting, which another thread may kill at any time."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._given_up = False

    def watch(self, process: subprocess.Popen[bytes]) -> None:
        """Sets the process, once it exists."""
        self._process = process
        if self._given_up:
            self.kill()

    def kill(self) -> None:
        """Kills the process, now or as soon as it exists."""
        self._given_up = True
        if self._process is not None:
            self._process.kill()

    def clear(self) -> None:
        """Kills the process, and waits for its end."""
        self.kill()
        if self._process is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_KILL_SECONDS)


def launch(conf: SparkConf, config: Config, java: Java, start: Launch | None = None) -> JavaGateway:
    """Starts the JVM, and forwards its stderr. Spark downloads packages during the start, and logs every file."""
    start = start or Launch()
    while True:
        connection = temporary_directory("jvm") / "connection"
        process, forwarding = _begin(conf, config, java, connection)
        start.watch(process)
        if _is_up(process, connection):
            break
        process.communicate()
        said = forwarding.give_up()
        # A JVM crashes at its start if the archive of classes is damaged.
        if not (_crashed(process) and drop_archive(conf.get(JAVA_OPTIONS, "") or "")):
            raise _refusal(said)
    gateway = _gateway(connection)
    gateway.proc = process
    remember(gateways.client_of(gateway), Jvm(process, forwarding.last_words))
    forwarding.open()
    at_exit(functools.partial(_end, gateway, forwarding))
    return gateway


def _begin(
    conf: SparkConf, config: Config, java: Java, connection: Path
) -> tuple[subprocess.Popen[bytes], _Forwarding]:
    """A JVM that is on its way up, and the thread that reads its stderr."""
    receiving, sending = os.pipe()
    forwarding = _Forwarding(receiving, quiet=not config.verbose, drop=_EVERYTHING if config.packages else _NOISE)
    try:
        return _spawn(conf, java, connection, sending), forwarding
    finally:
        os.close(sending)


def _crashed(process: subprocess.Popen[bytes]) -> bool:
    """Whether a signal of its own making ended a process."""
    return process.returncode in (-signal.SIGSEGV, -signal.SIGABRT, -signal.SIGBUS)


def _spawn(conf: SparkConf, java: Java, connection: Path, stderr: int) -> subprocess.Popen[bytes]:
    """Starts Spark's command, which becomes the JVM.

    It ends when its stdin closes. A Ctrl-C at the terminal is sent to a process group: the JVM and the Python workers
    are not in the group of the program.
    """
    settings = [part for name, value in conf.getAll() for part in ("--conf", f"{name}={value}")]
    arguments = shlex.split(os.environ.get("PYSPARK_SUBMIT_ARGS", "pyspark-shell"))
    command = [str(gateways.spark_submit()), *settings, *arguments]
    variables = {"SPARK_CONNECT_MODE": "0", gateways.CONNECTION_FILE: str(connection), **launcher_variables(java)}
    environ = {**os.environ, **variables}
    return subprocess.Popen(command, stdin=subprocess.PIPE, stderr=stderr, env=environ, process_group=0)


def _is_up(process: subprocess.Popen[bytes], connection: Path) -> bool:
    """Waits until the JVM has written its address, or has ended."""
    while not connection.is_file():
        if process.poll() is not None:
            return connection.is_file()
        time.sleep(_LOOK_SECONDS)
    return True


def _gateway(connection: Path) -> JavaGateway:
    """The gateway to a JVM that has written its address, as PySpark sets it up."""
    variables = gateways.address(connection)
    shutil.rmtree(connection.parent, ignore_errors=True)
    with environment(variables):
        return gateways.connect()


def _refusal(said: str) -> EnvironmentProblem:
    """The error for a JVM that did not start."""
    if missing := _UNFETCHED.search(said):
        package = re.sub("[#;]", ":", missing[1])
        return EnvironmentProblem(
            f"Spark could not fetch {package}, which the setting `packages` requests: check its name, and that "
            "this machine reaches Maven Central. If this version is not there, name another by its coordinates. "
            "Another repository is named by the Spark setting jars.repositories, or in a file that "
            "jars.ivySettings names."
        )
    return EnvironmentProblem(
        "Java did not start; check the settings `memory` and `spark`. Its output:\n" + (said or "nothing")
    )


@contextlib.contextmanager
def environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Sets environment variables during a block."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _end(gateway: JavaGateway, forwarding: _Forwarding) -> None:
    """Ends the JVM by closing its stdin, and shows the remaining output of workers."""
    try:
        if gateway.proc.poll() is None:
            # Otherwise PySpark's server prints a traceback when the JVM closes the connection.
            with contextlib.suppress(Exception):
                gateways.stop_context()
            with contextlib.suppress(Exception):
                gateway.shutdown()
    except (KeyboardInterrupt, SystemExit):  # Ctrl-C during the wait
        gateway.proc.kill()
    with contextlib.suppress(OSError):
        gateway.proc.stdin.close()
    with contextlib.suppress(KeyboardInterrupt, SystemExit):
        forwarding.join(timeout=2)


class WithoutWorkersNoise:
    """The output of workers without messages of PySpark's worker itself.

    Each of its lines arrives in one chunk, because it is short and written at once. The empty line after it may be in a
    later chunk.
    """

    def __init__(self) -> None:
        self._empty_lines = 0
        """The number of empty lines that are still expected."""

    def __call__(self, chunk: bytes) -> bytes:
        return b"".join(line for line in chunk.splitlines(keepends=True) if not self._is_noise(line))

    def _is_noise(self, line: bytes) -> bool:
        if line.startswith(_WORKERS_NOISE):
            self._empty_lines += 1
            return True
        if line == b"\n" and self._empty_lines:
            self._empty_lines -= 1
            return True
        return False


class _Forwarding(threading.Thread):
    """Copies the JVM's stderr, where also the workers' `print` arrives, to `sys.stderr`.

    Lines before the JVM has started are buffered, for the error message if it does not start. Noise is dropped.
    """

    def __init__(self, descriptor: int, *, quiet: bool, drop: tuple[bytes, ...]) -> None:
        super().__init__(name="morisot-stderr", daemon=True)
        self._source: IO[bytes] = open(descriptor, "rb", buffering=0)  # noqa: SIM115 - a pipe, closed by run
        self._drop = drop if quiet else ()
        self._news: Callable[[bytes], bytes] = WithoutWorkersNoise() if quiet else bytes
        self._held: list[bytes] | None = []
        self._last: deque[bytes] = deque(maxlen=_LAST_LINES)
        self._lock = threading.Lock()
        self.start()

    def run(self) -> None:
        with self._source:
            while chunk := self._source.read(65536):
                with self._lock:
                    if self._held is not None:
                        self._held.append(chunk)
                        continue
                news = self._news(chunk)
                self._last.extend(news.splitlines())
                self._show(news)

    def open(self) -> None:
        """Called when the JVM has started: shows the buffered lines without noise, and copies from here on."""
        with self._lock:
            lines = b"".join(self._held or ()).splitlines(keepends=True)
            self._held = None
        self._show(b"".join(line for line in lines if not line.startswith(self._drop)))

    def last_words(self) -> str:
        """The last lines, after the JVM has ended."""
        self.join(timeout=1)
        return b"\n".join(self._last).decode(errors="replace").strip()

    def give_up(self) -> str:
        """Returns the buffered lines of a JVM that did not start."""
        self.join(timeout=2)
        return b"".join(self._held or ()).decode(errors="replace").strip()

    @staticmethod
    def _show(chunk: bytes) -> None:
        # sys.stderr is looked up each time, because notebooks and tests replace it. It may be closed at the end.
        if chunk and sys.stderr is not None:
            with contextlib.suppress(ValueError, OSError):
                sys.stderr.write(chunk.decode(errors="replace"))
                sys.stderr.flush()

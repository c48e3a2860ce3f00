"""The JVM that Spark runs in: set up and started, with its stderr in our hands."""

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
"""Newer ones warn that they will not always have it."""
_OPTIONS = ("SPARK_SUBMIT_OPTS", "JDK_JAVA_OPTIONS", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS")
"""Where Spark and Java look for more options."""

# The JVM says this before any logger exists: Spark asks for a module of the JDK that is still incubating, and for a
# package that Java 24 has no longer.
_NOISE = (b"WARNING: Using incubator modules", b"WARNING: package sun.security.action not in java.base")
# PySpark prints this, each time with an empty line, when a query that keeps states starts; no setting turns it off.
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
        # What the JVM itself has to say goes where it is read (see _Forwarding), and only errors.
        "-XX:+DisplayVMOutputToStderr",
        "-Xlog:disable",
        # An archive of classes that does not fit is no error: Java starts without it.
        "-Xlog:all=error,cds*=off:stderr",
    ]
    if java.major <= _NEWEST_WITH_VFORK:
        # Hadoop starts `chmod` for every file that it makes: directly, and not by way of a third program.
        options.append("-Djdk.lang.Process.launchMechanism=VFORK")
    if not names_collector(config, os.environ):
        # What Java takes by itself keeps pauses short at the cost of all other work.
        options.append(COLLECTOR)
    return options + archive_options(java)


def names_collector(config: Config, environ: Mapping[str, str]) -> bool:
    """Whether the user has chosen a garbage collector: Java does not start with two."""
    given = [config.spark.get("spark.driver.extraJavaOptions", ""), *(environ.get(name, "") for name in _OPTIONS)]
    return any(re.search(r"-XX:\+Use\w+GC\b", each) for each in given)


class Launch:
    """A JVM on its way up, which another thread may end at any moment."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._given_up = False

    def watch(self, process: subprocess.Popen[bytes]) -> None:
        """The process is there."""
        self._process = process
        if self._given_up:
            self.kill()

    def kill(self) -> None:
        """End the process, or as soon as it is there."""
        self._given_up = True
        if self._process is not None:
            self._process.kill()

    def clear(self) -> None:
        """End the process and wait for that."""
        self.kill()
        if self._process is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_KILL_SECONDS)


def launch(conf: SparkConf, config: Config, java: Java, start: Launch | None = None) -> JavaGateway:
    """Start the JVM with its stderr in our hands; Spark fetches packages before it is up, and tells of every file."""
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
    """Spark's own command, which becomes the JVM.

    It ends when its stdin closes. A Ctrl-C at the terminal goes to a whole group of processes: the JVM, and with it
    the Python workers, are not in that of the program.
    """
    settings = [part for name, value in conf.getAll() for part in ("--conf", f"{name}={value}")]
    arguments = shlex.split(os.environ.get("PYSPARK_SUBMIT_ARGS", "pyspark-shell"))
    command = [str(gateways.spark_submit()), *settings, *arguments]
    told = {"SPARK_CONNECT_MODE": "0", gateways.CONNECTION_FILE: str(connection), **launcher_variables(java)}
    environ = {**os.environ, **told}
    return subprocess.Popen(command, stdin=subprocess.PIPE, stderr=stderr, env=environ, process_group=0)


def _is_up(process: subprocess.Popen[bytes], connection: Path) -> bool:
    """Wait until the JVM says where it listens, or ends."""
    while not connection.is_file():
        if process.poll() is not None:
            return connection.is_file()
        time.sleep(_LOOK_SECONDS)
    return True


def _gateway(connection: Path) -> JavaGateway:
    """The line to a JVM that has said where it listens, as PySpark sets it up."""
    variables = gateways.address(connection)
    shutil.rmtree(connection.parent, ignore_errors=True)
    with environment(variables):
        return gateways.connect()


def _refusal(said: str) -> EnvironmentProblem:
    """Why a JVM did not start."""
    if missing := _UNFETCHED.search(said):
        package = re.sub("[#;]", ":", missing[1])
        return EnvironmentProblem(
            f"Spark could not fetch {package}, which the setting `packages` asks for: check its name, and that "
            "this machine reaches Maven Central. If this version is not there, name another by its coordinates. "
            "Another repository is named by the Spark setting jars.repositories, or in a file that "
            "jars.ivySettings names."
        )
    return EnvironmentProblem(
        "Java did not start; check the settings `memory` and `spark`. It said:\n" + (said or "nothing")
    )


@contextlib.contextmanager
def environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Environment variables that are set for a block."""
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
    """Let the JVM end (it does when its stdin closes) and show what the workers still had to say."""
    try:
        if gateway.proc.poll() is None:
            # Else PySpark's own server prints a traceback when the JVM's end cuts its connection.
            with contextlib.suppress(Exception):
                gateways.stop_context()
            with contextlib.suppress(Exception):
                gateway.shutdown()
    except (KeyboardInterrupt, SystemExit):  # the user does not want to wait
        gateway.proc.kill()
    with contextlib.suppress(OSError):
        gateway.proc.stdin.close()
    with contextlib.suppress(KeyboardInterrupt, SystemExit):
        forwarding.join(timeout=2)


class WithoutWorkersNoise:
    """What workers print, less what PySpark's own worker says of itself.

    Each of its lines comes whole, because it is short and written at once, and the empty line after it may come later.
    """

    def __init__(self) -> None:
        self._empty_lines = 0
        """So many are still to come."""

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

    Lines that come before the JVM is up are held, for the message if it never is, and dropped if they are noise.
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
        """The JVM is up: show what was held, less the noise, and copy from here on."""
        with self._lock:
            lines = b"".join(self._held or ()).splitlines(keepends=True)
            self._held = None
        self._show(b"".join(line for line in lines if not line.startswith(self._drop)))

    def last_words(self) -> str:
        """What was said last, after the JVM has ended."""
        self.join(timeout=1)
        return b"\n".join(self._last).decode(errors="replace").strip()

    def give_up(self) -> str:
        """The JVM never came up: give what it said."""
        self.join(timeout=2)
        return b"".join(self._held or ()).decode(errors="replace").strip()

    @staticmethod
    def _show(chunk: bytes) -> None:
        # sys.stderr is looked up each time: notebooks and tests replace it. It may be closed when the program ends.
        if chunk and sys.stderr is not None:
            with contextlib.suppress(ValueError, OSError):
                sys.stderr.write(chunk.decode(errors="replace"))
                sys.stderr.flush()

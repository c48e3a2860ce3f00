"""The embedded Spark session: quiet, local, and sized for one machine.

A session that the user has made is used as it is; nothing here changes one.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import logging
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import IO, TYPE_CHECKING

from morisot.config import Config
from morisot.errors import EnvironmentProblem

if TYPE_CHECKING:
    from types import FrameType

    from py4j.java_gateway import JavaGateway
    from pyspark.conf import SparkConf
    from pyspark.core.context import SparkContext
    from pyspark.sql import SparkSession

OLDEST_JAVA = 17

_REMEDY = (
    f"install it with `apt-get install openjdk-{OLDEST_JAVA}-jre-headless` (Debian/Ubuntu) "
    f"or `brew install openjdk@{OLDEST_JAVA}` (macOS)"
)
_LOG_SETTINGS = Path(__file__).with_name("log4j2.properties")
_STREAMING = "org.apache.spark.sql.execution.streaming"
# The JVM says this before any logger exists: Spark asks for a module of the JDK that is still incubating.
_NOISE = (b"WARNING: Using incubator modules",)


def active_session() -> SparkSession | None:
    """The session that this process already has, whoever made it."""
    from pyspark.core.context import SparkContext
    from pyspark.sql import SparkSession

    session = SparkSession.getActiveSession() or SparkSession._instantiatedSession
    context = SparkContext._active_spark_context
    if session is None and context is not None:
        return SparkSession(context)
    return session


def build_session(config: Config | None = None) -> SparkSession:
    """The session of this process if it has one, untouched; else a new one with Morisot's defaults."""
    config = config or Config()
    existing = active_session()
    if existing is not None:
        return existing
    if config.master.startswith("sc://"):
        return _connect(config)

    from pyspark.conf import SparkConf
    from pyspark.core.context import SparkContext
    from pyspark.sql import SparkSession

    java = find_java()
    scratch = tempfile.mkdtemp(prefix="morisot-")
    atexit.register(shutil.rmtree, scratch, ignore_errors=True)
    conf = SparkConf(loadDefaults=False).setAll(list(session_settings(config, scratch, java).items()))
    with _environment(_variables(config)):
        gateway = None if SparkContext._gateway else _launch(conf, verbose=config.verbose)
        context = SparkContext(conf=conf, gateway=gateway)
    _cancel_jobs_at_interrupt(context)
    return SparkSession(context)


_borrowers = 0
_own_session: SparkSession | None = None


def borrow_session(config: Config) -> SparkSession:
    """The session for one more context; one that Morisot makes lives until the last context gives it back."""
    global _borrowers, _own_session  # noqa: PLW0603 - a process has one Spark session
    made = active_session() is None
    session = build_session(config)
    if made:
        _own_session, _borrowers = session, 0
    if session is _own_session:
        _borrowers += 1
    return session


def return_session(session: SparkSession) -> None:
    """Give a borrowed session back."""
    global _borrowers, _own_session  # noqa: PLW0603 - a process has one Spark session
    if session is not _own_session:
        return
    _borrowers -= 1
    if _borrowers == 0:
        _own_session = None
        session.stop()


def check_session(session: SparkSession) -> None:
    """Refuse a session on which compiled closures would give other answers than Python."""
    needed = {"spark.sql.ansi.enabled": "true", "spark.sql.parser.escapedStringLiterals": "false"}
    for name, value in needed.items():
        if str(session.conf.get(name, value)).lower() != value:
            raise EnvironmentProblem(
                f"This Spark session has {name} set to {session.conf.get(name)}, with which expressions would not give "
                f'Python\'s answers: set it with spark.conf.set("{name}", "{value}"), or let Morisot make the session.'
            )


def session_settings(config: Config, scratch: str, java: Java) -> dict[str, str]:
    """What a session of Morisot's making is set to, `config.spark` over all else."""
    partitions = str(config.cores)
    settings = {
        "spark.master": config.master,
        "spark.app.name": "morisot",
        "spark.driver.memory": config.heap,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        # Spark's 200 partitions are for a cluster: on one machine each costs more than it holds.
        "spark.default.parallelism": partitions,
        "spark.sql.shuffle.partitions": partitions,
        # Costs a small job some 10 ms, saves a large join from skew or a needless shuffle; loops turn it off.
        "spark.sql.adaptive.enabled": "true",
        # What Python promises: overflow and bad casts raise, and time does not depend on the machine.
        "spark.sql.ansi.enabled": "true",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
        "spark.sql.python.filterPushdown.enabled": "true",
        # Records a Python stack for every column made: plans of many columns would spend their time there.
        "spark.python.sql.dataFrameDebugging.enabled": "false",
        # A loop compiles the same stages again and again; the default of 100 forgets them.
        "spark.sql.codegen.cache.maxEntries": "2000",
        # A crash inside native code says where.
        "spark.sql.execution.pyspark.udf.faulthandler.enabled": "true",
        # transformWithState needs RocksDB; with a changelog a micro-batch uploads its changes, not the whole state.
        "spark.sql.streaming.stateStore.providerClass": f"{_STREAMING}.state.RocksDBStateStoreProvider",
        "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    }
    if config.local:
        settings |= {
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.defaultJavaOptions": " ".join(_java_options(config, java)),
            "spark.pyspark.python": sys.executable,
            # Modules beside the user's program are on the driver's path, not on that of the workers.
            "spark.executorEnv.PYTHONPATH": os.pathsep.join(_import_path()),
            "spark.sql.warehouse.dir": f"{scratch}/warehouse",
            # Four times less work for each entry of a streaming query's log, on a local disk.
            "spark.sql.streaming.checkpointFileManagerClass": (
                f"{_STREAMING}.checkpointing.FileSystemBasedCheckpointFileManager"
            ),
        }
    return settings | config.spark


def _import_path() -> list[str]:
    entries = (Path(entry or ".").absolute() for entry in sys.path)
    return [str(entry) for entry in entries if entry.exists()]


def _connect(config: Config) -> SparkSession:
    from pyspark.sql import SparkSession

    try:
        return SparkSession.builder.remote(config.master).getOrCreate()
    except ImportError as problem:
        raise EnvironmentProblem(
            f"The master {config.master} is a Spark Connect server, whose client is not installed: "
            "install it with `pip install 'pyspark[connect]'`."
        ) from problem


# --- Java ---


@dataclass(frozen=True)
class Java:
    """The Java that Spark will start."""

    program: Path
    version: str


def find_java(environ: Mapping[str, str] | None = None) -> Java:
    """The Java of `JAVA_HOME`, else of `PATH`; a clear refusal if there is none or it is too old."""
    environ = os.environ if environ is None else environ
    home = environ.get("JAVA_HOME")
    found = shutil.which("java", path=str(Path(home, "bin")) if home else environ.get("PATH", os.defpath))
    version = _java_version(Path(found)) if found else None
    if found is None or version is None:
        where = f", and JAVA_HOME is {home}, which has none" if home else ""
        raise EnvironmentProblem(f"Morisot needs Java {OLDEST_JAVA} or newer{where}: {_REMEDY}.")
    # Java 8 calls itself 1.8.
    if int(version.removeprefix("1.").partition(".")[0]) < OLDEST_JAVA:
        raise EnvironmentProblem(f"Morisot needs Java {OLDEST_JAVA} or newer, and {found} is {version}: {_REMEDY}.")
    return Java(Path(found), version)


def _java_version(program: Path) -> str | None:
    """What version a Java is, from the file `release` beside it; asking the program itself takes longer."""
    with contextlib.suppress(OSError):
        release = program.resolve().parents[1].joinpath("release").read_text()
        if match := re.search(r'^JAVA_VERSION="([\d.]+)', release, re.MULTILINE):
            return match[1]
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        said = subprocess.run([program, "-version"], capture_output=True, text=True, timeout=30, check=True)
        if match := re.search(r'version "([\d.]+)', said.stderr + said.stdout):
            return match[1]
    return None


def _java_options(config: Config, java: Java) -> list[str]:
    options = [
        f"-Dlog4j2.configurationFile={_LOG_SETTINGS.as_uri()}",
        f"-Dmorisot.log={'WARN' if config.verbose else 'OFF'}",
        # What the JVM itself has to say goes where it is read (see _Forwarding), and only errors.
        "-XX:+DisplayVMOutputToStderr",
        "-Xlog:disable",
        "-Xlog:all=error:stderr",
    ]
    return options + _archive_options(java)


def _archive_options(java: Java) -> list[str]:
    """Make Java keep Spark's classes ready to map into memory: every start after the first is much quicker.

    The first JVM writes the archive when it ends. A JVM takes an archive only if it is whole (the header is written
    last) and made by the same Java from the same jars, and starts without it otherwise.
    """
    folder = os.environ.get("MORISOT_CACHE", str(Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "morisot")))
    if not folder:
        return []
    import pyspark

    same = hashlib.sha256(f"{java.program.resolve()}\n{pyspark.__file__}".encode()).hexdigest()[:8]
    archive = Path(folder).expanduser() / f"spark-{metadata.version('pyspark')}-java-{java.version}-{same}.jsa"
    # Spark splits its Java options at spaces.
    if " " in str(archive):
        return []
    if archive.exists():
        return [f"-XX:SharedArchiveFile={archive}", "-Xshare:auto"]
    try:
        archive.parent.mkdir(parents=True, exist_ok=True)
    except OSError:
        return []
    return [f"-XX:ArchiveClassesAtExit={archive}"]


# --- the JVM ---


def _variables(config: Config) -> dict[str, str]:
    """Environment variables that Spark reads while it starts."""
    if not config.local:
        return {}
    return {
        # Else Spark looks the host's name up, and warns about what it finds.
        "SPARK_LOCAL_IP": "127.0.0.1",
        # Else the workers run whatever `python3` is on the PATH.
        "PYSPARK_PYTHON": config.spark.get("spark.pyspark.python", sys.executable),
        # The JVM that only puts the command line together.
        "SPARK_LAUNCHER_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    }


@contextlib.contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
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


def _launch(conf: SparkConf, *, verbose: bool) -> JavaGateway:
    """Start the JVM with its stderr in our hands."""
    from pyspark.errors import PySparkRuntimeError
    from pyspark.java_gateway import launch_gateway

    receiving, sending = os.pipe()
    forwarding = _Forwarding(receiving, drop=() if verbose else _NOISE)
    try:
        gateway = launch_gateway(conf, {"stderr": sending})  # type: ignore[no-untyped-call]
    except PySparkRuntimeError:
        os.close(sending)
        said = forwarding.give_up()
        raise EnvironmentProblem(
            "Java did not start; check the settings `memory` and `spark`. It said:\n" + (said or "nothing")
        ) from None
    os.close(sending)
    forwarding.open()
    atexit.register(_end, gateway, forwarding)
    return gateway


def _end(gateway: JavaGateway, forwarding: _Forwarding) -> None:
    """Let the JVM end (it does when its stdin closes) and show what the workers still had to say."""
    from pyspark.core.context import SparkContext

    # Else PySpark's own server prints a traceback when the JVM's end cuts its connection.
    with contextlib.suppress(Exception):
        if SparkContext._active_spark_context is not None:
            SparkContext._active_spark_context.stop()
    with contextlib.suppress(Exception):
        gateway.shutdown()
    with contextlib.suppress(OSError):
        gateway.proc.stdin.close()
    forwarding.join(timeout=2)


def _cancel_jobs_at_interrupt(context: SparkContext) -> None:
    """Make Ctrl-C cancel the running jobs and raise KeyboardInterrupt, and no more.

    PySpark's own handler asks the JVM over the connection that waits for the job: it fails, and the job goes on.
    """
    if threading.current_thread() is not threading.main_thread():
        return

    def interrupt(_signal: int, _frame: FrameType | None) -> None:
        canceller = threading.Thread(target=_cancel_jobs, args=(context,), name="morisot-cancel", daemon=True)
        canceller.start()
        canceller.join(timeout=5)
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, interrupt)
    logging.getLogger().addFilter(_is_news)


def _cancel_jobs(context: SparkContext) -> None:
    with contextlib.suppress(Exception):
        context.cancelAllJobs()


def _is_news(record: logging.LogRecord) -> bool:
    """False for the trace that py4j logs of a KeyboardInterrupt, which the user has caused and will see."""
    return not (record.msg == "KeyboardInterrupt while sending command." and "py4j" in record.pathname)


class _Forwarding(threading.Thread):
    """Copies the JVM's stderr, where also the workers' `print` arrives, to `sys.stderr`.

    Lines that come before the JVM is up are held, for the message if it never is, and dropped if they are noise.
    """

    def __init__(self, descriptor: int, drop: tuple[bytes, ...]) -> None:
        super().__init__(name="morisot-stderr", daemon=True)
        self._source: IO[bytes] = open(descriptor, "rb", buffering=0)  # noqa: SIM115 - a pipe, closed by run
        self._drop = drop
        self._held: list[bytes] | None = []
        self._lock = threading.Lock()
        self.start()

    def run(self) -> None:
        with self._source:
            while chunk := self._source.read(65536):
                with self._lock:
                    if self._held is not None:
                        self._held.append(chunk)
                        continue
                self._show(chunk)

    def open(self) -> None:
        """The JVM is up: show what was held, less the noise, and copy from here on."""
        with self._lock:
            lines = b"".join(self._held or ()).splitlines(keepends=True)
            self._held = None
        self._show(b"".join(line for line in lines if not line.startswith(self._drop)))

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

"""The embedded Spark session, configured for one machine.

A session that the user has created is used unchanged.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from morisot.config import CONNECTORS, Config
from morisot.engines.spark.internals import names
from morisot.engines.spark.internals.gateway import current as current_gateway
from morisot.engines.spark.internals.hadoop import write_no_checksums
from morisot.engines.spark.internals.names import FILE_MANAGER, ROCKS_DB
from morisot.engines.spark.internals.sessions import active, is_classic
from morisot.engines.spark.internals.version import check_version, installed_version
from morisot.engines.spark.session.class_archive import launcher_archive_options
from morisot.engines.spark.session.interrupt import anywhere, ending_in_order, handler_as_before, interruptible
from morisot.engines.spark.session.java import JAVA_OPTIONS, Launch, environment, java_options, launch
from morisot.engines.spark.session.java_runtime import Java, find_java, launcher_variables
from morisot.engines.spark.session.jvm_death import forget_dead, is_dead
from morisot.engines.spark.session.query_settings import CHANGELOG, RETAINED_BATCHES, STATES
from morisot.engines.spark.session.scratch import scratch
from morisot.errors import EnvironmentProblem

if TYPE_CHECKING:
    from pyspark.conf import SparkConf
    from pyspark.sql import SparkSession

_PACKAGES = "spark.jars.packages"
_DROPPED_AFTER, _AT_ONCE = "spark.sql.streaming.fileSource.log.cleanupDelay", "0"
_SECRET = re.compile("secret|password|token|access[.]?key", re.IGNORECASE)
"""A pattern for names of settings that Spark redacts."""
_LEAST_BROADCAST, _LARGEST_BROADCAST = 10 * 2**20, 64 * 2**20
_SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
_LONGEST_SOCKET_DIRECTORY = 48
"""The limit for the directory of sockets: their paths have at most a hundred bytes, of which Spark uses about fifty."""


def active_session() -> SparkSession | None:
    """The existing session of this process, of Morisot or of the user."""
    check_version(installed_version())
    forget_dead()
    return active()


def build_session(config: Config | None = None) -> SparkSession:
    """The existing session of this process, unchanged; else a new one with Morisot's defaults."""
    config = config or Config()
    existing = active_session()
    if existing is not None:
        return existing
    if config.master.startswith("sc://"):
        return _connect(config)

    start = Launch()
    try:
        with ending_in_order(), interruptible(start.kill, anywhere):
            return _started(config, start)
    except BaseException:
        start.clear()
        forget_dead()
        raise


def _started(config: Config, start: Launch) -> SparkSession:
    """A new session, in an existing JVM or in a new one."""
    from pyspark.conf import SparkConf
    from pyspark.core.context import SparkContext
    from pyspark.sql import SparkSession

    java = find_java()
    settings = session_settings(config, str(scratch()), java)
    conf = SparkConf(loadDefaults=False).setAll(list(settings.items()))
    with environment(_variables(config, java)), handler_as_before():
        gateway = current_gateway()
        if gateway is None:
            gateway = launch(without_secrets(conf), config, java, start)
        elif gateway.proc is not None:
            start.watch(gateway.proc)
        context = SparkContext(conf=conf, gateway=gateway)
    if config.local:
        write_no_checksums(context)
    return SparkSession(context)


_borrowers = 0
_own_session: SparkSession | None = None


def borrow_session(config: Config) -> SparkSession:
    """The session for one more context. A session of Morisot exists until the last context returns it."""
    global _borrowers, _own_session  # noqa: PLW0603 - a process has one Spark session
    made = active_session() is None
    session = build_session(config)
    if made:
        _own_session, _borrowers = session, 0
    if session is _own_session:
        _borrowers += 1
    return session


def return_session(session: SparkSession) -> None:
    """Returns a borrowed session."""
    global _borrowers, _own_session  # noqa: PLW0603 - a process has one Spark session
    if session is not _own_session:
        return
    _borrowers -= 1
    if _borrowers == 0:
        _own_session = None
        if not is_dead(session):
            session.stop()
        forget_dead()


def check_session(session: SparkSession) -> None:
    """Raises an error for another version of Spark, and for settings with which column forms would not be exact."""
    check_version(session.version if is_classic(session) else installed_version())
    needed = {"spark.sql.ansi.enabled": "true", "spark.sql.parser.escapedStringLiterals": "false"}
    for name, value in needed.items():
        if str(session.conf.get(name)).lower() != value:  # without a default, get() returns Spark's default
            raise EnvironmentProblem(
                f"This Spark session has {name} set to {session.conf.get(name)}, with which expressions would not give "
                f'Python\'s answers: set it with spark.conf.set("{name}", "{value}"), or let Morisot make the session.'
            )


def session_settings(config: Config, scratch: str, java: Java) -> dict[str, str]:
    """The settings of a session of Morisot. `config.spark` overrides them."""
    partitions = str(config.cores)
    settings = {
        "spark.master": config.master,
        "spark.app.name": "morisot",
        "spark.driver.memory": config.heap,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        # Spark's default of 200 partitions is for clusters; on one machine each has a high overhead.
        "spark.default.parallelism": partitions,
        "spark.sql.shuffle.partitions": partitions,
        # Costs a small job about 10 ms, but avoids skew and needless shuffles of large joins; loops disable it.
        "spark.sql.adaptive.enabled": "true",
        # As in Python: overflow and invalid casts raise, and time does not depend on the machine.
        "spark.sql.ansi.enabled": "true",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
        "spark.sql.python.filterPushdown.enabled": "true",
        # Recording a Python stack for every column is expensive in plans of many columns.
        "spark.python.sql.dataFrameDebugging.enabled": "false",
        # A loop uses the same stages in every round; the default cache of 100 evicts them.
        "spark.sql.codegen.cache.maxEntries": "2000",
        # A crash in native code prints the Python stack.
        "spark.sql.execution.pyspark.udf.faulthandler.enabled": "true",
        # transformWithState needs RocksDB. With a changelog a micro-batch writes its changes, not the whole state.
        STATES: ROCKS_DB,
        CHANGELOG: "true",
        # A job without snapshots repeats at most one micro-batch; Spark retains a hundred, and lists them each time.
        RETAINED_BATCHES: "10",
        # Spark renders each plan for its web page; the formatted mode takes longer.
        "spark.sql.ui.explainMode": "simple",
    }
    if config.local:
        settings |= {
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            # Otherwise any user of this machine can request blocks from Spark. On one machine Spark generates the
            # secret in memory. Encryption is not needed: other users cannot read the loopback.
            "spark.authenticate": "true",
            JAVA_OPTIONS: " ".join([*java_options(config, java), *_temporary_files(scratch)]),
            "spark.pyspark.python": sys.executable,
            # Modules in the directory of the user's program are on the driver's path, but not on that of workers.
            "spark.executorEnv.PYTHONPATH": os.pathsep.join(_import_path()),
            "spark.sql.warehouse.dir": f"{scratch}/warehouse",
            "spark.local.dir": f"{scratch}/spark",
            # A quarter of the work for each entry of a query's log, on a local disk.
            "spark.sql.streaming.checkpointFileManagerClass": FILE_MANAGER,
            **_socket_settings(scratch),
            # A side of a join up to this size is not shuffled. The default of 10 MB is for small executors.
            "spark.sql.autoBroadcastJoinThreshold": str(broadcast_limit(config.heap)),
            # Beyond this number of files Spark lists them in tasks, which pays off for slow stores only.
            "spark.sql.sources.parallelPartitionDiscovery.threshold": "10000",
            # Spark queries the block locations of each listed file, which is useless on one machine.
            "spark.sql.sources.ignoreDataLocality": "true",
            # By default, old entries of a log are retained for ten minutes, for stores without immediate consistency,
            # and are listed with each new entry.
            _DROPPED_AFTER: _AT_ONCE,
        }
    if config.master.startswith("local-cluster"):
        # Executors are started with the same launcher as the driver.
        settings |= {f"spark.executorEnv.{name}": value for name, value in launcher_variables(java).items()}
    settings |= config.spark
    if config.packages:
        fetched = [*filter(None, [settings.get(_PACKAGES)]), *coordinates(config.packages)]
        settings[_PACKAGES] = ",".join(fetched)
    return settings


def broadcast_limit(heap: str) -> int:
    """The size in bytes up to which a side of a join is copied to all tasks, by the size of the heap.

    >>> broadcast_limit("4g"), broadcast_limit("512m")
    (67108864, 10485760)
    """
    size = heap.lower().removesuffix("b")
    unit = {"k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}[size[-1]]
    return min(_LARGEST_BROADCAST, max(_LEAST_BROADCAST, int(size[:-1]) * unit // 64))


def _temporary_files(scratch: str) -> list[str]:
    """Sets Java's directory of temporary files, which include libraries that it loads, to a private one.

    They are removed there even if Java is killed. Spark splits Java's options at spaces.
    """
    return [] if " " in scratch else [f"-Djava.io.tmpdir={scratch}"]


def _socket_settings(scratch: str) -> dict[str, str]:
    """Makes Spark and its Python workers use Unix sockets in a private directory, if the system has them.

    On the network loopback a small message waits for the acknowledgement of the one before: about 30 ms for each task.
    """
    if os.name != "posix" or len(scratch) > _LONGEST_SOCKET_DIRECTORY:
        return {}
    return {
        "spark.python.unix.domain.socket.enabled": "true",
        "spark.python.unix.domain.socket.dir": scratch,
        "spark.python.daemon.module": "morisot.engines.spark.internals.worker_daemon",
    }


def without_secrets(conf: SparkConf) -> SparkConf:
    """Settings for the JVM's command line, which every user can read. The others are passed to the context."""
    from pyspark.conf import SparkConf

    shown = [(name, value) for name, value in conf.getAll() if not _SECRET.search(name)]
    return SparkConf(loadDefaults=False).setAll(shown)


def coordinates(packages: Iterable[str]) -> list[str]:
    """The Maven coordinates of packages: of parts of Spark in the version of Spark, others unchanged."""
    version = metadata.version("pyspark")
    return [names.coordinates(each, version) if each in CONNECTORS else each for each in packages]


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


# --- the JVM ---


def _variables(config: Config, java: Java) -> dict[str, str]:
    """Environment variables that Spark reads while it starts."""
    if not config.local:
        return {}
    return {
        # Otherwise Spark looks up the host name, and prints a warning.
        "SPARK_LOCAL_IP": "127.0.0.1",
        # Otherwise workers run the `python3` of the PATH.
        "PYSPARK_PYTHON": config.spark.get("spark.pyspark.python", sys.executable),
        # Options of the JVM that only builds the command line.
        "SPARK_LAUNCHER_OPTS": " ".join([_SHORT_LIVED, *launcher_archive_options(java)]),
        # With many malloc arenas a state store returns little memory to the system; Hadoop's scripts set this too.
        "MALLOC_ARENA_MAX": os.environ.get("MALLOC_ARENA_MAX", "4"),
    }

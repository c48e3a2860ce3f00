"""The embedded Spark session: quiet, local, and sized for one machine.

A session that the user has made is used as it is; nothing here changes one.
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
from morisot.engines.spark.session.query_settings import CHANGELOG, KEPT, STATES
from morisot.engines.spark.session.scratch import scratch
from morisot.errors import EnvironmentProblem

if TYPE_CHECKING:
    from pyspark.conf import SparkConf
    from pyspark.sql import SparkSession

_PACKAGES = "spark.jars.packages"
_DROPPED_AFTER, _AT_ONCE = "spark.sql.streaming.fileSource.log.cleanupDelay", "0"
_SECRET = re.compile("secret|password|token|access[.]?key", re.IGNORECASE)
"""The names of settings that Spark shows to nobody."""
_SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
_LONGEST_SOCKET_DIRECTORY = 48
"""The name of a socket has a hundred bytes at most, of which Spark takes some fifty."""


def active_session() -> SparkSession | None:
    """The session that this process already has, whoever made it."""
    check_version(installed_version())
    forget_dead()
    return active()


def build_session(config: Config | None = None) -> SparkSession:
    """The session of this process if it has one, untouched; else a new one with Morisot's defaults."""
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
    """A new session, in a JVM that is there already or in a new one."""
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
        if not is_dead(session):
            session.stop()
        forget_dead()


def check_session(session: SparkSession) -> None:
    """Refuse a session of another Spark, or on which compiled closures would give other answers than Python."""
    check_version(session.version if is_classic(session) else installed_version())
    needed = {"spark.sql.ansi.enabled": "true", "spark.sql.parser.escapedStringLiterals": "false"}
    for name, value in needed.items():
        if str(session.conf.get(name)).lower() != value:  # given a default, get() does not tell Spark's own
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
        STATES: ROCKS_DB,
        CHANGELOG: "true",
        # A job without snapshots goes back one micro-batch at most; Spark keeps a hundred, and lists them each time.
        KEPT: "10",
        # What a plan looks like is written out for Spark's web page each time one runs; formatted, that takes longer.
        "spark.sql.ui.explainMode": "simple",
    }
    if config.local:
        settings |= {
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            # Else any user of this machine can ask Spark for its blocks. On one machine Spark makes the secret itself,
            # in its memory. Encryption would add nothing: others do not see what goes over the loopback.
            "spark.authenticate": "true",
            JAVA_OPTIONS: " ".join([*java_options(config, java), *_temporary_files(scratch)]),
            "spark.pyspark.python": sys.executable,
            # Modules beside the user's program are on the driver's path, not on that of the workers.
            "spark.executorEnv.PYTHONPATH": os.pathsep.join(_import_path()),
            "spark.sql.warehouse.dir": f"{scratch}/warehouse",
            "spark.local.dir": f"{scratch}/spark",
            # Four times less work for each entry of a streaming query's log, on a local disk.
            "spark.sql.streaming.checkpointFileManagerClass": FILE_MANAGER,
            **_socket_settings(scratch),
            # Beyond so many files Spark looks for each in a task of its own, which is for stores that answer slowly.
            "spark.sql.sources.parallelPartitionDiscovery.threshold": "10000",
            # Where the blocks of a file are is asked for each file that is listed; on one machine they are here.
            "spark.sql.sources.ignoreDataLocality": "true",
            # Entries of a log that no micro-batch needs any more stay ten minutes, for stores that show late what was
            # written, and are listed with each new one.
            _DROPPED_AFTER: _AT_ONCE,
        }
    if config.master.startswith("local-cluster"):
        # Its executors are started with the same launcher as the driver.
        settings |= {f"spark.executorEnv.{name}": value for name, value in launcher_variables(java).items()}
    settings |= config.spark
    if config.packages:
        fetched = [*filter(None, [settings.get(_PACKAGES)]), *coordinates(config.packages)]
        settings[_PACKAGES] = ",".join(fetched)
    return settings


def _temporary_files(scratch: str) -> list[str]:
    """Let Java keep its temporary files, among them libraries that it loads, where only this user reaches them.

    They are removed there even if it is killed. Spark splits Java's options at spaces.
    """
    return [] if " " in scratch else [f"-Djava.io.tmpdir={scratch}"]


def _socket_settings(scratch: str) -> dict[str, str]:
    """Let Spark and its Python workers talk through files that only this user reaches, where the system has such.

    A small message over the network's loopback waits for the answer to the one before: some 30 ms for each task.
    """
    if os.name != "posix" or len(scratch) > _LONGEST_SOCKET_DIRECTORY:
        return {}
    return {
        "spark.python.unix.domain.socket.enabled": "true",
        "spark.python.unix.domain.socket.dir": scratch,
        "spark.python.daemon.module": "morisot.engines.spark.internals.worker_daemon",
    }


def without_secrets(conf: SparkConf) -> SparkConf:
    """Settings for the JVM's command line, which every user can read; the context is given the others."""
    from pyspark.conf import SparkConf

    shown = [(name, value) for name, value in conf.getAll() if not _SECRET.search(name)]
    return SparkConf(loadDefaults=False).setAll(shown)


def coordinates(packages: Iterable[str]) -> list[str]:
    """The Maven coordinates of packages: those of a part of Spark's own, in Spark's version, or as they are given."""
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
        # Else Spark looks the host's name up, and warns about what it finds.
        "SPARK_LOCAL_IP": "127.0.0.1",
        # Else the workers run whatever `python3` is on the PATH.
        "PYSPARK_PYTHON": config.spark.get("spark.pyspark.python", sys.executable),
        # The JVM that only puts the command line together.
        "SPARK_LAUNCHER_OPTS": " ".join([_SHORT_LIVED, *launcher_archive_options(java)]),
        # Where C hands memory out in many places, little of a state store's comes back; Hadoop's scripts say the same.
        "MALLOC_ARENA_MAX": os.environ.get("MALLOC_ARENA_MAX", "4"),
    }

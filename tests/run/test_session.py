"""The embedded session: its settings arrive, it is quiet, and a user's own is left alone."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
import time
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest

from morisot.config import Config
from morisot.engines.spark.session.java import WithoutWorkersNoise, names_collector
from morisot.engines.spark.session.java_runtime import Java, find_java, launcher_variables
from morisot.engines.spark.session.session import active_session, build_session, session_settings
from morisot.engines.spark.terminal.progress import progress

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyarrow import RecordBatch
    from pyspark.sql import SparkSession


JAVA = Java(Path("java"), "17.0.1")
"""For settings that depend on the version; it is never started."""


def run_program(program: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, **variables}
    command = [sys.executable, "-c", program]
    return subprocess.run(command, env=environ, capture_output=True, text=True, check=False, timeout=300)


# --- settings ---


def test_settings_reach_spark(spark: SparkSession) -> None:
    assert spark.sparkContext.master == "local[2]"
    assert spark.conf.get("spark.sql.shuffle.partitions") == "2"
    assert spark.conf.get("spark.sql.session.timeZone") == "UTC"
    assert spark.conf.get("spark.sql.ansi.enabled") == "true"
    assert spark.sparkContext.uiWebUrl is None
    assert spark.sparkContext.pythonExec == sys.executable
    assert spark.sparkContext.getConf().get("spark.driver.host") == "127.0.0.1"


def test_every_sql_setting_is_one_that_spark_knows(spark: SparkSession) -> None:
    assert spark._jvm is not None
    known = spark._jvm.org.apache.spark.internal.config.ConfigEntry
    # Spark reads these two by name, without declaring them among its settings.
    undeclared = {
        "spark.sql.streaming.checkpointFileManagerClass",
        "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled",
    }
    settings = session_settings(Config(), "/tmp/x", JAVA).keys() - undeclared
    ours = [key for key in settings if key.startswith("spark.sql.")]
    assert [key for key in ours if known.findEntry(key) is None] == []


def test_users_settings_win() -> None:
    settings = session_settings(Config(spark={"sql.ansi.enabled": "false"}), "/tmp/x", JAVA)
    assert settings["spark.sql.ansi.enabled"] == "false"


def test_packages_become_coordinates() -> None:
    ours = f"org.apache.spark:spark-sql-kafka-0-10_2.13:{metadata.version('pyspark')}"
    settings = session_settings(Config(packages=("kafka", "a.b:c:1")), "/tmp/x", JAVA)
    assert settings["spark.jars.packages"] == f"{ours},a.b:c:1"
    both = Config(packages=("kafka",), spark={"jars.packages": "d:e:2"})
    assert session_settings(both, "/tmp/x", JAVA)["spark.jars.packages"] == f"d:e:2,{ours}"
    assert "spark.jars.packages" not in session_settings(Config(), "/tmp/x", JAVA)


def test_a_cluster_is_not_given_what_is_right_for_one_machine() -> None:
    settings = session_settings(Config(master="spark://host:7077"), "/tmp/x", JAVA)
    assert not {"spark.driver.host", "spark.pyspark.python", "spark.executorEnv.PYTHONPATH"} & set(settings)


def test_workers_are_reached_through_a_directory_of_this_user_alone(spark: SparkSession) -> None:
    conf = spark.sparkContext.getConf()
    assert conf.get("spark.python.unix.domain.socket.enabled") == "true"
    directory = Path(conf.get("spark.python.unix.domain.socket.dir") or "")
    assert stat.S_IMODE(directory.stat().st_mode) == stat.S_IRWXU
    assert spark.range(3).mapInArrow(lambda batches: batches, "id BIGINT").count() == 3


def test_the_user_may_choose_another_garbage_collector() -> None:
    mine = Config(spark={"driver.extraJavaOptions": "-Xss4m -XX:+UseG1GC"})
    assert names_collector(mine, {})
    assert names_collector(Config(), {"JAVA_TOOL_OPTIONS": "-XX:+UseSerialGC"})
    assert not names_collector(Config(spark={"driver.extraJavaOptions": "-XX:+UseStringDeduplication"}), {"GC": "x"})
    assert "GC" not in session_settings(mine, "/tmp/x", JAVA)["spark.driver.defaultJavaOptions"]


def test_a_directory_too_deep_for_sockets_has_none() -> None:
    settings = session_settings(Config(), "/tmp/" + "x" * 100, JAVA)
    assert not [name for name in settings if "unix" in name]


def test_a_local_file_has_no_second_one_with_checksums(spark: SparkSession, tmp_path: Path) -> None:
    spark.range(3).write.parquet(str(tmp_path / "numbers"))
    assert not list(tmp_path.rglob("*.crc"))


def test_environment_variables_are_as_before(spark: SparkSession) -> None:
    assert "SPARK_LOCAL_IP" not in os.environ
    assert "SPARK_LAUNCHER_OPTS" not in os.environ


def test_an_active_session_is_used(spark: SparkSession) -> None:
    assert build_session(Config(parallelism=7)).sparkContext is spark.sparkContext
    assert spark.conf.get("spark.sql.shuffle.partitions") == "2"


def test_an_active_session_is_found_from_another_thread(spark: SparkSession) -> None:
    found: list[SparkSession | None] = []
    thread = threading.Thread(target=lambda: found.append(active_session()))
    thread.start()
    thread.join()
    assert found[0] is not None
    assert found[0].sparkContext is spark.sparkContext


@pytest.mark.jvm
@pytest.mark.program
@pytest.mark.thorough
def test_a_users_own_session_is_left_alone() -> None:
    done = run_program(
        """
from pyspark.sql import SparkSession
own = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
before = dict(own.conf.getAll), sorted(own.sparkContext.getConf().getAll())
from morisot.config import Config
from morisot.engines.spark.session.session import build_session
ours = build_session(Config(parallelism=7, spark={"sql.ansi.enabled": "false"}))
assert (dict(own.conf.getAll), sorted(own.sparkContext.getConf().getAll())) == before
assert ours.sparkContext is own.sparkContext
print(own.conf.get("spark.sql.shuffle.partitions"))
""",
        **launcher_variables(find_java()),
    )
    assert (done.returncode, done.stdout) == (0, "200\n"), done.stderr


# --- quiet ---


@pytest.mark.jvm
@pytest.mark.program
def test_nothing_is_printed_but_what_the_user_prints(tmp_path: Path) -> None:
    """One program for several promises, since each would start a JVM of its own."""
    tmp_path.joinpath("beside.py").write_text("def fail(x):\n    return 1 // 0\n")
    program = tmp_path / "program.py"
    program.write_text(
        """
import os
import beside
import morisot as mo
from pyspark import SparkContext
from pyspark.errors import PythonException
from pyspark.sql.functions import udf
from morisot.config import Config
from morisot.engines.spark.session.session import build_session

config = Config(master="local[1]", memory="1g", progress=False)
with mo.StreamContext(config=config) as one, mo.StreamContext(config=config) as two:
    one.close()
    assert two.stream_iter([3]).collect() == [3]
assert SparkContext._active_spark_context is None, "the session ends with its last context"

spark = build_session(config)
try:
    spark.range(2).select(udf(beside.fail, "long")("id")).collect()
except PythonException as error:
    print("ZeroDivisionError" in str(error))

def show(batches):
    for batch in batches:
        print("a user's line")
        yield batch

spark.range(1).mapInArrow(show, "id long").collect()

ctx = mo.StreamContext(spark)
inlet, numbers = ctx.stream_channel(int)
sums = numbers.rich_map(0, lambda total, n: (total + n, total + n)).collect_channel()
job = ctx.start()
with inlet:
    inlet.send_all([1, 2, 3])
assert list(sums) == [1, 3, 6]
job.wait()
print(spark.sparkContext._gateway.proc.pid, os.listdir())
"""
    )
    work = tmp_path / "work"
    work.mkdir()
    done = subprocess.run([sys.executable, program], cwd=work, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stderr == "a user's line\n"
    failed_as_expected, last = done.stdout.splitlines()
    assert failed_as_expected == "True"
    jvm, litter = last.split(" ", 1)
    assert litter == "[]"
    deadline = time.monotonic() + 60
    while psutil.pid_exists(int(jvm)) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert not psutil.pid_exists(int(jvm)), "the JVM outlives the program"


@pytest.mark.jvm
@pytest.mark.program
@pytest.mark.thorough
def test_states_of_a_stream_are_kept_without_a_word() -> None:
    done = run_program(
        """
import morisot as mo

ctx = mo.StreamContext(parallelism=1)
inlet, numbers = ctx.stream_channel(int)
sums = numbers.rich_map(0, lambda total, n: (total + n, total + n)).collect_channel()
job = ctx.start()
with inlet:
    inlet.send_all([1, 2, 3])
print(*sums)
job.wait()
"""
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "1 3 6\n", "")


def test_what_workers_print_is_shown_among_what_pyspark_says_of_its_own() -> None:
    name = b"Streaming TransformWithStateInPandas Python worker"
    shown = WithoutWorkersNoise()
    assert shown(b"Starting " + name + b".\n\na user's line\n\n") == b"a user's line\n\n"
    assert shown(b"not ended") == b"not ended"
    assert shown(name + b" received parameters.\n") == b""
    assert shown(b"another\n") == b"another\n"
    assert shown(b"\n") == b""
    assert shown(b"\n") == b"\n"


@pytest.mark.jvm
@pytest.mark.program
def test_a_jvm_that_cannot_start_says_why() -> None:
    done = run_program(
        """
from morisot.config import Config
from morisot.errors import EnvironmentProblem
from morisot.engines.spark.session.session import build_session
try:
    build_session(Config(memory="900t"))
except EnvironmentProblem as problem:
    print(problem)
"""
    )
    assert done.stdout.startswith("Java did not start; check the settings `memory` and `spark`. Its output:\n")
    assert "heap" in done.stdout


@pytest.mark.jvm
@pytest.mark.program
@pytest.mark.thorough
def test_a_package_that_cannot_be_fetched_is_named(tmp_path: Path) -> None:
    nowhere = f'<filesystem name="none"><artifact pattern="{tmp_path}/none/[artifact].[ext]"/></filesystem>'
    settings = f'<settings defaultResolver="none"/><caches defaultCacheDir="{tmp_path}/cache"/>'
    ivy = f"<ivysettings>{settings}<resolvers>{nowhere}</resolvers></ivysettings>"
    tmp_path.joinpath("ivy.xml").write_text(ivy)
    done = run_program(
        f"""
from morisot.config import Config
from morisot.errors import EnvironmentProblem
from morisot.engines.spark.session.session import build_session
try:
    build_session(Config(packages=["org.example:nothing:1.0"], spark={{"jars.ivySettings": "{tmp_path}/ivy.xml"}}))
except EnvironmentProblem as problem:
    print(problem)
"""
    )
    said = "Spark could not fetch org.example:nothing:1.0, which the setting `packages` requests: check its name"
    assert said in done.stdout
    assert done.stderr == ""
    assert done.stderr == ""


# --- progress ---


def watchers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "morisot-progress"]


def test_a_short_job_shows_no_bar(
    spark: SparkSession, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("morisot.engines.spark.terminal.progress._PATIENCE", 60)
    with progress(spark, enabled=True):
        assert spark.range(3).count() == 3
    assert capsys.readouterr().err == ""
    assert watchers() == []


def fail_slowly(spark: SparkSession) -> None:
    with progress(spark, enabled=True, description="collect"):
        spark.range(4, numPartitions=4).mapInArrow(sleep_a_little, "id long").collect()
        raise KeyError


def sleep_a_little(batches: Iterator[RecordBatch]) -> Iterator[RecordBatch]:
    time.sleep(0.5)
    yield from batches


def test_a_long_job_shows_a_bar_that_goes_even_if_the_job_fails(
    spark: SparkSession, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("morisot.engines.spark.terminal.progress._PATIENCE", 0.1)
    with pytest.raises(KeyError):
        fail_slowly(spark)
    shown = capsys.readouterr().err
    assert "collect" in shown
    assert "/4 tasks" in shown
    assert shown.endswith("\x1b[2K"), "the bar is erased"
    assert watchers() == []


def test_without_counts_there_is_no_bar() -> None:
    with progress(object(), enabled=True):  # type: ignore[arg-type]
        assert watchers() == []

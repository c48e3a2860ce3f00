"""The one SparkSession that all variants share, and the facts of the machine it runs on."""

from __future__ import annotations

import os
import platform
import sys
from pathlib import Path
from typing import Any

import psutil
import pyspark
from pyspark.sql import SparkSession

from morisot.engines.spark.session.java_runtime import find_java, launcher_variables

ROOT = Path(__file__).resolve().parents[1]
CORES = len(os.sched_getaffinity(0))

SETTINGS = {
    "spark.driver.memory": "8g",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.default.parallelism": str(CORES),
    "spark.sql.shuffle.partitions": str(CORES),
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
    "spark.sql.codegen.cache.maxEntries": "2000",
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    "spark.python.worker.reuse": "true",
    "spark.python.daemon.module": "benchmarks.daemon",
}


def open_session() -> SparkSession:
    """A quiet local session with the same settings for every variant."""
    os.environ["PYSPARK_PYTHON"] = sys.executable  # workers start `python3` of PATH otherwise
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]  # where workers find `benchmarks`
    os.environ["PYTHONPATH"] = os.pathsep.join(paths)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.update(launcher_variables(find_java()))
    builder = SparkSession.builder.master(f"local[{CORES}]").appName("morisot-benchmarks")
    for key, value in SETTINGS.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def collect_garbage(spark: SparkSession) -> None:
    """Empty the JVM's heap, so that no variant pays for another's garbage."""
    jvm: Any = spark._jvm
    jvm.System.gc()


def machine(spark: SparkSession) -> dict[str, Any]:
    """What to know to read the numbers."""
    jvm: Any = spark._jvm
    java = jvm.System.getProperty("java.version")
    return {**machine_without_spark(), "java": java, "spark": spark.version, "settings": SETTINGS}


def machine_without_spark() -> dict[str, Any]:
    """The facts that need no session."""
    return {
        "cpu": _cpu_model(),
        "cores": CORES,
        "memory_gb": round(psutil.virtual_memory().total / 2**30, 1),
        "system": platform.platform(),
        "python": platform.python_version(),
        "pyspark": pyspark.__version__,
        "load_average_before": os.getloadavg(),
    }


def _cpu_model() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor())

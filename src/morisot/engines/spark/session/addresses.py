"""Where workers run, and the address at which they reach the driver."""

from __future__ import annotations

from pyspark.sql import SparkSession

from morisot.engines.spark.internals.sessions import is_classic


def runs_here(spark: SparkSession) -> bool:
    """Whether Spark runs on this machine only. A Spark Connect server may run elsewhere, whatever its master is."""
    master = spark.conf.get("spark.master", "") or ""
    return is_classic(spark) and master.startswith("local") and not master.startswith("local-cluster")


def driver_host(spark: SparkSession) -> str:
    """The address of the driver for workers: the loopback if they are on this machine, and never all interfaces."""
    if runs_here(spark):
        return "127.0.0.1"
    return spark.conf.get("spark.driver.host", "127.0.0.1") or "127.0.0.1"

"""The connection to Spark's JVM: how PySpark starts the JVM, connects to it, and stores the connection."""

from __future__ import annotations

import contextlib
import logging
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from py4j.java_gateway import JavaGateway

CONNECTION_FILE = "_PYSPARK_DRIVER_CONN_INFO_PATH"
"""The environment variable with the path of the file into which a JVM writes its address."""
LOG_SETTINGS = Path(__file__).with_name("log4j2.properties")


def spark_submit() -> Path:
    """Spark's command that starts the JVM."""
    from pyspark.find_spark_home import _find_spark_home

    return Path(_find_spark_home(), "bin", "spark-submit")


def address(connection: Path) -> dict[str, str]:
    """The environment variables with which PySpark connects to a JVM that has written its address."""
    from pyspark.serializers import UTF8Deserializer, read_int

    with connection.open("rb") as file:
        port, secret = read_int(file), UTF8Deserializer().loads(file)  # type: ignore[no-untyped-call]
    return {"PYSPARK_GATEWAY_PORT": str(port), "PYSPARK_GATEWAY_SECRET": secret}


def connect() -> JavaGateway:
    """A gateway to the JVM at the address in the environment, as PySpark sets it up."""
    from pyspark.java_gateway import launch_gateway

    _log_under_own_name()
    return launch_gateway()  # type: ignore[no-untyped-call]


def _log_under_own_name() -> None:
    """Makes py4j log errors with its own logger, without those that are raised as well.

    py4j calls the root logger, which configures output on stderr for the whole program.
    """
    from py4j import java_gateway

    java_gateway.logging = java_gateway.logger
    java_gateway.logger.addFilter(_is_news)


def _is_news(record: logging.LogRecord) -> bool:
    return not str(record.msg).endswith("while sending command.")


def current() -> JavaGateway | None:
    """The gateway of this process, if it has one."""
    from pyspark.core.context import SparkContext

    return SparkContext._gateway


def jvm_process() -> int | None:
    """The process of the JVM that this process has started, if there is one. It imports nothing."""
    module = sys.modules.get("pyspark.core.context")
    gateway = None if module is None else module.SparkContext._gateway
    process = getattr(gateway, "proc", None)
    return None if process is None else int(process.pid)


def client_of(gateway: JavaGateway) -> Any:
    """The py4j client of a gateway."""
    return gateway._gateway_client


def client_of_session(spark: Any) -> Any:
    """The py4j client of a session; None on Spark Connect, or if its gateway was closed."""
    with contextlib.suppress(Exception):
        return spark._jvm._gateway_client
    return None


def stop_context() -> None:
    """Stops the Spark context of this process, if it has one."""
    from pyspark.core.context import SparkContext

    if SparkContext._active_spark_context is not None:
        SparkContext._active_spark_context.stop()


def forget(gateway: JavaGateway) -> None:
    """Removes a gateway to a JVM that has ended from PySpark, so that it can start another JVM."""
    from pyspark.core.context import SparkContext

    context = SparkContext._active_spark_context
    if context is not None:
        context._jsc = None
        with contextlib.suppress(Exception), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            context.stop()
    SparkContext._active_spark_context = None
    SparkContext._gateway = None
    SparkContext._jvm = None
    _forget_sessions()
    with contextlib.suppress(Exception):
        gateway.shutdown_callback_server()
    with contextlib.suppress(Exception):
        gateway.close()


def _forget_sessions() -> None:
    from pyspark.sql import SparkSession
    from pyspark.sql.context import SQLContext

    SparkSession._instantiatedSession = None
    SparkSession._activeSession = None
    SQLContext._instantiatedContext = None

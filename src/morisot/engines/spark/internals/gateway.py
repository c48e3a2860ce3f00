"""The connection to Spark's JVM: how PySpark starts the JVM, reaches it, and where it remembers that."""

from __future__ import annotations

import contextlib
import logging
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from py4j.java_gateway import JavaGateway

CONNECTION_FILE = "_PYSPARK_DRIVER_CONN_INFO_PATH"
"""The environment variable that names the file in which a JVM says where it listens."""
LOG_SETTINGS = Path(__file__).with_name("log4j2.properties")


def spark_submit() -> Path:
    """Spark's command that becomes the JVM."""
    from pyspark.find_spark_home import _find_spark_home

    return Path(_find_spark_home(), "bin", "spark-submit")


def address(connection: Path) -> dict[str, str]:
    """The environment variables by which PySpark reaches a JVM that has said where it listens."""
    from pyspark.serializers import UTF8Deserializer, read_int

    with connection.open("rb") as told:
        port, secret = read_int(told), UTF8Deserializer().loads(told)  # type: ignore[no-untyped-call]
    return {"PYSPARK_GATEWAY_PORT": str(port), "PYSPARK_GATEWAY_SECRET": secret}


def connect() -> JavaGateway:
    """A gateway to the JVM at the address in the environment, as PySpark sets it up."""
    from pyspark.java_gateway import launch_gateway

    _log_under_own_name()
    return launch_gateway()  # type: ignore[no-untyped-call]


def _log_under_own_name() -> None:
    """Let py4j log what goes wrong under its own name, without what is raised as well.

    It calls the root logger, which then prints on stderr, and for the rest of the program.
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


def client_of(gateway: JavaGateway) -> Any:
    """The client of py4j's by which a gateway sends its commands."""
    return gateway._gateway_client


def client_of_session(spark: Any) -> Any:
    """The same of a session; None if it is of Spark Connect, or its gateway is gone."""
    with contextlib.suppress(Exception):
        return spark._jvm._gateway_client
    return None


def stop_context() -> None:
    """Stop the Spark context of this process, if it has one."""
    from pyspark.core.context import SparkContext

    if SparkContext._active_spark_context is not None:
        SparkContext._active_spark_context.stop()


def forget(gateway: JavaGateway) -> None:
    """Let PySpark start another JVM after the one of a gateway has ended: it would ask the dead one for ever."""
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

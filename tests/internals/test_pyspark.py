"""Private names of PySpark that need no JVM."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest
from py4j import java_gateway
from pyspark import daemon
from pyspark.core.context import SparkContext
from pyspark.serializers import write_int
from pyspark.sql import SparkSession
from pyspark.sql.connect.client import core
from pyspark.sql.context import SQLContext

from morisot.engines.spark.internals import gateway


def test_the_command_that_starts_the_jvm() -> None:
    assert gateway.spark_submit().is_file()


def test_the_address_of_a_jvm(tmp_path: Path) -> None:
    connection = tmp_path / "connection"
    with connection.open("wb") as out:
        write_int(12345, out)  # type: ignore[no-untyped-call]
        secret = b"tulip"
        write_int(len(secret), out)  # type: ignore[no-untyped-call]
        out.write(secret)
    assert gateway.address(connection) == {"PYSPARK_GATEWAY_PORT": "12345", "PYSPARK_GATEWAY_SECRET": "tulip"}


@pytest.mark.parametrize(
    ("owner", "name"),
    [
        (SparkContext, "_active_spark_context"),
        (SparkContext, "_gateway"),
        (SparkContext, "_jvm"),
        (SparkSession, "_instantiatedSession"),
        (SparkSession, "_activeSession"),
        (SQLContext, "_instantiatedContext"),
    ],
)
def test_where_pyspark_remembers_its_jvm(owner: type, name: str) -> None:
    assert name in vars(owner)


def test_the_loggers_of_py4j() -> None:
    assert java_gateway.logger.name == "py4j.java_gateway"
    assert hasattr(java_gateway, "logging")


def test_the_process_that_forks_workers() -> None:
    assert list(inspect.signature(daemon.worker).parameters) == ["sock", "authenticated"]
    assert not inspect.signature(daemon.manager).parameters


def test_where_a_client_of_spark_connect_makes_exceptions() -> None:
    made = inspect.unwrap(vars(core)["convert_exception"])
    assert list(inspect.signature(made).parameters)[:3] == ["info", "truncated_message", "resp"]

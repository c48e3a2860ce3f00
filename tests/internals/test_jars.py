"""Names and texts in Spark's own classes, read from its jars."""

from __future__ import annotations

import functools
import re
import zipfile
from pathlib import Path

import pyspark
import pytest

from morisot.engines.spark.internals import file_sink, gateway, names, restore_failures, streaming

JARS = Path(pyspark.__file__).parent / "jars"


@functools.cache
def classes() -> dict[str, Path]:
    """The jar of each class of Spark, Hadoop and RocksDB."""
    jars = [jar for name in ("spark-*", "hadoop-client-api-*", "rocksdbjni-*") for jar in sorted(JARS.glob(name))]
    return {name.replace("/", "."): jar for jar in jars for name in zipfile.ZipFile(jar).namelist()}


def content(simple_name: str) -> bytes:
    """The bytes of the classes that a source file is compiled to."""
    found = [name for name in classes() if re.search(rf"\.{simple_name}(\$.*)?\.class$", name)]
    assert found, f"Spark has no class {simple_name}"
    return b"".join(zipfile.ZipFile(classes()[name]).read(f"{name[:-6].replace('.', '/')}.class") for name in found)


@pytest.mark.parametrize("name", [names.ROCKS_DB, names.FILE_MANAGER, "org.apache.hadoop.fs.FSError"])
def test_classes_that_settings_and_checks_name(name: str) -> None:
    assert f"{name}.class" in classes()


def test_the_class_whose_log_has_a_level_of_its_own() -> None:
    (name,) = re.findall(r"^logger\.shell\.name = (\S+)$", gateway.LOG_SETTINGS.read_text(), re.MULTILINE)
    assert f"{name}.class" in classes()


@pytest.mark.parametrize("package", [*restore_failures._READERS, "org.apache.hadoop."])
def test_packages_that_read_checkpoints(package: str) -> None:
    assert any(name.startswith(package) for name in classes())


@pytest.mark.parametrize("format_", file_sink._CLASSES)
def test_classes_of_file_formats(format_: file_sink.Format) -> None:
    path = f"org.apache.spark.sql.execution.datasources.{format_}.{file_sink._CLASSES[format_]}.class"
    assert path in classes()


def test_the_property_that_has_the_number_of_a_micro_batch() -> None:
    assert names.MICRO_BATCH.encode() in content("MicroBatchExecution")


def test_the_status_of_a_query_until_it_has_its_sources() -> None:
    assert f"{streaming._INITIALIZING} sources".encode() in content("StreamExecution")


def test_the_variable_that_names_the_file_of_the_connection() -> None:
    assert gateway.CONNECTION_FILE.encode() in content("PythonGatewayServer")


@pytest.mark.parametrize("prefix", restore_failures._CONDITIONS)
def test_conditions_of_unreadable_checkpoints(prefix: str) -> None:
    jar = classes()["error.error-conditions.json"]
    conditions = zipfile.ZipFile(jar).read("error/error-conditions.json").decode()
    assert re.search(rf'^  "{prefix}', conditions, re.MULTILINE)

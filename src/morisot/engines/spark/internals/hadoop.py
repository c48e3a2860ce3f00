"""Hadoop's file systems: local disks and remote stores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.core.context import SparkContext
    from pyspark.sql import SparkSession


def exists(spark: SparkSession, path: str) -> bool:
    """Whether a file or a directory exists."""
    files, paths = _file_system(spark, path)
    return bool(files.exists(paths(path)))


def delete(spark: SparkSession, path: str) -> None:
    """Removes a file, or a directory with its content, if it exists."""
    files, paths = _file_system(spark, path)
    files.delete(paths(path), True)


def rename(spark: SparkSession, path: str, new: str) -> None:
    """Renames a file or a directory on the same file system."""
    files, paths = _file_system(spark, new)
    files.rename(paths(path), paths(new))


def write_no_checksums(context: SparkContext) -> None:
    """Makes Hadoop write local files without checksum files.

    For each file, and for each checksum file, Hadoop starts the program `chmod`, which delays a micro-batch three times
    by some milliseconds. Existing checksums are still verified.
    """
    jvm: Any = context._jvm
    jvm.org.apache.hadoop.fs.FileSystem.getLocal(context._jsc.hadoopConfiguration()).setWriteChecksum(False)


def _file_system(spark: SparkSession, path: str) -> tuple[Any, Any]:
    """The Hadoop file system of a path, and the path as a Hadoop object."""
    jvm: Any = spark._jvm
    paths = jvm.org.apache.hadoop.fs.Path
    return paths(path).getFileSystem(spark._jsparkSession.sessionState().newHadoopConf()), paths

"""Hadoop's file systems, which know local disks and remote stores alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.core.context import SparkContext
    from pyspark.sql import SparkSession


def exists(spark: SparkSession, path: str) -> bool:
    """Whether there is a file or a directory."""
    files, paths = _file_system(spark, path)
    return bool(files.exists(paths(path)))


def delete(spark: SparkSession, path: str) -> None:
    """Remove a file or a directory with everything in it, if it is there."""
    files, paths = _file_system(spark, path)
    files.delete(paths(path), True)


def rename(spark: SparkSession, path: str, new: str) -> None:
    """Give a file or a directory a new path on the same file system."""
    files, paths = _file_system(spark, new)
    files.rename(paths(path), paths(new))


def write_no_checksums(context: SparkContext) -> None:
    """Let Hadoop write a local file without a second one that has its checksums.

    For each file that it makes, and for each of checksums, it starts the program `chmod`: some milliseconds in which a
    micro-batch waits three times. Files that have checksums are still checked against them.
    """
    jvm: Any = context._jvm
    jvm.org.apache.hadoop.fs.FileSystem.getLocal(context._jsc.hadoopConfiguration()).setWriteChecksum(False)


def _file_system(spark: SparkSession, path: str) -> tuple[Any, Any]:
    """The file system of a path, and Hadoop's class of paths."""
    jvm: Any = spark._jvm
    paths = jvm.org.apache.hadoop.fs.Path
    return paths(path).getFileSystem(spark._jsparkSession.sessionState().newHadoopConf()), paths

"""The stored output of source splits, in directories that are written atomically."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import functions as F  # noqa: N812 - the name every Spark program uses

from morisot.engines.spark.checkpoints.snapshot_files import check_manifest, write_manifest
from morisot.engines.spark.io.directories import replace
from morisot.engines.spark.io.output_directory import unfinished_in
from morisot.engines.spark.streaming.sinks import HandingOver, Share, SinkWriter
from morisot.plan.analysis.graph import walk
from morisot.plan.analysis.resumable import StoreSplits
from morisot.plan.analysis.validate import gives_running_values


def complete(directory: str) -> None:
    """Writes the manifest of a split's output, so that a later program can check it."""
    write_manifest(Path(directory), "part")


def split_directory(directory: Path, number: int) -> Path:
    """The directory of a split's output."""
    return directory / f"piece-{number:08}"


def check_splits(directory: Path, number: int) -> None:
    """Raises an error if the output of the first `number` splits is incomplete or changed."""
    for each in range(number):
        check_manifest(split_directory(directory, each), "part")


class PartWriter(SinkWriter):
    """Writes a directory for each source split, which replaces that of an earlier attempt."""

    def __init__(self, sink: StoreSplits) -> None:
        super().__init__(sink, None, None)
        self._directory = sink.directory
        self._ordered = sink.ordered
        self._running = any(map(gives_running_values, walk(sink)))

    def take(self, share: Share) -> HandingOver:
        rows = share.df
        if self._ordered:
            # Rows of one file have one value in `at`, and are in order. Spark would compute them twice to sort them.
            rows = rows.selectExpr("*", "monotonically_increasing_id() AS `at/row`").persist()
        try:
            ordered = rows.orderBy("at", "at/row") if self._ordered else rows
            if self._running:
                ordered = ordered.withColumn("piece", F.lit(share.batch).cast("bigint"))
            writer = ordered.drop("at", "at/row").write.format("parquet")
            aside = unfinished_in(self._directory, share.batch)
            path = str(split_directory(Path(self._directory), share.batch))
            replace(share.df.sparkSession, path, writer, aside, complete)
        finally:
            if self._ordered:
                rows.unpersist()
        return lambda: None

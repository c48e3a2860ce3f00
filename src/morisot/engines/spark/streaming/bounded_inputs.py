"""Copies the bounded inputs of a query into files, which the query reads as a stream."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow.parquet as pq

from morisot.engines.spark.bounded.runner import BatchRunner
from morisot.engines.spark.checkpoints.snapshot_files import check_manifest, write_manifest
from morisot.engines.spark.emit.stateful.bounded_inputs import for_files
from morisot.engines.spark.internals.file_sink import in_row_order
from morisot.errors import SinkError
from morisot.physical.job import Query
from morisot.plan.nodes.node import Node
from morisot.private import private_directory

ROWS = 100_000
"""The most elements of a file."""


def copy(stream: Node, runner: BatchRunner, directory: Path, rows: int) -> list[Path]:
    """Copies the elements of a stream into Parquet files of at most `rows` rows, in the order of their names."""
    runner.run(
        stream,
        lambda _, frame: (
            for_files(frame).write.option("maxRecordsPerFile", rows).mode("overwrite").parquet(str(directory))
        ),
    )
    return [file.rename(directory / f"{index:08}.parquet") for index, file in enumerate(in_row_order(directory))]


def copy_bounded_inputs(query: Query, runner: BatchRunner, directory: Path) -> None:
    """Copies the bounded inputs of a query.

    A copy of an earlier start of the job is not replaced, because the query may have read a part of it.
    """
    for number, stream in enumerate(query.bounded_inputs):
        copied, writing = directory / str(number), directory / f"{number}.writing"
        if copied.is_dir():
            check_manifest(copied, "bounded input")
            continue
        shutil.rmtree(writing, ignore_errors=True)
        try:
            private_directory(writing)
        except OSError as error:
            raise SinkError(f"elements of {stream.title} cannot be written to {writing}: {error.strerror}") from None
        copies = copy(stream, runner, writing, ROWS)
        for file in writing.iterdir():  # Spark also writes other files, and empty ones
            if file not in copies or not pq.read_metadata(file).num_rows:
                file.unlink()
        write_manifest(writing, "bounded input")
        writing.rename(copied)

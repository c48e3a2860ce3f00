"""Copies the elements of bounded streams into files, for queries that read them as they read what arrives."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pyarrow.parquet as pq

from morisot.engines.spark.bounded.runner import BatchRunner
from morisot.engines.spark.checkpoints.snapshot_files import check_manifest, write_manifest
from morisot.engines.spark.emit.stateful.bounded_inputs import for_files
from morisot.errors import SinkError
from morisot.plan.analysis.graph import met_by_endless
from morisot.plan.nodes.node import Node
from morisot.private import private_directory

ROWS = 100_000
"""The elements of a file, where nobody knows how many there are."""
_PART = re.compile(r"part-(\d+)-.*?(?:c(\d+))?\.\w+\.parquet")


def copy(stream: Node, runner: BatchRunner, directory: Path, rows: int) -> list[Path]:
    """The elements of a stream in Parquet files with so many rows at most, in the order of their names."""
    runner.run(
        stream,
        lambda _, frame: (
            for_files(frame).write.option("maxRecordsPerFile", rows).mode("overwrite").parquet(str(directory))
        ),
    )
    found = ((_PART.fullmatch(file.name), file) for file in directory.glob("part-*"))
    in_order = sorted((int(match[1]), int(match[2] or 0), file) for match, file in found if match)
    return [file.rename(directory / f"{place:08}.parquet") for place, (_, _, file) in enumerate(in_order)]


def copy_what_is_met(query: Node, runner: BatchRunner, directory: Path) -> bool:
    """Copy the bounded streams that streams without end meet in a query; whether there is one.

    What an earlier start of the job has copied stays: the query may have read a part of it.
    """
    met = met_by_endless(query)
    for number, stream in enumerate(met):
        place, writing = directory / str(number), directory / f"{number}.writing"
        if place.is_dir():
            check_manifest(place, "bounded input")
            continue
        shutil.rmtree(writing, ignore_errors=True)
        try:
            private_directory(writing)
        except OSError as error:
            raise SinkError(f"what {stream.title} gives cannot be written to {writing}: {error.strerror}") from None
        copies = copy(stream, runner, writing, ROWS)
        for file in writing.iterdir():  # without what Spark leaves beside them, and without files in which nothing is
            if file not in copies or not pq.read_metadata(file).num_rows:
                file.unlink()
        write_manifest(writing, "bounded input")
        writing.rename(place)
    return bool(met)

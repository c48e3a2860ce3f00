"""The files of a path as DataFrames."""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote

from pyspark.sql import DataFrame

from morisot.engines.spark.emit.core.emission import Emission
from morisot.engines.spark.internals import file_sink_log, plans
from morisot.engines.spark.session.scratch import scratch
from morisot.physical.passes.order_files import FileOrder
from morisot.physical.scan_layout import ScanLimits, layout_of, split_bytes_of
from morisot.plan.files import is_local
from morisot.plan.nodes.source import PathSource

_MOST_FILES_READ_ONE_BY_ONE = 64
SPLIT_SIZE = 2**40
"""The total size of the files of a source split, in a list that declares it independent of their real sizes."""
_GLOB = frozenset("{}[]*?\\")
Load = Callable[[Any, str], DataFrame]


def read(node: PathSource, emission: Emission, load: Load) -> DataFrame:
    """The files as a DataFrame, in the order that the plan chose."""
    if node.unbounded:
        files = node.files_per_batch or (1 if emission.query.trigger.by_items else None)
        limit = {} if files is None else {"maxFilesPerTrigger": files}
        reader = emission.spark.readStream.options(**limit)
        return load(reader, node.path) if node.listed is None else load(of_listed_files(reader), node.listed)
    exists = is_local(node.path) and Path(node.path).exists()  # then it is no pattern, whatever its characters
    df = load(emission.spark.read, escaped(node.path) if exists else node.path)
    order = emission.plan.file_order[node]
    return df if order == "any" else in_order(df, order, emission, load)


def of_listed_files(reader: Any) -> Any:
    """A reader of a directory whose log lists files in other directories, in the order and by the splits of the log."""
    return reader.options(recursiveFileLookup=True, maxBytesPerTrigger=SPLIT_SIZE, maxFileAge="1000000d")


def in_order(df: DataFrame, order: FileOrder, emission: Emission, load: Load) -> DataFrame:
    """The files of a frame in the order of their paths, which is the stream order."""
    if order == "packed" and plans.is_plain_scan(df):
        return packed(df, emission, load)
    return restored(df, emission, load)


def packed(df: DataFrame, emission: Emission, load: Load) -> DataFrame:
    """One scan of the files in the order of their paths.

    A list names the files with sizes that never grow, and Spark reads what the list says: see `scan_layout`.
    """
    files = sorted(plans.files_of(df), key=unquote)
    if len(files) < 2:
        return df
    sizes = plans.file_sizes(df, files)
    content = [(file, size) for file, size in zip(files, sizes, strict=True) if size]  # Spark reads no empty files
    if len(content) < 2:
        return df
    sizes = [size for _, size in content]
    limits = ScanLimits(*plans.scan_limits(emission.spark))
    layout = layout_of(sizes, limits, never_split(df, content, split_bytes_of(sizes, limits)))
    with tempfile.TemporaryDirectory(prefix="files-", dir=scratch()) as name:
        directory = Path(name)
        file_sink_log.prepare(directory)
        listed = [(file, size) for (file, _), size in zip(content, layout.sizes, strict=True)]
        file_sink_log.write(directory, listed, block_size=layout.split_bytes)
        return plans.scan_of_list(
            emission.spark,
            lambda reader: load(reader.schema(df.schema).option("recursiveFileLookup", True), f"file://{name}"),
            layout,
            factor=sum(sizes) / sum(layout.sizes),
        )


def never_split(df: DataFrame, content: Sequence[tuple[str, int]], split: int) -> list[bool]:
    """Which of the files are larger than a split, and are not split: it depends on their suffix."""
    suffixes = {PurePosixPath(unquote(file)).suffix: file for file, size in content if size > split}
    whole = {suffix for suffix, file in suffixes.items() if not plans.is_split(df, file)}
    return [size > split and PurePosixPath(unquote(file)).suffix in whole for file, size in content]


def restored(df: DataFrame, emission: Emission, load: Load) -> DataFrame:
    """The rows in the order of paths: of a few files by a scan for each, else by a sort."""
    files = sorted(df.inputFiles(), key=unquote)
    if len(files) < 2:
        return df
    if len(files) <= _MOST_FILES_READ_ONE_BY_ONE and not have_columns(files):
        scans_of_files = (load(emission.spark.read, escaped(unquote(file))) for file in files)
        return functools.reduce(DataFrame.unionAll, scans_of_files)
    # Spark encodes the path, which is sorted decoded; a plus sign is not encoded
    file = "url_decode(replace(_metadata.file_path, '+', '%2B'))"
    positions = [f"{file} AS `at/file`", "_metadata.file_block_start AS `at/start`"]
    numbered = df.selectExpr("*", *positions, "monotonically_increasing_id() AS `at/row`")
    return numbered.orderBy("at/file", "at/start", "at/row").drop("at/file", "at/start", "at/row")


def have_columns(files: Sequence[str]) -> bool:
    """Whether names of directories may be values of columns, which a scan of one file would not have."""
    return any("=" in str(PurePosixPath(unquote(file)).parent) for file in files)


def escaped(path: str) -> str:
    """The path of one file or directory, without characters of patterns."""
    return "".join(f"\\{character}" if character in _GLOB else character for character in path)

"""Files that workers read in Python: if Spark's readers failed on them, or would give other values."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame

from morisot.engines.spark.emit.core.emission import Emission
from morisot.engines.spark.emit.frames import schema
from morisot.engines.spark.emit.frames.frame import ROW_ORDER, Frame
from morisot.engines.spark.emit.python.fused_stage import dumps, in_worker
from morisot.engines.spark.emit.sources.paths import read
from morisot.engines.spark.emit.stateful.row_order import row_order_in_files
from morisot.plan.files import is_local
from morisot.plan.nodes.source import PathSource
from morisot.runtime.file_formats import format_of
from morisot.worker.files.reader import ReadFiles

_FILE = "path STRING, modificationTime TIMESTAMP, length BIGINT, content BINARY"
"""The columns of files, which a streaming reader does not infer."""


def parsed(node: PathSource, emission: Emission) -> Frame:
    """The elements of files, of which each is read by one task."""
    content = "CAST(NULL AS BINARY)" if is_local(node.path) else "content"
    ordered = not node.bounded and emission.provides_row_order(node)
    order = [f"{row_order_in_files(by_age=node.files_by_age)} AS {ROW_ORDER}"] if ordered else []

    def load(reader: Any, path: str) -> DataFrame:
        files: DataFrame = reader.format("binaryFile").schema(_FILE).load(path)
        return files

    policy = emission.policy(node)
    account = None if policy is None else emission.account([policy])
    task = ReadFiles(format_of(node), ordered, dumps, policy, account)
    columns = schema.ddl(node.type) + (f", {ROW_ORDER} BINARY" if ordered else "")
    files = read(node, emission, load).selectExpr("path", f"{content} AS content", *order)
    df = files.mapInArrow(in_worker(task), columns)
    return Frame(df, node.type, has_row_order=ordered)

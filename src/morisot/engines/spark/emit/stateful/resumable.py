"""Resumable parts: the copied elements of a source, and the stored output of splits."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark program uses

from morisot.engines.spark.emit.core.emission import Emission
from morisot.engines.spark.emit.core.registry import emits
from morisot.engines.spark.emit.frames import schema
from morisot.engines.spark.emit.frames.frame import ROW_ORDER, TIME, Frame
from morisot.engines.spark.emit.frames.sql import quoted
from morisot.engines.spark.emit.python.in_order import grouped_by_key
from morisot.engines.spark.emit.sources.paths import in_order, of_listed_files
from morisot.engines.spark.emit.stateful.row_order import row_order_in_files
from morisot.physical.ops import ReadOp, WriteOp
from morisot.plan.analysis.resumable import StoredSplits, StoreSplits, StreamCopied
from morisot.types.element import Keyed

NUMBER = quoted("piece")
"""The column with the number of the split, for running values."""


@emits(ReadOp, StreamCopied)
def emit_stream_copied(node: StreamCopied, emission: Emission) -> Frame:
    stretches = node.step is not None
    columns = "first BIGINT, last BIGINT" if stretches else schema.ddl(node.type)
    df = of_listed_files(emission.spark.readStream.schema(columns)).parquet(node.listed)
    if not stretches:
        return Frame(df, node.type)
    ordered = emission.needs_order(node)  # generated elements have no file metadata
    hidden = [f"{row_order_in_files()} AS {ROW_ORDER}"] if ordered else []
    generated = df.selectExpr(f"explode(sequence(first, last, {node.step}L)) AS value", *hidden)
    return Frame(generated, node.type, has_row_order=ordered)


@emits(WriteOp, StoreSplits)
def emit_store_splits(node: StoreSplits, emission: Emission, frame: Frame) -> Frame:
    return frame


@emits(ReadOp, StoredSplits)
def emit_stored_splits(node: StoredSplits, emission: Emission) -> Frame:
    timed = node.time is not None
    columns = schema.ddl(node.type, *([TIME] if timed else []), *([NUMBER] if node.running else []))

    def load(reader: Any, path: str) -> DataFrame:
        df: DataFrame = reader.schema(columns).option("recursiveFileLookup", True).parquet(path)
        return df

    df = load(emission.spark.read, node.directory)
    if node.running:
        return Frame(last_values(node, df), node.type)
    return Frame(in_order(df, "packed", emission, load) if emission.is_ordered(node) else df, node.type, timed)


def last_values(node: StoredSplits, df: DataFrame) -> DataFrame:
    """The last values: of each key, in the order of first occurrences, or of the whole stream."""
    frame = Frame(df, node.type)
    if not isinstance(node.type, Keyed):
        return df.orderBy(F.desc("piece")).limit(1).select(*frame.columns)
    rows, group = grouped_by_key(node, df, node.type)
    key, value = (", ".join(frame.columns_under(position)) for position in (0, 1))
    last = rows.groupBy(*map(F.expr, group)).agg(
        F.expr(f"min_by(struct({key}), {NUMBER})").alias("first"),
        F.expr(f"max_by(struct({value}), {NUMBER})").alias("last"),
    )
    return last.selectExpr("first.*", "last.*")

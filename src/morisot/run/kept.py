"""What the pieces of a bounded job give, kept in directories: each is there whole, or not at all."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark program uses

from morisot.plan.check import gives_running_values
from morisot.plan.graph import walk
from morisot.plan.pieces import KeepPieces
from morisot.run.files import replace


def keep_piece(sink: KeepPieces, df: DataFrame, piece: int) -> None:
    """Keep what a piece gives, in the place of what an earlier try gave."""
    rows = df
    if sink.ordered:
        # Rows of one file have one place, and are in order. Spark would compute them twice to sort them.
        rows = df.selectExpr("*", "monotonically_increasing_id() AS `at/row`").persist()
    try:
        ordered = rows.orderBy("at", "at/row") if sink.ordered else rows
        if any(gives_running_values(node) for node in walk(sink)):
            ordered = ordered.withColumn("piece", F.lit(piece).cast("bigint"))
        writer = ordered.drop("at", "at/row").write.format("parquet")
        replace(df, f"{sink.directory}/piece-{piece:08}", writer, aside=f"{sink.directory}/_writing-{piece}")
    finally:
        if sink.ordered:
            rows.unpersist()

"""One closure in three ways: with Morisot, as an Arrow-optimised Python UDF, and as an RDD lambda."""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from pyspark.sql.functions import udf

from benchmarks.closures import data
from benchmarks.closures.forms import FILTERS, RANGES
from benchmarks.session import CORES
from morisot.engines.spark.emit.frames.sql import sql_type
from morisot.types.element import Optional, Record

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from benchmarks.closures.entry import Entry

MORISOT, ARROW_UDF, RDD = "morisot", "arrow_udf", "rdd"


def returning(entry: Entry) -> Callable[[Any], Any] | None:
    """What turns a dataclass that the closure returns into the tuple that a UDF has to return; None if none does."""
    type_ = entry.returns.inner if isinstance(entry.returns, Optional) else entry.returns
    if not isinstance(type_, Record) or type_.is_tuple:
        return None
    return operator.attrgetter(*type_.names)


def arrow_udf(spark: SparkSession, entry: Entry, size: int) -> Callable[[], None]:
    """The closure over the columns of a table; a record is made of them first."""
    function, fields = data.by_columns(entry.rows, entry.function), returning(entry)
    if fields is not None:
        inner = function
        function = lambda *columns: None if (found := inner(*columns)) is None else fields(found)  # noqa: E731
    applied = udf(function, sql_type(entry.returns), useArrow=True)
    if entry.key in RANGES:
        first = RANGES[entry.key]
        with own_workers(spark):
            result = applied("id")
        numbers = spark.range(first, first + size, 1, CORES).select(result.alias("result"))
        return lambda: written(numbers)
    rows = spark.read.parquet(str(data.directory(entry.rows, size)))
    with own_workers(spark):
        result = applied(*data.columns_of(entry.rows))
    frame = rows.where(result) if entry.key in FILTERS else rows.select(result.alias("result"))
    return lambda: written(frame)


def rdd(spark: SparkSession, entry: Entry, size: int) -> Callable[[], None]:
    """The closure over Python objects that Spark keeps pickled."""
    first = RANGES.get(entry.key)
    taken = entry.rows.take(size) if first is None else range(first, first + size)
    elements = spark.sparkContext.parallelize(taken, CORES)
    function = entry.function

    def run() -> None:
        with own_workers(spark):
            (elements.filter(function) if entry.key in FILTERS else elements.map(function)).count()

    return run


@contextlib.contextmanager
def own_workers(spark: SparkSession) -> Iterator[None]:
    """What is made here runs in workers of its own, in which Morisot has changed nothing.

    Spark has a pool of workers for each environment.
    """
    environment = spark.sparkContext.environment
    environment["BENCHMARKED"] = "plain PySpark"
    try:
        yield
    finally:
        del environment["BENCHMARKED"]


def written(frame: Any) -> None:
    """Compute every row, and keep none."""
    frame.write.format("noop").mode("overwrite").save()

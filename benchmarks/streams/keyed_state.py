"""State for many keys on unbounded input: `python -m benchmarks.streams.keyed_state [--keys 100000 1000000]`.

A followed directory of Parquet files, read one file a micro-batch. The yardstick is Spark's own aggregation of the same
files, a running sum for each key; CPU time is that of the driver, the JVM and the Python workers together. Workloads
take turns, and the median of each one's runs is taken: how much a machine does in a second of CPU changes with who else
is on it.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark program uses

import morisot as mo
from benchmarks.cpu import Cost, measured
from benchmarks.session import ROOT
from morisot.engines.spark.emit.core.emission import Emission, Resources
from morisot.errors import Location
from morisot.physical.plan import plan
from morisot.plan.nodes.sink import WriteParquet
from morisot.plan.nodes.testing import StreamBatches
from morisot.types.element import INT, Tuple, leaves

SETTINGS = {
    "spark.python.daemon.module": "benchmarks.daemon",  # it waits for its workers, so that their time is counted
    "spark.sql.execution.arrow.maxRecordsPerBatch": "200000",
    "spark.sql.execution.arrow.maxBytesPerBatch": str(2**31 - 1),  # as a job sets it whose elements are numbers
    "spark.driver.memory": "4g",
}
BATCHES = 10
PAIR = Tuple((INT, INT))


def write_files(directory: Path, keys: int, elements: int) -> None:
    """Elements with random keys, in as many files as there are to be micro-batches."""
    generator = np.random.default_rng(7)
    for number in range(BATCHES):
        size = elements // BATCHES
        columns = [pa.array(generator.integers(0, keys, size)), pa.array(generator.integers(0, 1000, size))]
        pq.write_table(
            pa.table(columns, names=[leaf.column for leaf in leaves(PAIR)]), directory / f"{number:03}.parquet"
        )


def keyed(ctx: mo.StreamContext, directory: Path) -> Any:
    source = StreamBatches(directory=str(directory), type=PAIR, location=Location(__file__, 0))
    return ctx.plain(source).group_by(lambda pair: pair[0]).map(lambda _, pair: pair[1])


def rows_of(ctx: mo.StreamContext, stream: Any) -> Any:
    """The streaming DataFrame of a sink of files, so that no sink costs anything."""
    sink = WriteParquet(path="nowhere", input=stream._node, type=stream._node.type, location=Location(__file__, 0))
    resources = Resources(ctx.spark, ctx.spark.sparkContext.defaultParallelism)
    return Emission(resources, plan((sink,), where="query")).frame(sink).df


def native_sum(ctx: mo.StreamContext, directory: Path) -> tuple[Any, str]:
    key, value = [leaf.column for leaf in leaves(PAIR)]
    reader = ctx.spark.readStream.schema(f"`{key}` BIGINT, `{value}` BIGINT").option("maxFilesPerTrigger", 1)
    return reader.parquet(str(directory)).groupBy(f"`{key}`").agg(F.sum(f"`{value}`")), "update"


def rich_map(ctx: mo.StreamContext, directory: Path) -> tuple[Any, str]:
    sums = keyed(ctx, directory).rich_map(0, lambda total, _, value: (total + value, total + value), returns=int)
    return rows_of(ctx, sums), "append"


def count_windows(ctx: mo.StreamContext, directory: Path) -> tuple[Any, str]:
    return rows_of(ctx, keyed(ctx, directory).window(mo.CountWindow.tumbling(10)).sum()), "append"


WORKLOADS: dict[str, Callable[[mo.StreamContext, Path], tuple[Any, str]]] = {
    "Spark's own sum": native_sum,
    "rich_map": rich_map,
    "count windows": count_windows,
}


def run(ctx: mo.StreamContext, workload: Callable[[mo.StreamContext, Path], tuple[Any, str]], directory: Path) -> Cost:
    """Read all files once."""
    df, mode = workload(ctx, directory)
    checkpoint = tempfile.mkdtemp(prefix="keyed-state-")

    def read_all() -> None:
        writer = df.writeStream.outputMode(mode).format("noop").option("checkpointLocation", checkpoint)
        query = writer.start()
        query.processAllAvailable()
        query.stop()

    _, cost = measured(read_all)
    shutil.rmtree(checkpoint, ignore_errors=True)
    return cost


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keys", type=int, nargs="*", default=[100_000, 1_000_000])
    parser.add_argument("--elements", type=int, default=2_000_000)
    parser.add_argument("--runs", type=int, default=3, help="of each workload, after one that does not count")
    parser.add_argument("--only", nargs="*", default=list(WORKLOADS))
    options = parser.parse_args()
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    os.environ["PYTHONPATH"] = os.pathsep.join(paths)  # where workers find `benchmarks`
    ctx = mo.StreamContext(config=mo.Config(progress=False, spark=SETTINGS))
    print("| keys | workload | µs CPU an element | of Spark's own | elements a second |")
    print("|---|---|---|---|---|")
    with ctx, tempfile.TemporaryDirectory() as name:
        for keys in options.keys:
            directory = Path(name) / str(keys)
            directory.mkdir()
            write_files(directory, keys, options.elements)
            for workload in options.only:
                run(ctx, WORKLOADS[workload], directory)  # until what the JVM compiles is compiled
            costs = {workload: list[Cost]() for workload in options.only}
            for _ in range(options.runs):
                for workload, found in costs.items():
                    found.append(run(ctx, WORKLOADS[workload], directory))
            yardstick = None
            for workload, found in costs.items():
                each = statistics.median(cost.cpu_seconds for cost in found) / options.elements * 1e6
                yardstick = yardstick or each
                rate = options.elements / statistics.median(cost.wall_seconds for cost in found)
                print(f"| {keys} | {workload} | {each:.2f} | {each / yardstick:.2f} | {rate:,.0f} |", flush=True)


if __name__ == "__main__":
    main()

"""`python -m benchmarks.untyped_table`: sums over a table without a record class, against the same with one.

Every field of a table without a record class may be None. Its sums have to cost what those of the typed table cost. The
two are run in turn, each first in every second round, and the CPU of the whole process tree is compared.
"""

# The annotations of the record are read as types: no `annotations` import.
import argparse
import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.cpu import measured
from benchmarks.session import open_session

LIMIT = 1.1
"""The most that the untyped table may cost, as a multiple of the typed one."""


class Reading(NamedTuple):
    """A row of the table."""

    k: int
    x: float


def write_table(path: Path, rows: int) -> None:
    """A table of keys and numbers, in eight row groups."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    chance = np.random.default_rng(1)
    table = pa.table({"k": pa.array(chance.integers(0, 1000, rows)), "x": pa.array(chance.random(rows))})
    pq.write_table(table, path, row_group_size=max(1, rows // 8))


def typed(ctx: Any, path: Path) -> dict[Any, Any]:
    """With a record class, whose fields are never None."""
    return dict(ctx.stream_parquet(path, Reading).group_by_sum(lambda r: r.k, lambda r: r.x).collect())


def untyped(ctx: Any, path: Path) -> dict[Any, Any]:
    """Without one."""
    return dict(ctx.stream_parquet(path).group_by_sum(lambda r: r.k, lambda r: r.x).collect())


VARIANTS: dict[str, Callable[[Any, Path], dict[Any, Any]]] = {"typed": typed, "untyped": untyped}


def main() -> int:
    """Measure and print; 1 if the untyped table costs too much."""
    import morisot as mo

    parser = argparse.ArgumentParser(prog="python -m benchmarks.untyped_table")
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--runs", type=int, default=11, help="measured rounds, after three warm-ups")
    given = parser.parse_args()
    costs: dict[str, list[float]] = {name: [] for name in VARIANTS}
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "readings.parquet"
        write_table(path, given.rows)
        spark = open_session()
        ctx = mo.StreamContext(spark)
        for number in range(given.runs + 3):
            sums = {}
            for name, run in sorted(VARIANTS.items(), reverse=bool(number % 2)):
                sums[name], cost = measured(lambda run=run: run(ctx, path))  # type: ignore[misc]
                if number >= 3:
                    costs[name].append(cost.cpu_seconds)
            assert {key: round(value, 3) for key, value in sums["typed"].items()} == {
                key: round(value, 3) for key, value in sums["untyped"].items()
            }
        spark.stop()
    for name, seconds in costs.items():
        print(f"{name:8} median {statistics.median(seconds):.2f} CPU s  ({', '.join(f'{s:.2f}' for s in seconds)})")
    ratio = statistics.median(mine / theirs for mine, theirs in zip(costs["untyped"], costs["typed"], strict=True))
    print(f"ratio {ratio:.3f} (median of the rounds), at most {LIMIT}")
    return int(ratio > LIMIT)


if __name__ == "__main__":
    raise SystemExit(main())

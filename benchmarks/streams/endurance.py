"""Many elements through one job: `python -m benchmarks.streams.endurance [--elements 20000000]`.

A followed directory of Parquet files, some in each micro-batch; a count of elements in windows of time, and a
`rich_map` that numbers the elements of each key. Both are written to files, which must hold every element once. Memory
is looked at once a second. A JVM takes what it is allowed before it tidies up, so it is allowed little.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

import morisot as mo
from benchmarks.streams.memory import Watch, quarters

KEYS = 10_000
IN_A_FILE = 250_000
FILES_IN_A_BATCH = 2
FAR = 10**12


class Event(NamedTuple):
    key: int
    at: int
    """Milliseconds."""


def write_files(inbox: Path, elements: int) -> np.ndarray[Any, Any]:
    """The files, and how many elements each key has; the last file lets the last windows end."""
    generator = np.random.default_rng(7)
    counts = np.zeros(KEYS + 1, np.int64)
    for number, first in enumerate(range(0, elements, IN_A_FILE)):
        keys = generator.integers(0, KEYS, min(IN_A_FILE, elements - first))
        at = first + np.arange(len(keys)) + generator.integers(-500, 500, len(keys))
        counts += np.bincount(keys, minlength=KEYS + 1)
        pq.write_table(pa.table({"key": pa.array(keys), "at": pa.array(at)}), inbox / f"{number:06}.parquet")
        time.sleep(0.01)  # files are taken in the order of their times
    end = pa.table({"key": pa.array([KEYS], pa.int64()), "at": pa.array([FAR], pa.int64())})
    pq.write_table(end, inbox / "zz.parquet")
    counts[KEYS] = 1
    return counts


def windows(events: Any) -> Any:
    timed = events.add_timestamps(lambda event: event.at, delay="2s").group_by(lambda event: event.key)
    return timed.window(mo.EventTimeWindow.tumbling("60s")).count()


def numbered(events: Any) -> Any:
    return events.group_by(lambda event: event.key).rich_map(0, lambda n, _, event: (n + 1, n + 1), returns=int)


def check_windows(table: pa.Table, counts: np.ndarray[Any, Any]) -> bool:
    found = np.bincount(table["key"].to_numpy(), table["value"].to_numpy(), KEYS + 1).astype(np.int64)
    return bool((found[:KEYS] == counts[:KEYS]).all())


def check_numbered(table: pa.Table, counts: np.ndarray[Any, Any]) -> bool:
    """The numbers of each key are 1, 2, 3, … without a gap or one that comes twice."""
    keys, values = table["key"].to_numpy(), table["value"].to_numpy()
    order = np.lexsort((values, keys))
    expected = np.concatenate([np.arange(1, count + 1) for count in counts])
    return len(values) == len(expected) and bool((values[order] == expected).all())


JOBS: dict[str, tuple[Callable[[Any], Any], Callable[[pa.Table, np.ndarray[Any, Any]], bool]]] = {
    "windows of 60 s, count": (windows, check_windows),
    "rich_map": (numbered, check_numbered),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--elements", type=int, default=20_000_000)
    parser.add_argument("--memory", default="1g", help="of the JVM's heap")
    options = parser.parse_args()
    config = mo.Config(progress=False, memory=options.memory)
    right = True
    with tempfile.TemporaryDirectory() as name:
        inbox = Path(name) / "in"
        inbox.mkdir()
        counts = write_files(inbox, options.elements)
        for number, (title, (program, check)) in enumerate(JOBS.items()):
            out = Path(name) / f"out{number}"
            with mo.StreamContext(config=config) as ctx, Watch(lambda: 0.0) as watch:
                program(
                    ctx.stream_parquet(str(inbox), Event, unbounded=True, files_per_batch=FILES_IN_A_BATCH)
                ).unkey().write_parquet(str(out))
                began = time.perf_counter()
                job = ctx.start()
                job.catch_up()
                seconds = time.perf_counter() - began
                job.stop()
            table = ds.dataset([str(file) for file in out.glob("*.parquet")], format="parquet").to_table()
            table = table.rename_columns(["key", "value"])
            good = check(table, counts)
            right = right and good
            answer = "every element once" if good else "WRONG: elements are lost or doubled"
            print(f"\n{title}: {options.elements:,} elements in {seconds:.0f} s; {answer}\n")
            print("\n".join(quarters(watch.samples)), flush=True)
    return 0 if right else 1


if __name__ == "__main__":
    raise SystemExit(main())

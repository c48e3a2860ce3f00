"""Events with a time, as Parquet records: readings of sensors, each with a word as a comment."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.data.cache import Randomness, cached, picked

if TYPE_CHECKING:
    from pathlib import Path

SENSORS = 100
ENDINGS = ["a", "en", "il", "or", "us", "ight", "oon", "ake", "ee", "y"]
WORDS = [f"{head}{tail}" for head in "bdfglmnprs" for tail in ENDINGS]
SECONDS = 3_600


def events(rows: int) -> Path:
    """An hour of events as Parquet: ts, sensor, reading, word; nearly in the order of time."""
    return cached("events", rows, ".parquet", _write_events)


def _write_events(path: Path, rows: int, random: Randomness) -> None:
    seconds = np.sort(random.random(rows)) * SECONDS + random.random(rows) * 2  # up to two seconds late
    first = np.datetime64("2024-01-01T00:00:00", "us")
    frequency = 1 / np.arange(1, len(WORDS) + 1)  # Zipf's law
    table = pa.table(
        {
            # without a zone: Spark reads it as TIMESTAMP_NTZ
            "ts": pa.array(first + (seconds * 1e6).astype("timedelta64[us]")),
            "sensor": pa.array(random.integers(0, SENSORS, rows)),
            "reading": pa.array(random.integers(0, 1_000, rows)),
            "word": picked(random, WORDS, frequency, rows),
        }
    )
    pq.write_table(table, path, row_group_size=262_144)

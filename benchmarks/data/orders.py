"""Orders as Parquet records."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.data.cache import Randomness, cached, picked

if TYPE_CHECKING:
    from pathlib import Path

COUNTRIES = ["IT", "FR", "DE", "US", "GB", "ES", "NL", "PL", "SE", "CN", "JP", "BR"]
COUNTRY_WEIGHTS = [12.0, 11, 14, 20, 9, 7, 5, 6, 4, 6, 3, 3]
CUSTOMERS = 50_000


def orders(rows: int) -> Path:
    """Orders as Parquet: id, customer, amount, quantity, country, ts."""
    return cached("orders", rows, ".parquet", _write_orders)


def customers(_rows: int = CUSTOMERS) -> Path:
    """A customer for each name in the orders, as Parquet: name, group. There are as many however many orders."""
    return cached("customers", CUSTOMERS, ".parquet", _write_customers)


def _write_customers(path: Path, rows: int, random: Randomness) -> None:
    names = [f"customer-{i:06d}" for i in range(rows)]
    pq.write_table(pa.table({"name": names, "group": pa.array(random.integers(0, 200, rows))}), path)


def _write_orders(path: Path, rows: int, random: Randomness) -> None:
    customers = pa.array([f"customer-{i:06d}" for i in range(CUSTOMERS)])
    first = np.datetime64("2024-01-01T00:00:00", "us")
    table = pa.table(
        {
            "id": pa.array(np.arange(rows, dtype=np.int64)),
            "customer": customers.take(random.integers(0, CUSTOMERS, rows)),
            "amount": pa.array(np.round(random.lognormal(4.3, 0.9, rows), 2)),
            "quantity": pa.array(random.integers(1, 21, rows)),
            "country": picked(random, COUNTRIES, COUNTRY_WEIGHTS, rows),
            # without a zone: Spark reads it as TIMESTAMP_NTZ
            "ts": pa.array(first + np.sort(random.integers(0, 366 * 86_400, rows)).astype("timedelta64[s]")),
        }
    )
    pq.write_table(table, path, row_group_size=262_144)

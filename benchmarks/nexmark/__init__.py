"""Nexmark with Morisot, PySpark by hand, Polars and DuckDB: the same answers, at what cost."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples"))  # where the queries and events are

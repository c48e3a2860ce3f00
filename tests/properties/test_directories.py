"""Random directories and limits: Spark reads the rows in the order in which the reference engine does."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import morisot as mo
from tests.operators.test_file_order import FORMATS, NAMES, fill

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "collect": lambda rows: rows.filter(lambda row: len(str(row)) % 3 > 0),
    "in python": lambda rows: rows.map(lambda row: str(sorted(str(row)))),
    "numbered": lambda rows: rows.rich_map(0, lambda before, row: (before + 1, (before, row))),
    "limit": lambda rows: rows.limit(20, offset=30),
    "fold": lambda rows: rows.fold("", lambda last, row: f"{last[-50:]}{row}"),
    "unique": lambda rows: rows.map(lambda row: len(str(row))).unique().rich_map(0, lambda at, n: (at + 1, (at, n))),
    "ties": lambda rows: rows.sorted_by(lambda row: len(str(row))),
}
LIMITS = st.fixed_dictionaries(
    {
        "spark.sql.files.maxPartitionBytes": st.sampled_from(["500", "3000", "134217728"]),
        "spark.sql.files.openCostInBytes": st.sampled_from(["0", "300", "4194304"]),
        "spark.sql.files.minPartitionNum": st.sampled_from(["1", "3", "20"]),
    }
)


@pytest.mark.jvm
@pytest.mark.thorough
@given(
    st.sampled_from(list(FORMATS)),
    st.lists(st.sampled_from([0, 1, 9, 150, 1000]), min_size=1, max_size=len(NAMES)),
    LIMITS,
    st.sampled_from(list(PROGRAMS)),
)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_files_are_in_order(
    spark: SparkSession, format_: str, rows: list[int], limits: dict[str, str], program: str
) -> None:
    for name, value in limits.items():
        spark.conf.set(name, value)
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "in"
        fill(path, format_, rows)
        run, read = PROGRAMS[program], FORMATS[format_][1]
        expected = run(read(mo.StreamContext(engine="reference"), path)).collect()
        found = run(read(mo.StreamContext(spark, config=mo.Config(progress=False)), path)).collect()
    for name in limits:
        spark.conf.unset(name)
    assert found == expected

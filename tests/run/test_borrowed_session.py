"""Whose session it is: a user's own is checked and left alone, one of Morisot's ends with its last context."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import morisot as mo

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_a_session_without_ansi_is_refused(spark: SparkSession) -> None:
    lenient = spark.newSession()
    lenient.conf.set("spark.sql.ansi.enabled", "false")
    with pytest.raises(mo.EnvironmentProblem, match=r"spark.sql.ansi.enabled set to false.*spark.conf.set"):
        mo.StreamContext(lenient).stream_iter([1]).map(lambda n: n + 1).collect()


def test_a_users_session_outlives_the_context(spark: SparkSession) -> None:
    with mo.StreamContext(spark) as ctx:
        assert ctx.stream_iter([1]).collect() == [1]
    assert spark.range(3).count() == 3


@pytest.mark.jvm
@pytest.mark.program
@pytest.mark.thorough
def test_an_own_session_ends_with_the_last_context() -> None:
    program = """
import morisot as mo
from pyspark import SparkContext
config = mo.Config(master="local[1]", memory="1g")
with mo.StreamContext(config=config) as one, mo.StreamContext(config=config) as two:
    assert one.stream_iter([1]).collect() == [1]
    assert two.stream_iter([2]).collect() == [2]
    one.close()
    assert two.stream_iter([3]).collect() == [3]
assert SparkContext._active_spark_context is None
with mo.StreamContext(config=config) as again:
    print(again.stream_iter([4]).map(lambda n: n + 1).collect())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=240, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "[5]\n", "")

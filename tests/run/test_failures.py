"""What Spark throws: which of it can be done again."""

from __future__ import annotations

import pytest

from morisot.run.failures import is_lost_worker


@pytest.mark.parametrize(
    ("said", "again"),
    [
        ("org.apache.spark.SparkException: Python worker exited unexpectedly (crashed)", True),
        ("Python worker failed to connect back.", True),
        ("EOF reached before Python server acknowledged", True),
        ("EOFException occurred while reading the port number from a.b's stdout and terminated with code: 137.", True),
        ("EOFException occurred while reading the port number from a.b's stdout and terminated with code: 1.", False),
        ("EOFException occurred while reading the port number from a.b's stdout.", True),
        ("java.lang.OutOfMemoryError: Java heap space", False),
    ],
)
def test_a_micro_batch_is_tried_again_where_a_python_process_died(said: str, again: bool) -> None:
    assert is_lost_worker(RuntimeError(said)) == again

"""A worker that Spark has left ends without a word; anything else that goes wrong is told as PySpark tells it."""

from __future__ import annotations

import io
import socket
from typing import IO

import pytest
from pyspark import worker as pysparks

from morisot.engines.spark.internals import worker_daemon

# PySpark's worker leaves its files to the end of the process.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


def test_a_worker_that_spark_left_ends_quietly() -> None:
    ours, sparks = socket.socketpair()
    with ours:
        sparks.close()
        assert worker_daemon.worker(ours, authenticated=True) != 0


def test_another_error_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(infile: IO[bytes], outfile: IO[bytes]) -> None:
        raise io.UnsupportedOperation("no such thing")

    monkeypatch.setattr(pysparks, "main", fails)
    ours, sparks = socket.socketpair()
    with ours, sparks, pytest.raises(io.UnsupportedOperation):
        worker_daemon.worker(ours, authenticated=True)

"""A worker that Spark has left ends without an error; any other failure is reported as in PySpark.

Workers import the installed PySpark, which is compiled.
"""

from __future__ import annotations

import io
import socket
import subprocess
import sys
from pathlib import Path
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


def test_the_archive_of_an_installed_pyspark_is_not_imported_from() -> None:
    installed = Path(pysparks.__file__).parent
    archive = installed / "python" / "lib" / "pyspark.zip"
    path = [str(archive), "/elsewhere/python/lib/pyspark.zip", str(installed.parent)]
    assert worker_daemon.without_archive(path) == path[1:]
    assert worker_daemon.without_archive(path[:2]) == path[:2], "of another one there is nothing but the archive"


def test_nothing_of_pyspark_is_imported_before_the_path_is_right() -> None:
    program = "import sys, morisot.engines.spark.session; assert 'pyspark' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)

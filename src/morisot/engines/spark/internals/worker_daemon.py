"""The process that Spark's Python workers are forked from: PySpark's own, but for two things.

Spark puts an archive of PySpark's sources first on the path, from which each worker would compile what it imports: half
a second. Where that archive is part of an installed PySpark, its modules are there compiled.

A worker that waits for its next task when Spark ends tells Spark that there was none. Over the network's loopback that
message is lost, over a socket of the file system it is an error at once, and PySpark's process prints its traceback
after the last words of the user's program.
"""

from __future__ import annotations

import socket
import sys
from pathlib import Path


def without_archive(path: list[str]) -> list[str]:
    """The path without the archive of a PySpark that is also on it as a package."""
    packages = [package for entry in path if (package := Path(entry, "pyspark")).is_dir()]
    archives = {(package / "python" / "lib" / "pyspark.zip").resolve() for package in packages}
    return [entry for entry in path if Path(entry).resolve() not in archives]


if __name__ == "__main__":
    sys.path[:] = without_archive(sys.path)

from pyspark import daemon  # noqa: E402 - from where the path leads now

_pysparks_worker = daemon.worker
_LEFT = 1


def worker(sock: socket.socket, authenticated: bool) -> int:
    """Do one task, and say whether the worker is of use for another; errors of functions have gone to Spark before."""
    try:
        return _pysparks_worker(sock, authenticated)
    except (BrokenPipeError, ConnectionResetError):
        return _LEFT


if __name__ == "__main__":
    daemon.worker = worker
    daemon.manager()

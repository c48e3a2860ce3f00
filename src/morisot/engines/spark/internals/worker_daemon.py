"""The process that forks Spark's Python workers: PySpark's daemon with two changes.

Spark puts an archive of PySpark's sources first on the path. Each worker would compile the modules that it imports from
it, which takes half a second. If the archive is part of an installed PySpark, the installed modules are compiled
already, so the archive is removed from the path.

A worker that waits for its next task when Spark ends writes a message to Spark. On the network loopback the message is
lost. On a Unix socket it is an immediate error, and PySpark's daemon would print its traceback after the output of the
user's program.
"""

from __future__ import annotations

import socket
import sys
from pathlib import Path


def without_archive(path: list[str]) -> list[str]:
    """The path without PySpark's archive, if PySpark is also on the path as a package."""
    packages = [package for entry in path if (package := Path(entry, "pyspark")).is_dir()]
    archives = {(package / "python" / "lib" / "pyspark.zip").resolve() for package in packages}
    return [entry for entry in path if Path(entry).resolve() not in archives]


if __name__ == "__main__":
    sys.path[:] = without_archive(sys.path)

from pyspark import daemon  # noqa: E402 - imported with the new path

_pysparks_worker = daemon.worker
_LEFT = 1


def worker(sock: socket.socket, authenticated: bool) -> int:
    """Runs one task. Returns whether the worker can be used again. Errors of functions were sent to Spark before."""
    try:
        ended = _pysparks_worker(sock, authenticated)
    except (BrokenPipeError, ConnectionResetError):
        ended = _LEFT
    replicas = sys.modules.get("morisot.worker.replicas.replica")
    if ended and replicas is not None:  # the process ends without Python's own clean-up
        replicas.end_all()
    return ended


if __name__ == "__main__":
    daemon.worker = worker
    daemon.manager()

"""The process that Spark's Python workers are forked from: PySpark's own, but for a worker that Spark left.

A worker that waits for its next task when Spark ends tells Spark that there was none. Over the network's loopback that
message is lost, over a socket of the file system it is an error at once, and PySpark's process prints its traceback
after the last words of the user's program.
"""

from __future__ import annotations

import socket

from pyspark import daemon

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

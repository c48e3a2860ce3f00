"""Morisot's daemon of Python workers, which also waits for those that end, so that their CPU time is not lost.

Spark's own ignores SIGCHLD; the kernel then discards the CPU time of an ended worker. A worker that ends after an idle
minute, in the middle of a later run, would subtract its seconds from that run.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from pyspark import daemon

from morisot.engines.spark.internals.worker_daemon import worker

if TYPE_CHECKING:
    from types import FrameType


def _wait_for_ended_workers(_signal: int, _frame: FrameType | None) -> None:
    try:
        while os.waitpid(-1, os.WNOHANG) != (0, 0):
            pass
    except ChildProcessError:
        pass


if __name__ == "__main__":
    # where the daemon asks to ignore SIGCHLD (and SIGHUP, which still must not end it), it gets this instead
    vars(daemon)["SIG_IGN"] = _wait_for_ended_workers
    daemon.worker = worker
    daemon.manager()

"""CPU time of what works on rows: the threads of Spark's tasks, and the Python workers.

Planning a job and compiling Java take most of the CPU of a job of some ten thousand rows, and another share of it in
every run. They are not the rows', and they hide what a row costs; a garbage collector's threads are not counted either.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

_OF_TASKS = ("Executor task", "stdout writer")
"""How the names of threads begin that work for a task."""


class TaskClock:
    """Reads what tasks and workers have taken since they began."""

    def __init__(self, spark: SparkSession) -> None:
        jvm: Any = spark._jvm
        self._bean = jvm.java.lang.management.ManagementFactory.getThreadMXBean()
        self._names: dict[int, str] = {}

    def cost(self, run: Callable[[], object]) -> float:
        """The CPU seconds of one run. Threads and workers stay for a minute, so those that worked are still there."""
        threads, workers = self._threads(), self._workers()
        run()
        after, theirs = self._threads(), self._workers()
        in_java = sum(nanos - threads.get(thread, 0) for thread, nanos in after.items())
        in_python = sum(nanos - workers.get(worker, 0) for worker, nanos in theirs.items())
        return (in_java + in_python) / 1e9

    def _threads(self) -> dict[int, int]:
        ids = list(self._bean.getAllThreadIds())
        found = {}
        for thread in ids:
            if thread not in self._names:
                info = self._bean.getThreadInfo(thread)
                self._names[thread] = "" if info is None else info.getThreadName()
            if self._names[thread].startswith(_OF_TASKS):
                found[thread] = max(self._bean.getThreadCpuTime(thread), 0)
        return found

    def _workers(self) -> dict[int, int]:
        processes = psutil.Process(os.getpid()).children(recursive=True)
        found = {}
        for process in processes:
            try:
                if process.name().startswith("python"):
                    found[process.pid] = int(Path(f"/proc/{process.pid}/schedstat").read_text().split()[0])
            except (psutil.NoSuchProcess, OSError):
                continue
        return found

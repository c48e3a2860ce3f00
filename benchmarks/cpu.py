"""CPU time of this process and everything below it: the driver, the JVM and the Python workers."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import psutil

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


@dataclass(frozen=True)
class Cost:
    """What one run took."""

    cpu_seconds: float
    wall_seconds: float


def tree_cpu_seconds() -> float:
    """User and system time of the whole process tree since each process began.

    The `children_*` times hold the processes that have ended and been waited for. Our daemon waits for its workers and
    the JVM for the daemon, so a worker that ends between two readings moves from its own entry to its parent's.
    """
    root = psutil.Process(os.getpid())
    total = 0.0
    for process in (root, *root.children(recursive=True)):
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue  # it ended after the listing; its parent, read before or after, is at most one reading behind
        total += times.user + times.system + times.children_user + times.children_system
    return total


def measured(run: Callable[[], T]) -> tuple[T, Cost]:
    """Run it once; its result, and what it took."""
    cpu, wall = tree_cpu_seconds(), time.perf_counter()
    result = run()
    wall = time.perf_counter() - wall
    return result, Cost(tree_cpu_seconds() - cpu, wall)

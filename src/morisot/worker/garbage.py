"""Settings of Python's garbage collector in workers."""

from __future__ import annotations

import contextlib
import gc
import sys
from collections.abc import Iterator

_SELDOM = 50_000, 20, 100
"""Thresholds of `gc.set_threshold` that halve the cost of garbage collection."""
_modules_left_alone = 0


@contextlib.contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Disables garbage collection while many small objects are created that are not garbage, to save time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@contextlib.contextmanager
def little_garbage_collection() -> Iterator[None]:
    """Collects less often: users' functions may create garbage, but scanning a whole batch is expensive."""
    before = gc.get_threshold()
    gc.set_threshold(*_SELDOM)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def freeze_modules() -> None:
    """Called at the end of a task: excludes the objects of loaded modules from garbage collection.

    PySpark collects garbage after each task. Scanning a hundred thousand objects of pyarrow, pandas and the like takes
    50 ms, and delays the worker's next task: more than everything else that a small micro-batch does in Python.
    """
    global _modules_left_alone  # noqa: PLW0603 - a worker is a process
    if len(sys.modules) != _modules_left_alone:
        gc.collect()
        gc.freeze()
        _modules_left_alone = len(sys.modules)

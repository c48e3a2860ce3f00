"""When a worker looks for garbage, and among what."""

from __future__ import annotations

import contextlib
import gc
import sys
from collections.abc import Iterator

_SELDOM = 50_000, 20, 100
"""So many new objects, and so many searches among them before one among older ones: half the work."""
_modules_left_alone = 0


@contextlib.contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Many small objects are made here and none of them is garbage: looking for it would take most of the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@contextlib.contextmanager
def little_garbage_collection() -> Iterator[None]:
    """Functions of the user's may leave garbage; a batch of elements is not looked through for each few hundred."""
    before = gc.get_threshold()
    gc.set_threshold(*_SELDOM)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def leave_modules_alone() -> None:
    """At the end of a task: what its modules are made of will never be garbage, so nobody need look at it again.

    PySpark looks for garbage after each task. A hundred thousand objects of pyarrow, pandas and the like take 50 ms of
    that, which the next task of the worker waits for: more than all else that a small micro-batch does in Python.
    """
    global _modules_left_alone  # noqa: PLW0603 - a worker is a process
    if len(sys.modules) != _modules_left_alone:
        gc.collect()
        gc.freeze()
        _modules_left_alone = len(sys.modules)

"""The key with which new tasks sign their messages: that of the current emission."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar

from morisot.worker.report.signature import Seal

_current: ContextVar[Seal | None] = ContextVar("morisot_seal", default=None)


@contextlib.contextmanager
def sealing_with(seal: Seal) -> Iterator[None]:
    """Sets the key of tasks that are created in the block."""
    token = _current.set(seal)
    try:
        yield
    finally:
        _current.reset(token)


def current_seal() -> Seal:
    """The key for a task that is created now; an unused one if no plan is being emitted."""
    return _current.get() or Seal()

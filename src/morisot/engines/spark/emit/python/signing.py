"""Which job's key the tasks take along that are made now: that of the emission under way."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar

from morisot.worker.report.signature import Seal

_current: ContextVar[Seal | None] = ContextVar("morisot_seal", default=None)


@contextlib.contextmanager
def sealing_with(seal: Seal) -> Iterator[None]:
    """Tasks that are made inside sign their messages with this key."""
    token = _current.set(seal)
    try:
        yield
    finally:
        _current.reset(token)


def current_seal() -> Seal:
    """The key for a task that is made now; one that nobody asks for later, if no plan is being emitted."""
    return _current.get() or Seal()

"""The line of the user's program that called Morisot."""

from __future__ import annotations

import contextlib
import contextvars
import sys
from collections.abc import Iterator

from morisot.errors import Location
from morisot.tracebacks import is_own

_given: contextvars.ContextVar[Location | None] = contextvars.ContextVar("given", default=None)


def caller() -> Location:
    """The nearest line outside Morisot, unless the caller has given one."""
    given = _given.get()
    if given is not None:
        return given
    frame = sys._getframe(1)
    while frame.f_back is not None and is_own(frame):
        frame = frame.f_back
    return Location(frame.f_code.co_filename, frame.f_lineno)


@contextlib.contextmanager
def on_behalf_of(location: Location) -> Iterator[None]:
    """Operators that are made in the block have this line."""
    token = _given.set(location)
    try:
        yield
    finally:
        _given.reset(token)

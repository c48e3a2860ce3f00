"""The line of the user's program that called Morisot."""

from __future__ import annotations

import sys

from morisot.errors import Location
from morisot.tracebacks import is_own


def caller() -> Location:
    """The nearest line outside Morisot."""
    frame = sys._getframe(1)
    while frame.f_back is not None and is_own(frame):
        frame = frame.f_back
    return Location(frame.f_code.co_filename, frame.f_lineno)

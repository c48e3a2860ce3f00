"""Which line of the user's program is speaking."""

from __future__ import annotations

import sys
from pathlib import Path

from morisot.errors import Location

_OWN = str(Path(__file__).resolve().parent.parent)


def caller() -> Location:
    """The nearest line outside Morisot."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_OWN):
        frame = frame.f_back
    return Location(frame.f_code.co_filename, frame.f_lineno)

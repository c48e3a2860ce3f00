"""The line of the user's program that called Morisot."""

from __future__ import annotations

import sys
from pathlib import Path
from types import FrameType

from morisot.errors import Location

_OWN = str(Path(__file__).resolve().parent.parent)


def caller() -> Location:
    """The nearest line outside Morisot."""
    frame = sys._getframe(1)
    while frame.f_back is not None and _is_own(frame):
        frame = frame.f_back
    return Location(frame.f_code.co_filename, frame.f_lineno)


def _is_own(frame: FrameType) -> bool:
    """Whether a frame is Morisot's. Generated constructors of dataclasses have no file."""
    file = frame.f_code.co_filename
    return file.startswith(_OWN) or (file == "<string>" and frame.f_globals.get("__name__", "").startswith("morisot."))

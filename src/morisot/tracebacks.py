"""Tracebacks of Morisot's errors: without its own frames, unless the variable MORISOT_TRACEBACK is `full`."""

from __future__ import annotations

import os
import sys
import traceback
from pathlib import Path
from types import FrameType, TracebackType

_PACKAGE = f"{Path(__file__).resolve().parent}{os.sep}"
_FULL = "MORISOT_TRACEBACK"


def is_own(frame: FrameType) -> bool:
    """Whether a frame is Morisot's. Generated constructors of dataclasses have no file."""
    file = frame.f_code.co_filename
    generated = file == "<string>" and frame.f_globals.get("__name__", "").startswith("morisot.")
    return file.startswith(_PACKAGE) or generated


def shorten(error: BaseException) -> None:
    """Removes Morisot's frames from the traceback of an error, and of the errors that caused it."""
    if os.environ.get(_FULL) == "full":
        return
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        current.__traceback__ = without_own(current.__traceback__)
        current = current.__cause__ or current.__context__


def without_own(trace: TracebackType | None) -> TracebackType | None:
    """A traceback without frames of Morisot."""
    entries = []
    while trace is not None:
        entries.append(trace)
        trace = trace.tb_next
    kept: TracebackType | None = None
    for entry in reversed(entries):
        if not is_own(entry.tb_frame):
            kept = TracebackType(kept, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return kept


def rendered(error: BaseException) -> list[str]:
    """The lines of an error for IPython, without the frames of IPython itself."""
    shorten(error)
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_globals.get("__name__", "").partition(".")[0] == "IPython":
        trace = trace.tb_next
    return "".join(traceback.format_exception(type(error), error, trace)).splitlines()


def install(errors: type[BaseException]) -> None:
    """Shortens the tracebacks of these errors that end the program, or that the prompt prints."""
    previous = sys.excepthook

    def show(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if isinstance(error, errors):
            shorten(error)
            trace = error.__traceback__
        previous(kind, error, trace)

    sys.excepthook = show

"""Reports of failures of users' functions to the driver, as texts and literals, never as pickles."""

from __future__ import annotations

import contextlib
import traceback
from collections.abc import Iterator
from types import TracebackType
from typing import Any, NotRequired, TypedDict

from morisot.errors import ElementError, Location, SinkError, SnapshotError, SourceError
from morisot.worker.report.exceptions import Described, described, rebuilt
from morisot.worker.report.signature import Seal

_LONGEST_ELEMENT = 300
ELEMENT = "element"
"""The kind of the message that reports an ElementError."""
SOURCE = "source"
"""The kind of the message that reports an error of a user's source, or of a file."""
SINK = "sink"
"""The kind of the message that reports a parallel sink that failed."""
STATE = "state"
"""The kind of the message that reports a stored state that cannot be read."""
MEMORY = "memory"
"""The kind of the message that reports that a worker ran out of memory."""


class Report(TypedDict):
    """An ElementError as JSON values."""

    operator: str
    file: str | None
    line: int
    element: str
    original: str
    traceback: str
    cause: Described | None
    value: NotRequired[tuple[bool, bytes]]
    """The element, for a handler: whether it has the operator's input type, and its encoded bytes."""


class WorkerFailure(Exception):  # noqa: N818 - the driver converts it to an ElementError
    """A signed report, raised to Spark."""


def shown(element: Any) -> str:
    """The repr of the element, shortened."""
    try:
        text = repr(element)
    except Exception as error:  # a failing __repr__ must not hide the failure to report
        text = f"<{type(element).__name__} whose repr failed: {error}>"
    return text if len(text) <= _LONGEST_ELEMENT else text[:_LONGEST_ELEMENT] + "…"


def element_error(
    operator: str, location: Location | None, element: Any, error: BaseException, skip_frames: int = 0
) -> ElementError:
    """The error for an exception that a user's function raised on an element."""
    text = "".join(traceback.format_exception(type(error), error, _skip(error.__traceback__, skip_frames)))
    original = "".join(traceback.format_exception_only(error)).strip()
    return ElementError(
        operator, location, shown(element), original, original_traceback=text, cause=error, value=element
    )


def misfit_error(operator: str, location: Location | None, element: Any, error: Exception) -> ElementError:
    """The error for a value that does not fit its type. It has no traceback: no user's frame is on the stack."""
    original = "".join(traceback.format_exception_only(error)).strip()
    return ElementError(operator, location, shown(element), original, cause=error, value=element)


def _skip(frames: TracebackType | None, count: int) -> TracebackType | None:
    """The traceback without its first frames, which are Morisot's; unchanged if it has no others."""
    rest = frames
    for _ in range(count):
        rest = rest.tb_next if rest else None
    return rest or frames


@contextlib.contextmanager
def reporting(seal: Seal) -> Iterator[None]:
    """Raises the failure of a user's function as a signed report, which Spark passes to the driver as text."""
    try:
        yield
    except ElementError as error:
        raise WorkerFailure(f"{seal.sealed({'kind': ELEMENT, **report_of(error)})} {error}") from None
    except SourceError as error:
        raise WorkerFailure(f"{seal.sealed({'kind': SOURCE, 'said': str(error)})} {error}") from None
    except SinkError as error:
        raise WorkerFailure(f"{seal.sealed({'kind': SINK, 'said': str(error)})} {error}") from None
    except SnapshotError as error:
        message = {"kind": STATE, "said": error.what, "advice": error.advice}
        raise WorkerFailure(f"{seal.sealed(message)} {error.what}") from None
    except MemoryError:  # a MemoryError of a user's function is an ElementError
        raise WorkerFailure(f"{seal.sealed({'kind': MEMORY})} the worker ran out of memory") from None


def report_of(error: ElementError) -> Report:
    """The report of a failure, without the element, which may be large."""
    return {
        "operator": error.operator,
        "file": error.location.file if error.location else None,
        "line": error.location.line if error.location else 0,
        "element": error.element,
        "original": error.original,
        "traceback": error.original_traceback,
        "cause": None if error.__cause__ is None else described(error.__cause__),
    }


def reported(report: Report, value: Any = None) -> ElementError:
    """The ElementError of a report. `value` is the element, if the report has it."""
    return ElementError(
        report["operator"],
        Location(report["file"], report["line"]) if report["file"] else None,
        report["element"],
        report["original"],
        original_traceback=report["traceback"],
        cause=None if report["cause"] is None else rebuilt(report["cause"]),
        value=value,
    )

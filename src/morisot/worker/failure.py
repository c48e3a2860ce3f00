"""How a failure in a worker reaches the user: as data inside the exception's text, the one thing Spark hands over."""

from __future__ import annotations

import base64
import json
import pickle
import re
import traceback
from collections.abc import Callable
from types import TracebackType
from typing import Any

from morisot.errors import ElementError, Location

_MARK = "MORISOT-ELEMENT-FAILURE:"
_FOUND = re.compile(re.escape(_MARK) + r"([A-Za-z0-9+/=]+):")
_LONGEST_ELEMENT = 300


class WorkerFailure(Exception):  # noqa: N818 - the user never sees it: the driver turns it into an ElementError
    """An ElementError on its way from a worker to the driver."""


def shown(element: Any) -> str:
    """The element as the user will read it, shortened."""
    try:
        text = repr(element)
    except Exception as error:  # a broken __repr__ must not hide the real failure
        text = f"<{type(element).__name__} whose repr failed: {error}>"
    return text if len(text) <= _LONGEST_ELEMENT else text[:_LONGEST_ELEMENT] + "…"


def element_error(
    operator: str, location: Location | None, element: Any, error: BaseException, skip_frames: int = 0
) -> ElementError:
    """What the user gets for an exception that a function of theirs raised on an element."""
    text = "".join(traceback.format_exception(type(error), error, _skip(error.__traceback__, skip_frames)))
    original = "".join(traceback.format_exception_only(error)).strip()
    return ElementError(
        operator, location, shown(element), original, original_traceback=text, cause=error, value=element
    )


def misfit_error(operator: str, location: Location | None, element: Any, error: Exception) -> ElementError:
    """What the user gets for a value that does not fit its type: no frame of theirs is on the stack."""
    original = "".join(traceback.format_exception_only(error)).strip()
    return ElementError(operator, location, shown(element), original, cause=error, value=element)


def _skip(frames: TracebackType | None, count: int) -> TracebackType | None:
    """The traceback without its first frames, which are Morisot's own; all of it if that would leave none."""
    rest = frames
    for _ in range(count):
        rest = rest.tb_next if rest else None
    return rest or frames


def pack(error: ElementError, dumps: Callable[[Any], bytes]) -> WorkerFailure:
    """The failure as an exception whose text carries everything."""
    return WorkerFailure(f"{text_of(error, dumps)} {error}")


def text_of(error: ElementError, dumps: Callable[[Any], bytes], *element: Any) -> str:
    """The failure as text; with the element itself where it is wanted, which may be large."""
    payload = {
        "operator": error.operator,
        "file": error.location.file if error.location else None,
        "line": error.location.line if error.location else None,
        "element": error.element,
        "original": error.original,
        "traceback": error.original_traceback,
        "cause": _pickled(error.__cause__, dumps),
        "value": _pickled(element[0], dumps) if element else "",
    }
    return f"{_MARK}{base64.b64encode(json.dumps(payload).encode()).decode()}:"


def _pickled(value: Any, dumps: Callable[[Any], bytes]) -> str:
    """The pickled value as text; nothing for what cannot be pickled, which then travels as its text only."""
    try:
        return base64.b64encode(dumps(value)).decode()
    except Exception:
        return ""


def unpack(text: str) -> ElementError | None:
    """The ElementError inside an exception's text, if a worker put one there."""
    found = _FOUND.search(text)
    if not found:
        return None
    payload = json.loads(base64.b64decode(found[1]))
    location = Location(payload["file"], payload["line"]) if payload["file"] else None
    cause = _unpickled(payload["cause"])
    return ElementError(
        payload["operator"],
        location,
        payload["element"],
        payload["original"],
        original_traceback=payload["traceback"],
        cause=cause if isinstance(cause, BaseException) else None,
        value=_unpickled(payload["value"]),
    )


def _unpickled(text: str) -> Any:
    try:
        return pickle.loads(base64.b64decode(text)) if text else None
    except Exception:  # a class that only the worker has: the text says what happened
        return None

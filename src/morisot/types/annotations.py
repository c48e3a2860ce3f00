"""Annotations of the user's functions, also those with names that are imported for type checkers only.

From Python 3.14 on annotations are evaluated when they are read. An unknown name raises an exception then.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from typing import Any


def annotations_of(function: Any) -> dict[str, Any]:
    """The annotations of a function. An annotation with an unknown name is a `ForwardRef`.

    >>> annotations_of(lambda x: x)
    {}
    """
    found = _evaluated(function)
    if found is None and sys.version_info >= (3, 14):
        import annotationlib

        return annotationlib.get_annotations(function, format=annotationlib.Format.FORWARDREF)
    return found or {}


def portable_annotations(function: Any) -> dict[str, Any]:
    """The annotations for a pickled copy of a function: values, or texts if one of them has an unknown name."""
    found = _evaluated(function)
    if found is None and sys.version_info >= (3, 14):
        import annotationlib

        return annotationlib.get_annotations(function, format=annotationlib.Format.STRING)
    return found or {}


def signature_of(function: Callable[..., Any]) -> inspect.Signature:
    """The signature of a function. Raises TypeError or ValueError if it has none."""
    if sys.version_info >= (3, 14):
        import annotationlib

        return inspect.signature(function, annotation_format=annotationlib.Format.FORWARDREF)
    return inspect.signature(function)


def _evaluated(function: Any) -> dict[str, Any] | None:
    """The annotations, or None if one of them cannot be evaluated."""
    try:
        found = getattr(function, "__annotations__", {})
    except Exception:  # evaluating is the user's code
        return None
    return found if isinstance(found, dict) else {}

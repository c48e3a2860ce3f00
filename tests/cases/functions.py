"""Functions from text, which the closure compiler can read as if they stood in a file."""

from __future__ import annotations

import linecache
import math
from collections.abc import Callable
from typing import Any


def function(text: str, file: str | None = None) -> Callable[..., Any]:
    """The function of a text such as `lambda n: n + 1`; its source is known only if a file is named for it."""
    if file is not None:
        linecache.cache[file] = (len(text), None, [text + "\n"], file)
    return eval(compile(text, file or "<no source>", "eval"), {"math": math})  # type: ignore[no-any-return]

"""A program of a user's: it counts words on both engines, and says what is installed. `wheel.py` copies and runs it."""

from __future__ import annotations

import importlib.metadata
import json
import os
from pathlib import Path
from typing import Any

import morisot as mo

PACKAGE = Path(mo.__file__).parent
DATA = ("py.typed", "engines/spark/internals/log4j2.properties", "engines/spark/session/java_home/bin/java")
LINES = ["To be", "or not", "to be"]


def reverse(word: str) -> str:
    """It has no column form, so that a worker has to import Morisot."""
    return "".join(reversed(word))


def count_words(engine: Any) -> dict[str, int]:
    with mo.StreamContext(config=mo.Config(engine=engine, master="local[1]", memory="1g", progress=False)) as ctx:
        words = ctx.stream_iter(LINES).flat_map(lambda line: line.lower().split()).map(reverse).map(reverse)
        return dict(sorted(words.group_by_count(lambda word: word).collect()))


def main() -> None:
    files = [PACKAGE / name for name in DATA]
    launcher = files[-1]
    said = {
        "package": str(PACKAGE),
        "version": mo.__version__,
        "metadata": importlib.metadata.version("morisot"),
        "not there": [
            *(str(file) for file in files if not file.is_file()),
            *([f"the right to execute {launcher}"] if not os.access(launcher, os.X_OK) else []),
        ],
        "reference": count_words("reference"),
        "spark": count_words("spark"),
    }
    print(json.dumps(said))


if __name__ == "__main__":
    main()

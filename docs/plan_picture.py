"""The picture of the README's first program: `python docs/plan_picture.py` writes docs/pictures/word_count.svg."""  # noqa: INP001 - a script, not a package

from __future__ import annotations

import contextlib
import io
import linecache
import os
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "docs" / "pictures" / "word_count.svg"
_PROGRAM = re.compile(r"^```python file=(\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def picture() -> str:
    """The plan of `words` in the README, drawn by `draw()` on the reference engine."""
    found = _PROGRAM.search((ROOT / "README.md").read_text(encoding="utf-8"))
    assert found is not None, "the README has no program with a file name"
    file, program = found.groups()
    linecache.cache[file] = (len(program), None, program.splitlines(keepends=True), file)  # where closures are read
    names: dict[str, Any] = {}
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(program, file, "exec", dont_inherit=True), names)
    drawn: str = names["words"].draw().svg
    return drawn


if __name__ == "__main__":
    os.environ["MORISOT_ENGINE"] = "reference"
    PICTURE.write_text(picture(), encoding="utf-8")

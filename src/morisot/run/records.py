"""Small files that are read while others write them, and after a crash: each is there whole, or not at all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def replace_text(file: Path, text: str) -> None:
    """Write a file that is there whole, as it was or as it is to be."""
    beside = file.with_name(f".{file.name}.writing")
    beside.write_text(text, encoding="utf-8")
    beside.replace(file)


def read_json(file: Path, absent: Any) -> Any:
    """The value in a file; another one if there is none, or no longer."""
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return absent

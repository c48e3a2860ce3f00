"""Files on this machine, as every engine sees them."""

from __future__ import annotations

import glob
import os
import re


def local_files(path: str) -> list[str]:
    """The files a path stands for, sorted: a file, a directory's files, or a glob's; hidden ones are left out."""
    found = [path] if os.path.exists(path) else glob.glob(path)
    inside = [os.path.join(each, name) for each in found if os.path.isdir(each) for name in os.listdir(each)]
    files = [file for file in (*found, *inside) if os.path.isfile(file)]
    return sorted(file for file in files if not os.path.basename(file).startswith((".", "_")))


def is_local(path: str) -> bool:
    """Whether a path lies on this machine's file system; others are Spark's to find."""
    return "://" not in path


def normal(name: str) -> str:
    """A column's name as a field's.

    >>> normal("UNIQUE KEY")
    'unique_key'
    """
    return re.sub(r"\W+", "_", name.strip().lower()).strip("_")

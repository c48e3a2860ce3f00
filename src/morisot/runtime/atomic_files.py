"""Small files that are read while others write them, and after a crash: each is there whole, or not at all."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from morisot.private import private_file


def replace_text(file: Path, text: str) -> None:
    """Write a file that is there whole, as it was or as it is to be."""
    beside = file.with_name(f".{file.name}.writing")
    with private_file(beside) as out:
        out.write(text.encode())
    beside.replace(file)


def write_table(table: pa.Table, file: Path) -> None:
    """Write a Parquet file."""
    with private_file(file) as out:
        pq.write_table(table, out)

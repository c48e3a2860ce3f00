"""Small files that are written atomically: readers, also after a crash, never see a part of one."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from morisot.private import private_file


def replace_text(file: Path, text: str) -> None:
    """Writes a file atomically."""
    beside = file.with_name(f".{file.name}.writing")
    with private_file(beside) as out:
        out.write(text.encode())
    beside.replace(file)


def write_table(table: pa.Table, file: Path) -> None:
    """Writes a Parquet file."""
    with private_file(file) as out:
        pq.write_table(table, out)

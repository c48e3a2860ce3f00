"""The type of files' rows, without Spark."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from morisot.errors import SourceError
from morisot.types import arrow, infer
from morisot.types.element import Record


def row_type(kind: str, files: Sequence[str], path: str) -> Record:
    """What the rows of Parquet or JSON files are."""
    if not files:
        raise SourceError(f"cannot read {path!r}: no file is there")
    if kind == "parquet":
        import pyarrow.parquet as pq

        return arrow.row_type_of(pq.read_schema(files[0]))
    rows = [json.loads(line) for file in files for line in Path(file).read_text("utf-8").splitlines() if line.strip()]
    names = sorted({name for row in rows for name in row})
    return infer.row_type([(name, infer.of_values([row.get(name) for row in rows])) for name in names])

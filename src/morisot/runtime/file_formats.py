"""The formats of sources of files, and the columns of their fields, for all engines."""

from __future__ import annotations

from collections.abc import Sequence

from morisot.errors import SourceError
from morisot.plan.nodes.node import Node
from morisot.plan.nodes.source import PathSource, StreamCsv, StreamFile, StreamJson
from morisot.types.element import Record
from morisot.worker.files.columns import ColumnsMisfit, match_columns
from morisot.worker.files.format import FileFormat, Kind


def columns_of_fields(node: Node, columns: Sequence[str], *, by_position: bool = False) -> list[int]:
    """The index of the column for each field of the node's record."""
    assert isinstance(node.type, Record)
    try:
        return match_columns(node.type, columns, by_position=by_position)
    except ColumnsMisfit as misfit:
        raise SourceError(f"{node.operator} ({node.location}): {misfit}") from None


def format_of(node: PathSource) -> FileFormat:
    """How the files of a source are read in Python."""
    kind: Kind = "text" if isinstance(node, StreamFile) else "json" if isinstance(node, StreamJson) else "parquet"
    if not isinstance(node, StreamCsv):
        skips = isinstance(node, StreamJson) and node.on_error == "skip"
        return FileFormat(kind, node.type, node.operator, node.location, skips=skips)
    return FileFormat(
        "csv",
        node.type,
        node.operator,
        node.location,
        header=node.header,
        delimiter=node.delimiter,
        quote=node.quote,
        multiline=node.multiline,
        skips=node.on_error == "skip",
    )

"""The choice of sources of files: Spark reads them, or workers do so in Python."""

from __future__ import annotations

from morisot.physical.ops import Choice, ParseOp, ReadOp
from morisot.plan.nodes.node import Node
from morisot.plan.nodes.source import PathSource, StreamCsv


def choose_reading(node: PathSource, demoted: frozenset[Node]) -> Choice:
    """Spark's CSV reader accepts quoted fields with line breaks that it should not, so Python reads these files."""
    in_python = node in demoted or (isinstance(node, StreamCsv) and node.multiline)
    return Choice(ParseOp if in_python else ReadOp)

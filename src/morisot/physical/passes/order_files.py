"""The order in which a bounded source reads its files: any, or that of their paths."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from morisot.physical.facts import Facts
from morisot.physical.passes.require import OrderRequirements
from morisot.plan.nodes.node import Node
from morisot.plan.nodes.source import PathSource

FileOrder = Literal["any", "packed", "restored"]
"""How the files of a source are read: packed by size in one scan; packed in the order of their paths in one scan; or,
where Spark's scans are not accessible, one by one, or packed by size and then sorted."""


def order_files(nodes: Iterable[Node], order: OrderRequirements, facts: Facts) -> dict[Node, FileOrder]:
    """How each bounded source of files reads them. Files of columns in directories are restored in any case."""
    in_order: FileOrder = "restored" if facts.connect else "packed"
    sources = (node for node in nodes if isinstance(node, PathSource) and node.bounded)
    return {node: in_order if node in order.seen else "any" for node in sources}

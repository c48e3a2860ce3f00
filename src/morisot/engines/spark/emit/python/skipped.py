"""The elements that a supervisor has found to fail each time, and that are skipped: `skipped.jsonl`."""

from __future__ import annotations

import functools
import json
from collections import defaultdict
from pathlib import Path

from morisot.errors import SnapshotError
from morisot.overrides import OVERRIDES
from morisot.plan.nodes.node import Node


def skipped_by(node: Node) -> frozenset[str] | None:
    """The texts of the elements that an operator skips; None if there are none."""
    if OVERRIDES.poison is None:
        return None
    return _read(OVERRIDES.poison).get((node.operator, str(node.location)))


def forget() -> None:
    """Reads the file again when it is needed."""
    _read.cache_clear()


@functools.cache
def _read(path: str) -> dict[tuple[str, str], frozenset[str]]:
    """The elements by operator and line. A line that was not written completely is ignored."""
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return {}
    found: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for number, line in enumerate(lines, 1):
        try:
            entry = json.loads(line)
            found[entry["operator"], entry["line"]].add(entry["element"])
        except (ValueError, KeyError, TypeError):
            if number < len(lines):
                raise SnapshotError(f"{path}, line {number} is damaged", advice="correct or remove the line") from None
    return {operator: frozenset(elements) for operator, elements in found.items()}

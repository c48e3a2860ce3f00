"""The source of a tested program."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field

from morisot.plan.nodes.node import Node


@dataclass(frozen=True, eq=False)
class StreamBatches(Node):
    """A followed directory into which a test writes its elements, with a file for each micro-batch."""

    directory: str = field(kw_only=True)

    @functools.cached_property
    def bounded(self) -> bool:
        return False

"""The sections of a stream loop: its head and its stages."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from morisot.annotations.syntax.flow import Flow
from morisot.annotations.syntax.refusals import stream_jumps
from morisot.annotations.syntax.structure import StageBlock, StreamLoop
from morisot.annotations.syntax.uses import Uses


@dataclass
class Section:
    """The head, or a stage."""

    statements: list[ast.stmt]
    line: int
    flow: Flow
    uses: Uses
    block: StageBlock | None = None
    keeps: dict[str, int] = field(default_factory=dict)
    """Names from before the loop that it certainly updates, with the line."""
    inputs: tuple[str, ...] = ()
    """The names of the element that it takes, in their order."""
    outputs: tuple[str, ...] = ()
    """The names of the element that it gives."""
    constants: frozenset[str] = frozenset()
    """The names from before the loop that it reads, and does not certainly update."""

    @property
    def drops(self) -> bool:
        return self.flow.drops

    @property
    def replicated(self) -> bool:
        return self.block is not None and self.block.replicated


@dataclass(frozen=True)
class AnalysedLoop:
    """A stream loop and its sections, the head first."""

    loop: StreamLoop
    sections: tuple[Section, ...]
    outer: frozenset[str]
    """The names of the function that may have a value before the loop."""
    head_updates: frozenset[str]
    """Names from before the loop whose next value or last value comes from the head."""

    @property
    def head(self) -> Section:
        return self.sections[0]

    @property
    def stages(self) -> tuple[Section, ...]:
        return self.sections[1:]

    @property
    def head_breaks(self) -> bool:
        """Whether the head may end the loop."""
        return not isinstance(self.loop.node, ast.For) or any(
            isinstance(each, ast.Break) for each in stream_jumps(self.loop.head)
        )

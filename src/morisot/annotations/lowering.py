"""Stages as operators of the logical plan."""

from __future__ import annotations

import types
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from morisot.annotations.modes import Mode
from morisot.annotations.program import LoopCode
from morisot.annotations.replicated import InitialisedStage, WithValue
from morisot.annotations.syntax.sections import Section
from morisot.api.base import OnError
from morisot.api.context import StreamContext
from morisot.api.location import on_behalf_of
from morisot.api.stream import Stream

Cells = Mapping[str, types.CellType]


class LoopOperators:
    """The operators of a loop's sections, over the cells of the function that runs."""

    def __init__(
        self,
        context: StreamContext,
        program: LoopCode,
        cells: Cells,
        arguments: Sequence[Mapping[str, Any]],
        on_error: OnError,
    ) -> None:
        self._context = context
        self._program = program
        self._cells = cells
        self._arguments = arguments
        self._on_error = on_error
        self._run = uuid.uuid4().hex

    def source(self, items: Any) -> Stream[Any]:
        """The stream of the items, which tasks generate if they are a range."""
        with on_behalf_of(self._program.location(self._program.loop.head)):
            if isinstance(items, range):
                return self._context.stream_par_iter(items)
            return self._context.stream_iter(items)

    def head(self, stream: Stream[Any]) -> Stream[Any]:
        """The head as an operator: the elements that it makes of the items."""
        return self._row(stream, self._program.loop.head, "head")

    def stages(self, stream: Stream[Any], numbers: Sequence[int], modes: Sequence[Mode]) -> Stream[Any]:
        """Stages on Spark. The last may be a fold."""
        for number in numbers:
            section = self._program.loop.stages[number]
            label = f"stage {number + 1}"
            stream = (
                self._fold(stream, section, label) if modes[number] == "fold" else self._row(stream, section, label)
            )
        return stream

    def _row(self, stream: Stream[Any], section: Section, label: str) -> Stream[Any]:
        function = self._function(section)
        with on_behalf_of(self._program.location(section)):
            if section.drops:
                return stream.filter_map(function, on_error=self._on_error).name(label)
            return stream.map(function, on_error=self._on_error).name(label)

    def _function(self, section: Section) -> Callable[[Any], Any]:
        """The function of a section. A name that a replicated stage binds has its value in the worker process."""
        code = self._program.code(section, "row")
        alias = None if section.block is None else section.block.alias
        if alias is None:
            return code.bound(self._cells)
        number = self._program.loop.stages.index(section)
        function = code.bound({**self._cells, alias: types.CellType(None)})
        on_init = self._arguments[number]["on_init"]
        return InitialisedStage(f"{self._run}/{number}", on_init, WithValue(function, alias))

    def _fold(self, stream: Stream[Any], section: Section, label: str) -> Stream[Any]:
        """A fold over the values of kept names, from those that they have now."""
        function = self._program.code(section, "fold").bound(self._cells)
        values = tuple(self._cells[name].cell_contents for name in sorted(section.keeps))
        with on_behalf_of(self._program.location(section)):
            return stream.fold(values[0] if len(values) == 1 else values, function).name(label)

    def assign(self, section: Section, result: Any) -> None:
        """Assigns the result of a fold to the kept names."""
        names = sorted(section.keeps)
        for name, value in zip(names, (result,) if len(names) == 1 else result, strict=True):
            self._cells[name].cell_contents = value

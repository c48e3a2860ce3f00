"""Stages as operators of the logical plan."""

from __future__ import annotations

import ast
import types
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from morisot.annotations.modes import Mode
from morisot.annotations.program import LoopCode
from morisot.annotations.replicated import InitialisedStage, ReplicatedStage, WithValue
from morisot.annotations.syntax.sections import Section
from morisot.api.base import OnError
from morisot.api.context import StreamContext
from morisot.api.location import on_behalf_of
from morisot.api.stream import Stream
from morisot.compile.choose import verdict_of
from morisot.compile.verdict import StageForm
from morisot.plan.nodes.closure import Closure

_EVENTS = frozenset({"on_exit", "on_snapshot", "on_error"})
"""The events with which a replicated stage is an operator with replicas."""

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
        loop = self._program.loop
        is_name = isinstance(loop.loop.target, ast.Name) and loop.head.outputs == (loop.loop.target.id,)
        if is_name and not loop.loop.head:  # the items are the elements
            return stream
        return self._row(stream, loop.head, "head")

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
        if section.replicated and self._is_applied(section, stream):
            return self._applied(stream, section, label)
        function = self._function(section)
        with on_behalf_of(self._program.location(section)):
            if section.drops:
                return stream.filter_map(function, on_error=self._on_error).name(label)
            return stream.map(function, on_error=self._on_error).name(label)

    def _is_applied(self, section: Section, stream: Stream[Any]) -> bool:
        """Whether a replicated stage is an operator with replicas. A native form has none: it uses all slots."""
        given = self._given(section)
        if given.get("send", "on_demand") != "on_demand" or given.keys() & _EVENTS:
            return True
        if given["replicate"] is None or given["replicate"] >= self._context.config.cores:
            return False
        closure = Closure(self._program.code(section, "row").bound(self._cells), self._program.location(section), "map")
        return isinstance(verdict_of(closure, (stream.type,)), StageForm)

    def _given(self, section: Section) -> Mapping[str, Any]:
        return self._arguments[self._program.loop.stages.index(section)]

    def _applied(self, stream: Stream[Any], section: Section, label: str) -> Stream[Any]:
        """A stage as an operator with replicas."""
        given = self._given(section)
        function = self._bound(section)
        alias = None if section.block is None else section.block.alias
        bind = None if alias is None else WithValue(function, alias)
        events = {name: value for name, value in given.items() if name in (*_EVENTS, "on_init")}
        operator = ReplicatedStage(self._run_of(section), function, bind, events, drops=section.drops)
        key = None if "key" not in given else self._program.key(section).bound(self._cells)
        with on_behalf_of(self._program.location(section)):
            applied = stream.apply(
                operator,
                replicate=given["replicate"],
                send=given.get("send", "on_demand"),
                key=key,
                on_error=self._on_error,
            )
            return applied.name(label)

    def _run_of(self, section: Section) -> str:
        """The name of a stage in worker processes."""
        return f"{self._run}/{self._program.loop.stages.index(section)}"

    def _bound(self, section: Section) -> types.FunctionType:
        """The function of a section. A name that a stage binds has no value yet."""
        alias = None if section.block is None else section.block.alias
        cells = self._cells if alias is None else {**self._cells, alias: types.CellType(None)}
        return self._program.code(section, "row").bound(cells)

    def _function(self, section: Section) -> Callable[[Any], Any]:
        """The function of a section. A name that a replicated stage binds has its value in the worker process."""
        alias = None if section.block is None else section.block.alias
        function = self._bound(section)
        if alias is None:
            return function
        return InitialisedStage(self._run_of(section), self._given(section)["on_init"], WithValue(function, alias))

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

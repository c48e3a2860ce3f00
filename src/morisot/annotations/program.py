"""A decorated function: analysed once, with the code of its sections."""

from __future__ import annotations

import ast
import functools
import inspect
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from morisot.annotations.rewrite import Kind, SectionCode, around_loops, head_generator, key_code, section_code
from morisot.annotations.syntax.analysis import analysed
from morisot.annotations.syntax.refusals import refuse_function
from morisot.annotations.syntax.sections import AnalysedLoop, Section
from morisot.annotations.syntax.structure import FunctionText, stream_loops
from morisot.api.location import caller
from morisot.compile.syntax.reader import FunctionSource, read
from morisot.errors import Location, PlanError


@dataclass(frozen=True, eq=False)
class LoopCode:
    """A stream loop and the code of its sections."""

    source: FunctionText
    loop: AnalysedLoop
    number: int

    @functools.cached_property
    def head(self) -> SectionCode:
        """The head as a generator."""
        return head_generator(self.source, self.loop)

    def code(self, section: Section, kind: Kind) -> SectionCode:
        return self._codes(self.loop.sections.index(section), kind)

    @functools.cached_property
    def _codes(self) -> Callable[[int, Kind], SectionCode]:
        def code(index: int, kind: Kind) -> SectionCode:
            return section_code(self.source, self.loop, self.loop.sections[index], kind)

        return functools.cache(code)

    def key(self, section: Section) -> SectionCode:
        """The function of the key of a stage."""
        return key_code(self.source, self.loop, section)

    def location(self, section: Section) -> Location:
        return Location(self.source.file, section.line)


@dataclass(frozen=True, eq=False)
class PipelineProgram:
    """A decorated function."""

    source: FunctionText
    loops: tuple[LoopCode, ...]
    around: Callable[[Callable[..., Any]], types.FunctionType]
    """The function with the runner of its loops."""


def program_of(function: Any) -> PipelineProgram:
    """The program of a function. Raises an error for what cannot be a pipeline."""
    source = _source_of(function)
    refuse_function(source)
    loops = [analysed(source, loop) for loop in stream_loops(source)]
    programs = tuple(LoopCode(source, loop, number) for number, loop in enumerate(loops))
    return PipelineProgram(source, programs, around_loops(source, loops))


def _source_of(function: Any) -> FunctionText:
    if not isinstance(function, types.FunctionType):
        raise PlanError(
            f"@mo.pipeline decorates a function, not {function!r}",
            location=caller(),
            advice="decorate a `def`; put @staticmethod and @classmethod above @mo.pipeline",
        )
    location = Location(function.__code__.co_filename, function.__code__.co_firstlineno)
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        raise PlanError(
            f"{function.__name__} is a coroutine function, and a pipeline does not await",
            location=location,
            advice="write `def`, and call asyncio.run(…) in the head or in a stage",
        )
    found = read(function)
    if not isinstance(found, FunctionSource) or not isinstance(found.node, ast.FunctionDef):
        reason = "it is a lambda" if isinstance(found, FunctionSource) else found.reason
        raise PlanError(
            f"the source of {function.__name__} is not available: {reason}",
            location=location,
            advice="define the function with `def` in a file or a notebook cell",
        )
    return FunctionText(function, found.node, found.file)

"""The decorator that makes a sequential function a pipeline."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import re
import types
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, overload

from morisot.annotations.explain import LoopPlan
from morisot.annotations.program import LoopCode, PipelineProgram, program_of
from morisot.annotations.rewrite import shared_names
from morisot.annotations.run import LoopRun, Settings
from morisot.annotations.sequential import sequential_of
from morisot.api.base import OnError, PathLike
from morisot.api.checks.settings import checked_settings, checked_snapshots
from morisot.api.context import StreamContext
from morisot.config import Config
from morisot.errors import MorisotError, PlanError
from morisot.plan.snapshots import Snapshots
from morisot.tracebacks import shorten

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S")
Q = ParamSpec("Q")

_contexts: dict[tuple[Any, ...], StreamContext] = {}
"""The contexts of pipelines, which share the Spark session of the process."""


@dataclasses.dataclass(frozen=True)
class Options:
    """The arguments of the decorator."""

    snapshots: Snapshots | PathLike | None = None
    max_retries: int | None = None
    on_error: OnError = "raise"
    ordered: bool = True
    engine: str | None = None
    config: Config | Mapping[str, Any] | None = None
    parallelism: int | None = None


class PipelineFunction(Generic[P, R]):
    """A decorated function. A call runs its stream loops as pipelines; `sequential` is the function as written."""

    def __init__(self, function: Callable[P, R], options: Options) -> None:
        functools.update_wrapper(self, function)
        self._function = function
        self._options = options
        self._program: PipelineProgram = program_of(function)
        self._numbers = itertools.count(1)
        """The numbers of the calls in this process."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Runs the pipeline."""
        call = _Call(self._options, self._program, next(self._numbers))
        function = self._program.around(call.run)
        try:
            result: R = function(*args, **kwargs)
        except MorisotError as error:
            shorten(error)
            raise
        call.finish()
        return result

    @functools.cached_property
    def sequential(self) -> Callable[P, R]:
        """The sequential program, with the events of its stages."""
        made: Callable[P, R] = sequential_of(self._function, self._program)
        return made

    def plan(self, *args: Any, loop: int = 0, **kwargs: Any) -> LoopPlan:
        """The operators of a stream loop, as a stream to explain or draw. Runs the code before the loop."""
        if not 0 <= loop < len(self._program.loops):
            raise PlanError(
                f"{self._function.__qualname__} has no stream loop {loop}",
                location=self._program.loops[0].location(self._program.loops[0].loop.head),
                advice=f"give a number from 0 to {len(self._program.loops) - 1}",
            )
        return _plan_of(self._program, loop, _Call(self._options, self._program, 0), args, kwargs)

    @overload
    def __get__(self, instance: None, owner: type | None = None) -> PipelineFunction[P, R]: ...
    @overload
    def __get__(
        self: PipelineFunction[Concatenate[S, Q], R], instance: S, owner: type | None = None
    ) -> PipelineFunction[Q, R]: ...
    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else _BoundPipeline(self, instance)

    def __repr__(self) -> str:
        return f"<pipeline {self._function.__qualname__}>"


class _BoundPipeline:
    """A pipeline that is a method, bound to its object."""

    def __init__(self, pipeline: PipelineFunction[Any, Any], instance: Any) -> None:
        functools.update_wrapper(self, pipeline)
        self._pipeline = pipeline
        self._instance = instance

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._pipeline(self._instance, *args, **kwargs)

    def sequential(self, *args: Any, **kwargs: Any) -> Any:
        return self._pipeline.sequential(self._instance, *args, **kwargs)

    def plan(self, *args: Any, loop: int = 0, **kwargs: Any) -> LoopPlan:
        return self._pipeline.plan(self._instance, *args, loop=loop, **kwargs)


class _Call:
    """One call of a pipeline: it runs the stream loops."""

    def __init__(self, options: Options, program: PipelineProgram, number: int) -> None:
        self._options = options
        self._program = program
        self._name = re.sub(r"[^\w.]+", "-", program.source.function.__qualname__).strip("-")
        if number > 1:
            self._name += f"-{number}"
        self._runs: Counter[int] = Counter()
        self._saved: list[LoopRun] = []

    def run(self, number: int, items: Any, cells_of: Callable[[], Any], arguments: list[Mapping[str, Any]]) -> None:
        """Runs a stream loop. The rewritten function calls it."""
        run = self.prepared(number, items, cells_of, arguments)
        self._runs[number] += 1
        self._saved.append(run)
        run.run(f"{self._name}-loop{number}-{self._runs[number]}")

    def prepared(
        self, number: int, items: Any, cells_of: Callable[[], Any], arguments: list[Mapping[str, Any]]
    ) -> LoopRun:
        """A run that has not begun."""
        program: LoopCode = self._program.loops[number]
        assert isinstance(cells_of, types.FunctionType)
        cells = dict(zip(cells_of.__code__.co_freevars, cells_of.__closure__ or (), strict=True))
        for name in shared_names(program.loop):
            cells.setdefault(name, types.CellType())
        return LoopRun(_settings(self._options), program, items, cells, arguments)

    def finish(self) -> None:
        """Called when the function has returned: nothing is left to resume."""
        for run in self._saved:
            run.forget()


class _Reached(BaseException):
    """Ends the function when it reaches a loop. No `except Exception` of the user catches it."""

    def __init__(self, run: LoopRun) -> None:
        super().__init__()
        self.run = run


def _plan_of(
    program: PipelineProgram, number: int, call: _Call, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> LoopPlan:
    """The plan of a loop. The code before it runs, earlier loops included."""

    def run(reached: int, items: Any, cells_of: Callable[[], Any], arguments: list[Mapping[str, Any]]) -> None:
        if reached == number:
            raise _Reached(call.prepared(reached, items, cells_of, arguments))
        call.run(reached, items, cells_of, arguments)

    try:
        result = program.around(run)(*args, **kwargs)
        if isinstance(result, types.GeneratorType):
            for _ in result:
                pass
    except _Reached as found:
        return found.run.planned()
    raise program.source.refuse(
        f"the function has returned before its stream loop {number}",
        program.loops[number].loop.head.line,
        "give arguments with which the function runs the loop",
    )


def _settings(options: Options) -> Settings:
    config = checked_settings(options.config, options.engine, options.parallelism)
    snapshots = checked_snapshots(options.snapshots, config)
    retries = config.max_retries if options.max_retries is None else options.max_retries
    config = dataclasses.replace(config, max_retries=retries, snapshots={})
    return Settings(_context(config), snapshots, options.on_error)


def _context(config: Config) -> StreamContext:
    """The context of all pipelines with these settings. It has no snapshots: pipelines save their own."""
    key = tuple(repr(getattr(config, field.name)) for field in dataclasses.fields(config))
    if key not in _contexts:
        _contexts[key] = StreamContext(config=config).without_snapshots()
    return _contexts[key]


@overload
def pipeline(function: Callable[P, R]) -> PipelineFunction[P, R]: ...
@overload
def pipeline(
    *,
    snapshots: Snapshots | PathLike | None = None,
    max_retries: int | None = None,
    on_error: OnError = "raise",
    ordered: bool = True,
    engine: str | None = None,
    config: Config | Mapping[str, Any] | None = None,
    parallelism: int | None = None,
) -> Callable[[Callable[P, R]], PipelineFunction[P, R]]: ...
def pipeline(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Makes a function with marked loops a pipeline, which Spark runs: `@mo.pipeline` or `@mo.pipeline(snapshots=…)`.

    >>> import morisot as mo
    >>> @mo.pipeline(engine="reference")
    ... def total_of_squares(n: int) -> int:
    ...     total = 0
    ...     for i in mo.to_stream(range(n)):
    ...         with mo.stage():
    ...             square = i * i
    ...         with mo.stage():
    ...             total += square
    ...     return total
    >>> total_of_squares(4)
    14
    """
    unknown = options.keys() - {field.name for field in dataclasses.fields(Options)}
    if unknown:
        raise TypeError(f"pipeline() has no argument {min(unknown)!r}")
    given = Options(**options)
    if function is not None:
        return PipelineFunction(function, given)
    return lambda each: PipelineFunction(each, given)

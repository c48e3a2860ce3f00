"""One fused pass over Arrow batches in Python.

The steps of fused operators become one generated loop, so that an element costs only the calls of the functions. When
a function fails, the step is found by the line of the loop's frame, and the element by its variable.
"""

from __future__ import annotations

import asyncio
import functools
import itertools
import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any

import pyarrow as pa

from morisot.errors import ElementError, Location
from morisot.types.element import Type, leaves
from morisot.worker.codec.batches import Dumps, decode, encode, schema_of
from morisot.worker.codec.fits import advised, checker, refuser
from morisot.worker.garbage import no_garbage_collection
from morisot.worker.report import failure
from morisot.worker.report.left_out import Account, LeftOut, Notes, Policy, failed
from morisot.worker.rowwise.steps import Step, loop_source

_LOOP_FILE = "<morisot stage>"


class Segment:
    """Consecutive steps as one generated loop over elements."""

    def __init__(self, steps: Sequence[Step], notes: Notes, numbered: bool = False) -> None:
        self.steps = tuple(steps)
        self.notes = notes
        names: dict[str, Any] = {"given": counters(self.steps, notes)}
        text, self.owner = loop_source(self.steps, names, numbered)
        for number, step in enumerate(self.steps):
            names[f"f{number}"] = step.function
            names[f"left{number}"] = functools.partial(self._leave, step)
            names[f"note{number}"] = functools.partial(self._note, step)
            if step.returns is not None:
                names[f"refuse{number}"] = refuser(step.returns, notes.dumps, step.sampled)
        exec(compile(text, _LOOP_FILE, "exec"), names)
        self.loop: Callable[[Iterable[Any], Callable[[Any], None]], None] = names["loop"]

    def __call__(self, elements: Iterable[Any], emit: Callable[[Any], None]) -> None:
        try:
            self.loop(elements, emit)
        except Exception as error:
            found = self._where(error)
            if found is None or error is self.notes.refused:
                raise
            step, element, skip = found
            theirs = failed(step.operator, step.location, element, error, skip)
            raise theirs from theirs.__cause__

    def _leave(self, step: Step, element: Any, error: Exception) -> None:
        assert step.policy is not None
        self.notes.add(step.policy, element, error)

    def _note(self, step: Step, left_out: LeftOut) -> None:
        assert step.policy is not None
        self.notes.add_all(step.policy, left_out)

    def _where(self, error: BaseException) -> tuple[Step, Any, int] | None:
        """The step and the element of a failure, from the frame of the loop."""
        trace, depth = error.__traceback__, 0
        while trace and trace.tb_frame.f_code.co_filename != _LOOP_FILE:
            trace, depth = trace.tb_next, depth + 1
        if trace is None or trace.tb_lineno not in self.owner:
            return None
        number = self.owner[trace.tb_lineno]
        return self.steps[number], _element(trace.tb_frame, self.steps[number], number), depth + 1


def _element(frame: FrameType, step: Step, number: int) -> Any:
    element: Any = frame.f_locals.get(f"e{number}")
    return element[1] if step.keyed and step.kind == "key_by" else element


_LEFT_OUT = object()


class AsyncSegment:
    """A coroutine function over elements: several run at once, and results are in order."""

    def __init__(self, step: Step, notes: Notes, numbered: bool = False) -> None:
        self.step = step
        self.notes = notes
        self.numbered = numbered
        self._given = counters((step,), notes)
        self._check = None if step.returns is None else checker(step.returns, notes.dumps, step.sampled)

    def __call__(self, elements: Iterable[Any], emit: Callable[[Any], None]) -> None:
        given = list(elements)
        results = asyncio.run(self._gather([element for element, _ in given] if self.numbered else given))
        if self.step.counted is not None:
            self._given[self.step.counted] += sum(result is not _LEFT_OUT for result in results)
        for result, pair in zip(results, given, strict=True):
            if result is not _LEFT_OUT:
                emit((result, pair[1]) if self.numbered else result)

    async def _gather(self, elements: list[Any]) -> list[Any]:
        slots = asyncio.Semaphore(self.step.concurrency)
        step = self.step

        async def one(element: Any) -> Any:
            async with slots:
                try:
                    return await self._call(element)
                except Exception as error:
                    if step.policy is None:
                        theirs = failed(step.operator, step.location, element, error, 2)
                        raise theirs from theirs.__cause__
                    self.notes.add(step.policy, element, error, 2)
                    return _LEFT_OUT

        tasks = [asyncio.ensure_future(one(element)) for element in elements]
        try:
            return list(await asyncio.gather(*tasks))
        except BaseException:
            for task in tasks:
                task.cancel()
            raise

    async def _call(self, element: Any) -> Any:
        assert self.step.function is not None
        value = await (self.step.function(*element) if self.step.keyed else self.step.function(element))
        if self._check is not None:
            value = self._check(value)
        return (element[0], value) if self.step.keyed else value


_MOST_NESTED = 15
"""The most nested loops in one generated function. CPython's limit is about twenty."""


def segments(steps: Sequence[Step], notes: Notes, numbered: bool = False) -> list[Segment | AsyncSegment]:
    """The steps in segments: a coroutine is one of its own, and so are loops beyond the limit of nesting."""
    runs: list[Segment | AsyncSegment] = []
    nested = itertools.accumulate(step.kind in ("flat_map", "flatten") for step in steps)
    counted = zip(steps, nested, strict=True)
    for (is_async, _), group in itertools.groupby(
        counted, key=lambda each: (each[0].kind == "map_async", each[1] // _MOST_NESTED)
    ):
        run = [step for step, _ in group]
        runs += [AsyncSegment(step, notes, numbered) for step in run] if is_async else [Segment(run, notes, numbered)]
    return runs


class Pipeline:
    """Steps over lists of elements, or of (element, number), for stages and folds."""

    def __init__(self, steps: Sequence[Step], notes: Notes | None = None, numbered: bool = False) -> None:
        self._runs = segments(steps, notes or Notes(pickle.dumps), numbered)

    def run(self, elements: Iterable[Any]) -> list[Any]:
        current: Iterable[Any] = elements
        for segment in self._runs:
            output: list[Any] = []
            segment(current, output.append)
            current = output
        return current if isinstance(current, list) else list(current)


@dataclass(frozen=True)
class Stage:
    """Given to mapInArrow: runs the steps over batches."""

    steps: tuple[Step, ...]
    input: Type
    output: Type
    dumps: Dumps
    hidden: int = 0
    """The number of hidden columns after those of the elements, which are passed on with them."""
    account: Account | None = None
    """Where skipped elements are reported, if a step skips elements."""
    rows: int | None = None
    """The most elements to process at a time, if Arrow's batches are to be split."""

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        notes = Notes(self.dumps)
        pipeline = Pipeline(self.steps, notes, numbered=self.hidden > 0)
        for batch in batches if self.rows is None else split_batches(batches, self.rows):
            elements = decode_columns(batch, self.input)
            if not self.hidden:
                yield self.encoded(pipeline.run(elements))
                continue
            numbered = list(zip(elements, range(len(elements)), strict=True))
            results = pipeline.run(numbered)
            output = self.encoded([element for element, _ in results])
            origins = pa.array([number for _, number in results], pa.int64())
            hidden = batch.select(batch.schema.names[-self.hidden :]).take(origins)
            names = [*output.schema.names, *hidden.schema.names]
            yield pa.RecordBatch.from_arrays([*output.columns, *hidden.columns], names=names)
        if self.account is not None:
            self.account.settle(policies(self.steps), notes)

    def encoded(self, elements: list[Any]) -> Any:
        """The output batch. Raises an error of the last operator for a value that does not fit its type."""
        last = self.steps[-1]
        return encode_batch(elements, self.output, self.dumps, last.operator, last.location)


def split_batches(batches: Iterable[Any], rows: int) -> Iterator[Any]:
    """The batches, split into batches of at most `rows` rows."""
    for batch in batches:
        yield from (batch.slice(start, rows) for start in range(0, batch.num_rows, rows))


def with_column(batch: Any, name: str, numbers: Sequence[int]) -> Any:
    """The batch with one more column of 64-bit ints."""
    arrays = [*batch.columns, pa.array(numbers, pa.int64())]
    return pa.RecordBatch.from_arrays(arrays, names=[*batch.schema.names, name])


def counters(steps: Iterable[Step], notes: Notes) -> dict[int, int]:
    """Where the steps that are counted count."""
    for step in steps:
        if step.counted is not None:
            notes.given.setdefault(step.counted, 0)
    return notes.given


def policies(steps: Iterable[Step]) -> list[Policy]:
    """The policies of the steps that skip elements."""
    return [step.policy for step in steps if step.policy is not None]


def decode_columns(batch: Any, type_: Type) -> list[Any]:
    """The elements of a record batch whose first columns are the leaves of `type_`."""
    with no_garbage_collection():
        return decode(batch.columns[: len(leaves(type_))], type_)


def encode_batch(
    elements: Sequence[Any], type_: Type, dumps: Dumps, operator: str, location: Location | None
) -> pa.RecordBatch:
    """The record batch of elements. Raises an ElementError of the operator for one that does not fit."""
    try:
        arrays = encode(elements, type_, dumps)
    except Exception:
        misfit = _first_misfit(elements, type_, dumps, operator, location)
        raise misfit from misfit.__cause__
    return pa.RecordBatch.from_arrays(arrays, schema=schema_of(type_))


def _first_misfit(
    elements: Sequence[Any], type_: Type, dumps: Dumps, operator: str, location: Location | None
) -> ElementError:
    for element in elements:
        try:
            encode([element], type_, dumps)
        except Exception as error:
            return failure.misfit_error(operator, location, element, advised(error))
    raise AssertionError("a batch was refused of which every element fits")

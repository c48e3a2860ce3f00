"""Runs a stream loop: batches of elements through the operators on Spark, and then the stages in the driver."""

from __future__ import annotations

import contextlib
import itertools
import time
import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from morisot.annotations.driver import DriverStage, HeadReader, events
from morisot.annotations.explain import LoopPlan, described, guarantee
from morisot.annotations.lowering import LoopOperators
from morisot.annotations.modes import Mode, Values, head_runs_in_driver, is_picklable, mode_of, segments
from morisot.annotations.program import LoopCode
from morisot.annotations.saves import PipelineSaves
from morisot.api.base import OnError
from morisot.api.context import StreamContext
from morisot.api.stream import Stream
from morisot.errors import ElementError
from morisot.plan.snapshots import Snapshots
from morisot.runtime.activity import ACTIVITY

_FIRST_ITEMS = 1000
_MOST_GROWTH = 4


@dataclass(frozen=True)
class Settings:
    """How a pipeline runs."""

    context: StreamContext
    snapshots: Snapshots | None
    on_error: OnError = "raise"


class LoopRun:
    """One run of a stream loop."""

    def __init__(
        self,
        settings: Settings,
        program: LoopCode,
        items: Any,
        cells: Mapping[str, types.CellType],
        arguments: Sequence[Mapping[str, Any]],
    ) -> None:
        self._settings = settings
        self._program = program
        self._items = items
        self._cells = cells
        self._arguments = arguments
        values = Values(program.loop, cells, program.source.function.__globals__)
        stages = program.loop.stages
        self.modes: tuple[Mode, ...] = tuple(
            mode_of(program.loop, section, given, values) for section, given in zip(stages, arguments, strict=True)
        )
        self.head_in_driver = head_runs_in_driver(program.loop, items, values)
        self._segments = segments(self.modes)
        self._operators = LoopOperators(settings.context, program, cells, arguments, settings.on_error)
        self._driver = {
            number: DriverStage(program, stages[number], cells, arguments[number])
            for number, mode in enumerate(self.modes)
            if mode == "driver"
        }
        self._kept = sorted({name for section in stages for name in section.keeps})
        self._resume = _resume_of(program)
        self._saved: PipelineSaves | None = None

    def forget(self) -> None:
        """Removes the snapshots, when the function has returned."""
        if self._saved is not None:
            self._saved.remove()

    def planned(self) -> LoopPlan:
        """The operators of the first batch."""
        rows, _ = self._segments[0]
        items = [] if self.head_in_driver else self._items
        stream = self._stream(items, rows, head=not self.head_in_driver)
        plan = LoopPlan(stream._context, stream._node)
        lines = described(self._program, self.modes, self._arguments, head_in_driver=self.head_in_driver)
        promise = guarantee(
            self._resume,
            saved=self._settings.snapshots is not None,
            commits=any(stage.knows_commits for stage in self._driver.values()),
            effects=bool(self._driver),
        )
        plan.notes = (*lines, f"  {promise}")
        return plan

    # -- running ------------------------------------------------------------------------------------------------------

    def run(self, name: str) -> None:
        """Runs the loop to its end. `name` is that of its snapshots."""
        with events(tuple(self._driver.values())), ACTIVITY.working():
            saves = self._saved = self._saves(name)
            try:
                self._run_head(saves) if self.head_in_driver else self._run_items(saves)
            finally:
                if saves is not None:
                    saves.close()

    def _saves(self, name: str) -> PipelineSaves | None:
        if self._settings.snapshots is None:
            return None
        start = [self._value(each) for each in self._kept], self._items if isinstance(self._items, range) else None
        return PipelineSaves(self._settings.snapshots, self._program, name, start)

    def _value(self, name: str) -> Any:
        """The type and, if it is plain, the value of a kept name."""
        cell = self._cells[name]
        value = None if cell == types.CellType() else cell.cell_contents
        return value if isinstance(value, int | float | str | bool) else type(value).__qualname__

    def _run_items(self, saves: PipelineSaves | None) -> None:
        """The head runs on Spark: slices of the items, or all at once without snapshots."""
        number, done = self._resumed(saves)
        items = self._items if isinstance(self._items, range) else list(self._items)
        size = self._first_size(len(items) - done)
        while done < len(items) or number < 0:
            began = time.monotonic()
            part = items[done : done + size]
            self._batch(part, from_items=True)
            done += len(part)
            number += 1
            self._commit(saves, number, done)
            size = self._next_size(size, time.monotonic() - began)

    def _first_size(self, rest: int) -> int:
        snapshots = self._settings.snapshots
        if snapshots is None:
            return max(rest, 1)
        if snapshots.items is not None:
            return snapshots.items
        return _FIRST_ITEMS if snapshots.seconds is not None else max(rest, 1)

    def _next_size(self, size: int, seconds: float) -> int:
        """The size of a slice that takes the interval between snapshots, by the duration of the one before."""
        snapshots = self._settings.snapshots
        if snapshots is None or snapshots.items is not None or snapshots.seconds is None:
            return size
        return max(1, min(int(size * snapshots.seconds / max(seconds, 0.001)), size * _MOST_GROWTH))

    def _run_head(self, saves: PipelineSaves | None) -> None:
        """The head runs in this process. Its elements are processed in batches."""
        number, done = self._resumed(saves)
        reader = HeadReader(self._elements(saves, done))
        try:
            most = None if self._settings.snapshots is None else self._settings.snapshots.items
            head, is_open, saved_at = None, number < 0, time.monotonic()
            for batch, head in reader.batches(most):
                done += len(batch)
                self._batch(batch, from_items=False)
                is_open = not self._is_due(saved_at)
                if not is_open:
                    number += 1
                    self._commit(saves, number, done, head)
                    saved_at = time.monotonic()
        finally:
            reader.stop()
        if is_open:
            self._commit(saves, number + 1, done, head)
        if reader.error is not None:
            raise reader.error

    def _is_due(self, saved_at: float) -> bool:
        """Whether a snapshot follows this batch. Without an interval one follows each batch."""
        snapshots = self._settings.snapshots
        if snapshots is None or snapshots.seconds is None or snapshots.items is not None:
            return True
        return time.monotonic() - saved_at >= snapshots.seconds

    def _elements(self, saves: PipelineSaves | None, done: int) -> Iterator[tuple[Any, Any]]:
        """The elements of the head after the first `done`. Each has the values of the names that the head updates."""
        head = self._program.head.bound(self._cells)
        items = None if self._items is None else iter(self._items)
        if self._resume == "reread":
            for element in itertools.islice(head(items), done, None):
                yield element, None
            return
        for element, values in () if saves is None else saves.logged(done):
            self._restore_head(values)
            done += 1
            yield element, values
        for element in head(items):
            values = self._head_values()
            if saves is not None:
                saves.append(done, element, values)
            done += 1
            yield element, values

    def _batch(self, elements: Any, *, from_items: bool) -> None:
        """One batch of elements, or of items of the source, through all stages."""
        for number, (rows, in_driver) in enumerate(self._segments):
            to_spark = bool(rows) or (from_items and number == 0)
            stages = [self._driver[each] for each in in_driver]
            if to_spark and len(elements):
                stream = self._stream(elements, rows, head=from_items and number == 0)
                elements = self._results(stream, rows, stages, last=number == len(self._segments) - 1)
            else:
                elements = _through(stages, elements)
        ACTIVITY.note_progress()

    def _stream(self, elements: Any, rows: Sequence[int], *, head: bool) -> Stream[Any]:
        stream = self._operators.source(elements)
        return self._operators.stages(self._operators.head(stream) if head else stream, rows, self.modes)

    def _results(
        self, stream: Stream[Any], rows: Sequence[int], stages: Sequence[DriverStage], *, last: bool
    ) -> list[Any]:
        if rows and self.modes[rows[-1]] == "fold":
            for result in stream.collect():
                self._operators.assign(self._program.loop.stages[rows[-1]], result)
            return []
        if stages and last:  # the results are not collected first: they may be large
            one = _OneByOne(stages)
            stream.for_each(one)
            try:
                self._settings.context.execute()
            except ElementError:
                if one.error is None:
                    raise
                raise one.error from one.error.__cause__
            return []
        return _through(stages, stream.collect())

    # -- snapshots ----------------------------------------------------------------------------------------------------

    def _resumed(self, saves: PipelineSaves | None) -> tuple[int, int]:
        """The number of the last complete snapshot, -1 for none, and how many elements are done."""
        found = None if saves is None else saves.latest()
        if found is None:
            ACTIVITY.note_resume(None)
            return -1, 0
        number, content = found
        ACTIVITY.note_resume(str(number))
        self._restore(content)
        assert saves is not None
        return self._after_prepared(saves, number, content["done"])

    def _after_prepared(self, saves: PipelineSaves, number: int, done: int) -> tuple[int, int]:
        """The same, if a stage had committed the next batch before the snapshot was complete."""
        if self._adopted(saves, number + 1):
            return number + 1, saves.prepared(number + 1)["done"]
        return number, done

    def _adopted(self, saves: PipelineSaves, number: int) -> bool:
        """Whether a batch is done by what its stages say: its snapshot is complete now."""
        content = saves.prepared(number)
        knowing = [stage for stage in self._driver.values() if stage.knows_commits]
        if content is None or not knowing:
            return False
        if not all((stage.last_committed() or -1) >= number for stage in knowing):
            return False
        self._restore(content)
        saves.save(number, content)
        return True

    def _commit(self, saves: PipelineSaves | None, number: int, done: int, head: Any = None) -> None:
        content = {} if saves is None else {"done": done, "kept": self._kept_values(), "head": head}
        if saves is not None and any(stage.knows_commits for stage in self._driver.values()):
            saves.prepare(number, content)
        for stage in self._driver.values():
            stage.committed(number)
        if saves is not None:
            saves.save(number, content)
            saves.trim(done)
            ACTIVITY.note_snapshot(f"{saves.directory.name}/{number}")

    def _kept_values(self) -> dict[str, Any]:
        """The values of kept names that can be pickled."""
        found = {}
        for name in self._kept:
            with contextlib.suppress(ValueError):  # it has no value
                value = self._cells[name].cell_contents
                if is_picklable(value):
                    found[name] = value
        return found

    def _restore(self, content: Mapping[str, Any]) -> None:
        for name, value in content["kept"].items():
            restore_in_place(self._cells[name], value)
        if self._resume == "continue":
            self._restore_head(content["head"])

    def _head_values(self) -> dict[str, Any]:
        names = self._program.loop.head_updates
        return {name: self._cells[name].cell_contents for name in names if self._cells[name] != types.CellType()}

    def _restore_head(self, values: Mapping[str, Any] | None) -> None:
        for name, value in (values or {}).items():
            self._cells[name].cell_contents = value


def restore_in_place(cell: types.CellType, value: Any) -> None:
    """Gives a name its saved value. A container keeps its identity, because other names may refer to it."""
    old: Any = None if cell == types.CellType() else cell.cell_contents
    if type(old) is not type(value):
        cell.cell_contents = value
    elif isinstance(old, list):
        old[:] = value
    elif isinstance(old, dict | set):
        old.clear()
        old.update(value)
    elif hasattr(old, "__dict__") and not isinstance(old, type):
        vars(old).clear()
        vars(old).update(vars(value))
    else:
        cell.cell_contents = value


class _OneByOne:
    """Stages in the driver, called with one element."""

    def __init__(self, stages: Sequence[DriverStage]) -> None:
        self._stages = stages
        self.error: ElementError | None = None

    def __call__(self, element: Any) -> None:
        try:
            for _ in _chained(self._stages, [element]):
                pass
        except ElementError as error:
            self.error = error
            raise


def _chained(stages: Sequence[DriverStage], elements: Any) -> Iterator[Any]:
    """The elements through all stages, one by one: a later stage sees what an earlier one has done so far."""
    for stage in stages:
        elements = stage(elements)
    return iter(elements)


def _through(stages: Sequence[DriverStage], elements: Any) -> list[Any]:
    return list(_chained(stages, elements))


def _resume_of(program: LoopCode) -> str:
    value = program.loop.loop.arguments.get("resume")
    return getattr(value, "value", "reread")

"""The sections that run in the user's process: the head that reads for itself, and stages with state or effects."""

from __future__ import annotations

import contextlib
import contextvars
import queue
import sys
import threading
import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from morisot.annotations.program import LoopCode
from morisot.annotations.replicated import called
from morisot.annotations.syntax.sections import Section
from morisot.worker.report.failure import element_error

_MOST_ELEMENTS = 10_000
_MOST_BYTES = 64_000_000
_CHECK_SECONDS = 0.1
_END: Any = object()


class HeadReader:
    """Runs the head in a thread of its own, ahead of the job by a bounded number of elements and bytes.

    It gives elements, each with the values of the names that the head updates.
    """

    def __init__(self, elements: Iterator[tuple[Any, Any]]) -> None:
        self._elements = elements
        self._queue: queue.Queue[tuple[Any, int, Any]] = queue.Queue(_MOST_ELEMENTS)
        self._bytes = 0
        self._room = threading.Condition()
        self._stopped = False
        self.error: BaseException | None = None
        """What the head raised, after its last element."""
        context = contextvars.copy_context()
        self._thread = threading.Thread(target=context.run, args=(self._read,), name="morisot-head", daemon=True)
        self._thread.start()

    def _read(self) -> None:
        try:
            for element, saved in self._elements:
                size = size_of(element)
                with self._room:
                    self._room.wait_for(lambda: self._stopped or self._bytes < _MOST_BYTES)
                    self._bytes += size
                while not self._stopped:
                    with contextlib.suppress(queue.Full):
                        self._queue.put((element, size, saved), timeout=_CHECK_SECONDS)
                        break
                if self._stopped:
                    return
        except BaseException as error:  # raised again in the user's thread
            self.error = error
        finally:
            self._queue.put((_END, 0, None))

    def batches(self, most: int | None = None) -> Iterator[tuple[list[Any], Any]]:
        """Batches of what has been read, each with the values of the head's names after its last element."""
        while True:
            element, size, saved = self._queue.get()
            if element is _END:
                return
            batch, total = [element], size
            ended = False
            while not (most is not None and len(batch) >= most) and total < _MOST_BYTES:
                try:
                    element, size, now = self._queue.get_nowait()
                except queue.Empty:
                    break
                if element is _END:
                    ended = True
                    break
                batch.append(element)
                total += size
                saved = now
            with self._room:
                self._bytes -= total
                self._room.notify()
            yield batch, saved
            if ended:
                return

    def stop(self) -> None:
        """Lets the thread end when its head gives an element. A head that waits ends with the process."""
        with self._room:
            self._stopped = True
            self._room.notify()
        while self._thread.is_alive():
            with contextlib.suppress(queue.Empty):
                self._queue.get_nowait()
                continue
            self._thread.join(_CHECK_SECONDS)
            break


def size_of(element: Any) -> int:
    """About the bytes of an element."""
    parts: Iterable[Any] = element if isinstance(element, tuple) else (element,)
    return sum(getattr(part, "nbytes", 0) or sys.getsizeof(part, 100) for part in parts)


class DriverStage:
    """A stage that runs in the user's process, in order, on the user's objects."""

    def __init__(
        self, program: LoopCode, section: Section, cells: Mapping[str, types.CellType], arguments: Mapping[str, Any]
    ) -> None:
        self._location = program.location(section)
        self._drops = section.drops
        self._arguments = arguments
        alias = None if section.block is None else section.block.alias
        self._cell = types.CellType(None)
        own = {**cells, alias: self._cell} if alias is not None else cells
        self._function = program.code(section, "driver").bound(own)

    def __call__(self, elements: Iterable[Any]) -> Iterator[Any]:
        """The elements that the stage makes of others."""
        for element in elements:
            try:
                result = self._function(element)
            except Exception as error:
                raise element_error("stage", self._location, element, error, 1) from error
            if not (self._drops and result is None):
                yield result

    def begin(self) -> None:
        if "on_init" in self._arguments:
            self._cell.cell_contents = self._arguments["on_init"]()

    def committed(self, snapshot: int) -> None:
        if "on_snapshot" in self._arguments:
            called(self._arguments["on_snapshot"], snapshot)

    def failed(self, error: BaseException) -> None:
        if "on_error" in self._arguments:
            called(self._arguments["on_error"], error)

    def end(self) -> None:
        if "on_exit" in self._arguments:
            self._arguments["on_exit"]()

    def last_committed(self) -> int | None:
        """The last snapshot that the stage's own store has; None if it does not say."""
        ask = self._arguments.get("last_committed")
        return None if ask is None else ask()

    @property
    def knows_commits(self) -> bool:
        return "last_committed" in self._arguments


@contextlib.contextmanager
def events(stages: Sequence[DriverStage]) -> Iterator[None]:
    """Calls on_init before the block, and on_exit after it; on_error first, if it fails."""
    begun: list[DriverStage] = []
    try:
        for stage in stages:
            begun.append(stage)
            stage.begin()
        yield
    except BaseException as error:
        for stage in begun:
            stage.failed(error)
        raise
    finally:
        for stage in reversed(begun):
            stage.end()

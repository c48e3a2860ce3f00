"""A program over the elements of a test, in micro-batches without Spark."""

from __future__ import annotations

import itertools
import random
import struct
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

import morisot as mo
from morisot.api.location import caller
from morisot.engines.spark.emit.python.fused_stage import dumps
from morisot.plan.nodes.node import Node
from morisot.plan.nodes.sink import CollectChannel
from morisot.plan.nodes.testing import StreamBatches
from morisot.runtime.tally import Tally
from morisot.testing.followed import stored_type
from morisot.testing.outcome import Outcome, answer
from morisot.testing.script import AdvanceTime, Batches, Crash, batches_of, job_starts
from morisot.testing.trial import Program, result_of
from morisot.worker.codec.batches import encode, schema_of
from tests.driver.query import MemoryQuery

REPLAYED, RESTARTED, FOLLOWED = 0.1, 0.15, 0.2
"""How many micro-batches are replayed, come after a restart, and are followed by one without elements."""
_BEGIN = 1_700_000_000_000
"""When the clock begins, in milliseconds."""


class Drive:
    """A job over what a test gives it: micro-batches, and what happens between them.

    `chance` decides what Spark leaves open, and, if `restless`, when the job restarts from its last checkpoint, and
    which micro-batches are replayed or followed by one without elements. If it `ends`, the inputs end as channels do.
    """

    def __init__(
        self,
        program: Program,
        inputs: Sequence[Batches],
        chance: random.Random,
        *,
        restless: bool = True,
        ends: bool = False,
    ) -> None:
        self._program = program
        self._chance = chance
        self._restless = restless
        self._ends = ends
        self._end: int | None = None
        """The micro-batch with the end of the inputs."""
        self._inputs = [batches_of(each) for each in inputs]
        self._types = [stored_type([element for batch in each for element in batch]) for each in self._inputs]
        self._starts = job_starts(inputs)
        self._parallelism = chance.randint(1, 3)
        self._tallies: list[tuple[Node, Tally]] = []
        self._machines: set[str] = set()
        self.clock = _BEGIN
        self.changes: list[Any] = []
        self._start(None)

    def _start(self, saved: bytes | None) -> None:
        """Start a query: the program builds its plan again, as in another process."""
        context = mo.StreamContext(engine="reference")
        location = caller()
        sources = [
            StreamBatches(directory="", type=type_, location=location, operator="testing.run") for type_ in self._types
        ]
        stream = result_of(self._program, [context.plain(each) for each in sources])
        sink = CollectChannel(stream._node, type=stream.type, location=location)
        context.check(sink)
        self._root = stream._node
        self.query = MemoryQuery(sink, sources, saved, self._chance, self._parallelism, self._end)
        self._tallies.append((stream._node, self.query.tally))

    def restart(self) -> None:
        """The job stops, and another one resumes from the bytes that it saved."""
        self._machines |= self.query.machines
        self._start(self.query.saved)

    def run(self) -> Outcome:
        put = 0
        for start in self._starts:
            for number in range(put, start.end):
                self._data(number)
            put = start.end
            self._quiet()
            for event in start.events:
                if isinstance(event, Crash):
                    self._replayed(put)
                elif isinstance(event, AdvanceTime):
                    self.query.advance(event.milliseconds)
                    self.restart()
                    self._process([[] for _ in self._inputs])
                    self._quiet()
        if self._ends:
            self.end()
        return self.outcome()

    def end(self) -> None:
        """The inputs end: a micro-batch without elements, which may be replayed, and then nothing more comes."""
        self._end = self.query.next_batch
        self.restart()
        self._process([[] for _ in self._inputs])
        found = len(self.changes)
        self._process([[] for _ in self._inputs])
        assert len(self.changes) == found, "what the end has given is repeated"

    @property
    def machines(self) -> set[str]:
        """The classes of the machines that ran."""
        return self._machines | self.query.machines

    @property
    def kinds(self) -> set[str]:
        """The kinds of physical operators that the job has on Spark."""
        return self.query.kinds

    def outcome(self) -> Outcome:
        """What has come out so far, and what was left out."""
        return Outcome(self.changes, answer(self._root, self.changes), dict(self._left_out()))

    def _left_out(self) -> Any:
        counts: dict[str, dict[str, int]] = {"skipped": {}, "diverted": {}, "late": {}}
        for _, tally in self._tallies:
            for kind, of_kind in tally.metrics().items():
                for title, count in of_kind.items():  # type: ignore[attr-defined]
                    counts[kind][title] = counts[kind].get(title, 0) + count
        return counts

    def _data(self, number: int) -> None:
        self._process(self._batch(number))
        if self._restless and self._chance.random() < FOLLOWED:
            self._process([[] for _ in self._inputs])

    def _batch(self, number: int) -> list[Sequence[Any]]:
        return [each[number] if number < len(each) else [] for each in self._inputs]

    def _replayed(self, number: int) -> None:
        """The job dies while it delivers a micro-batch, which the next one delivers."""
        self.query.process(self._files(self._batch(number)), self.clock, dies=True)
        self.restart()

    def _process(self, elements: Sequence[Sequence[Any]]) -> None:
        """Process a micro-batch, perhaps after a start that failed in the middle of it."""
        files = self._files(elements)
        if self._restless and self._chance.random() < REPLAYED:
            self.query.process(files, self.clock, dies=True)
            self.restart()
        elif self._restless and self._chance.random() < RESTARTED:
            self.restart()
        self.changes += self.query.process(files, self.clock)
        self.clock += 1

    def _quiet(self) -> None:
        """Micro-batches without elements, as long as the watermark advances."""
        before = -1
        while self.query.watermark != before:
            before = self.query.watermark
            self._process([[] for _ in self._inputs])

    def wait(self, milliseconds: int) -> None:
        """The clock advances, and timers of processing time fire."""
        self.clock += milliseconds
        self._process([[] for _ in self._inputs])

    def put(self, *elements: Sequence[Any]) -> None:
        """Process a micro-batch with these elements of each input."""
        self._process(elements)

    def _files(self, elements: Sequence[Sequence[Any]]) -> list[list[pa.RecordBatch]]:
        """The elements of each input in files; the row order of a file is its number."""
        found: list[list[pa.RecordBatch]] = []
        for type_, given, has_row_order in zip(self._types, elements, self._has_row_order(), strict=True):
            cuts = sorted({0, len(given), *(self._chance.randint(0, len(given)) for _ in range(2))})
            files = []
            for number, (begin, end) in enumerate(itertools.pairwise(cuts)):
                columns = encode(list(given[begin:end]), type_, dumps)
                row_order = (
                    [pa.array([struct.pack(">q", number)] * (end - begin), pa.binary())] if has_row_order else []
                )
                names = [*schema_of(type_).names, *(["at"] if has_row_order else [])]
                files.append(pa.RecordBatch.from_arrays([*columns, *row_order], names=names))
            found.append(files)
        return found

    def _has_row_order(self) -> list[bool]:
        return self.query.has_row_order


def drive(
    program: Program,
    inputs: Sequence[Batches],
    chance: random.Random,
    *,
    restless: bool = True,
    ends: bool = False,
) -> Outcome:
    """What a program makes of micro-batches, each with the next batch of every input."""
    return Drive(program, inputs, chance, restless=restless, ends=ends).run()

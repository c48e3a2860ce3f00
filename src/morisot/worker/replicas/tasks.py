"""Tasks that pass elements to the replicas of a user's operator."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from morisot.errors import ElementError
from morisot.types.element import ANY, Type
from morisot.types.replicas import Message, Sender, having_store, outputs_of
from morisot.worker.codec.batches import Dumps
from morisot.worker.codec.fits import checker
from morisot.worker.codec.stored import Layout
from morisot.worker.replicas.replica import LiveReplica, Placed, replica_of
from morisot.worker.report.left_out import Account, Notes, failed
from morisot.worker.report.origin import Origin
from morisot.worker.rowwise.stage import decode_columns, encode_batch, with_column
from morisot.worker.stateful.machine import Emitter

NO_MICRO_BATCH = -1
_OWN_FILES = frozenset({__file__, outputs_of.__code__.co_filename, replica_of.__code__.co_filename})


class TaskNow(NamedTuple):
    """The task that runs."""

    micro_batch: int
    """The number of its micro-batch, or NO_MICRO_BATCH."""
    is_repeated: bool
    """Whether an earlier attempt of the task may have processed its elements."""


class NoElement:
    """Shown as the element if `on_init` failed."""

    def __repr__(self) -> str:
        return "(none: on_init failed)"


@dataclass(frozen=True)
class Calls:
    """Calls a user's operator with numbered elements."""

    placed: Placed
    origin: Origin
    output: Type
    """The type of the user's outputs."""
    copies: int
    """How often each element was sent: copies have different numbers."""
    sender: str
    """The operator before."""
    has_ids: bool
    """Whether elements have the ids and replicas of their senders."""
    task: Callable[[], TaskNow]
    replayed: int = NO_MICRO_BATCH
    """The last micro-batch that an earlier attempt of the job has begun."""

    def over(
        self, replica: LiveReplica, pairs: Sequence[tuple[int, Any]], notes: Notes | None
    ) -> Iterator[tuple[int, list[Any]]]:
        """The index and the outputs of each element that is not skipped, as (id, replica, output)."""
        task = self.task()
        snapshot = None if task.micro_batch == NO_MICRO_BATCH else task.micro_batch
        replayed = task.is_repeated or NO_MICRO_BATCH < task.micro_batch <= self.replayed
        check = None if self.output == ANY or notes is None else checker(self.output, notes.dumps, 0)
        for index, (number, given) in enumerate(pairs):
            id_, before, element = given if self.has_ids else (number // self.copies, 0, given)
            message = Message(id_, snapshot, replayed, replica.instance, Sender(self.sender, before))
            try:
                outputs = replica.process(element, message)
                if check is not None:
                    outputs = [*map(check, outputs)]
            except Exception as error:
                self._leave_out(replica, element, error, notes)
                continue
            yield index, [(id_, message.instance, output) for output in outputs]

    def _leave_out(self, replica: LiveReplica, element: Any, error: Exception, notes: Notes | None) -> None:
        policy, skip = self.origin.policy, _own_frames(error)
        if policy is not None and notes is not None:
            try:
                notes.add(policy, element, error, skip)
            except ElementError:  # it is not one of the elements to skip
                replica.fail(error)
                raise
            return
        replica.fail(error)
        theirs = failed(self.origin.operator, self.origin.location, element, error, skip)
        raise theirs from theirs.__cause__

    def replica(self, instance: int | None) -> LiveReplica:
        """The replica of this process. An error of `on_init` names the operator."""
        try:
            return replica_of(self.placed, instance)
        except Exception as error:
            raise self.origin.failed(NoElement(), error) from error


def _own_frames(error: BaseException) -> int:
    """The number of frames of the traceback before the first one of the user."""
    trace, count = error.__traceback__, 0
    while trace is not None and trace.tb_frame.f_code.co_filename in _OWN_FILES:
        trace, count = trace.tb_next, count + 1
    return count


@dataclass(frozen=True)
class RunOnDemand:
    """Given to mapInArrow: the elements of a block, by the replica of the process. Hidden columns are passed on."""

    calls: Calls
    input: Type
    output: Type
    dumps: Dumps
    hidden: int
    """The number of hidden columns."""
    has_row_order: bool
    """Whether the last of them is the row order of an unbounded stream."""
    account: Account | None
    numbers: str | None
    """The name of a column for the numbers of the elements; None: it is not needed."""

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        notes = Notes(self.dumps)
        replica: LiveReplica | None = None
        try:
            for batch in batches:
                if batch.num_rows:
                    replica = replica or self.calls.replica(None)
                    yield self._processed(batch, replica, notes)
        finally:
            if replica is not None:
                replica.end_task(leased=True)
        policy = self.calls.origin.policy
        if self.account is not None and policy is not None:
            self.account.settle([policy], notes)

    def _processed(self, batch: Any, replica: LiveReplica, notes: Notes) -> Any:
        pairs = decode_columns(batch, self.input)
        outputs: list[Any] = []
        origins: list[int] = []
        nths: list[int] = []
        for index, found in self.calls.over(replica, pairs, notes):
            outputs += found
            origins += [index] * len(found)
            nths += range(len(found))
        origin = self.calls.origin
        result = encode_batch(outputs, self.output, self.dumps, origin.operator, origin.location)
        if self.hidden:
            result = self._with_hidden(result, batch, origins, nths)
        if self.numbers is not None:
            result = with_column(result, self.numbers, [pairs[index][0] for index in origins])
        return result

    def _with_hidden(self, result: Any, batch: Any, origins: list[int], nths: list[int]) -> Any:
        """The results with the hidden columns of their elements. The row order has the number of the result."""
        hidden = batch.select(batch.schema.names[-self.hidden :]).take(pa.array(origins, pa.int64()))
        columns = list(hidden.columns)
        if self.has_row_order:
            suffix = pa.array([struct.pack(">q", nth) for nth in nths], pa.binary())
            columns[-1] = pc.binary_join_element_wise(columns[-1], suffix, pa.scalar(b"", pa.binary()))
        names = [*result.schema.names, *hidden.schema.names]
        return pa.RecordBatch.from_arrays([*result.columns, *columns], names=names)


@dataclass(frozen=True)
class ReplicaMachine:
    """A replica as a machine: the key is its number, and the state is its key store."""

    calls: Calls
    stored: bool
    layout = Layout("key store", 1)

    def start(self) -> Any:
        return {}

    def take(self, state: Any, key: Any, values: Sequence[Any], times: Sequence[int] | None, emit: Emitter) -> Any:
        replica = self.calls.replica(key)
        try:
            with having_store(replica.operator, state if self.stored else None):
                for index, outputs in self.calls.over(replica, values, emit.notes):
                    time = times[index] if times else None
                    for output in outputs:
                        emit(index, output, time)
        finally:
            replica.end_task(leased=False)
        return state

    def end(self, state: Any, key: Any, emit: Emitter) -> None:
        """The key store is not a result."""


@dataclass(frozen=True)
class NumberMachine:
    """Numbers the elements of a stream. The state is the number of elements so far."""

    keyed: bool
    """Whether the elements are pairs of a key and a value, which is numbered."""
    layout = Layout("count", 1)

    def start(self) -> Any:
        return 0

    def take(self, state: Any, key: Any, values: Sequence[Any], times: Sequence[int] | None, emit: Emitter) -> Any:
        numbers = range(state, state + len(values))
        if self.keyed:
            numbered = [(each, (number, value)) for number, (each, value) in zip(numbers, values, strict=True)]
        else:
            numbered = list(zip(numbers, values, strict=True))
        emit.each(numbered, times)
        return numbers.stop

    def end(self, state: Any, key: Any, emit: Emitter) -> None:
        """The count is not a result."""

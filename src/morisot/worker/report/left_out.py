"""What operators left out by `on_error` or gave inside a pass: counted once, however often a task runs.

A task reports at its end, under an id of run, operator, micro-batch and partition. If the partition is computed again,
after a lost machine, for a sample, by a speculative copy, the new report replaces the old one.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import pyarrow as pa

from morisot.errors import ElementError, Location
from morisot.types.element import ANY, Type
from morisot.worker.codec.batches import Dumps, decode, encode, schema_of
from morisot.worker.codec.fits import UnfitValue
from morisot.worker.codec.ipc import pack_batch, unpack_batch
from morisot.worker.report import failure
from morisot.worker.report.failure import Report

if TYPE_CHECKING:
    from typing import Self


class ReportId(NamedTuple):
    """The part of a run that a report is about."""

    run: str
    operator: int
    micro_batch: int
    partition: int


@dataclass
class LeftOut:
    """The elements that one operator left out: how many, and the first failure, or all for a handler."""

    count: int = 0
    failures: list[Report] = field(default_factory=list)
    given: int = 0
    """How many elements the operator gave, where the pass that runs it counts them."""

    def keep(self, element: Any, found: ElementError, dumps: Dumps, *, keep_all: bool, type_: Type = ANY) -> None:
        """Keep why an element was left out, and the element if every one is wanted; else one is an example of all."""
        if not keep_all and self.failures:
            return
        report = failure.report_of(found)
        value = encoded(element, type_, dumps) if keep_all else None
        if value is not None:
            report["value"] = value
        self.failures.append(report)

    def __iadd__(self, more: LeftOut) -> Self:
        self.count += more.count
        self.failures += more.failures
        self.given += more.given
        return self


Reports = dict[ReportId, LeftOut]


@dataclass(frozen=True)
class Policy:
    """What an operator does with an element on which its function fails, other than stopping the job."""

    operator: str
    location: Location | None
    number: int
    """The operator's number in the run."""
    keep_all: bool
    """Whether every failure is wanted, with its element, or one as an example."""
    type: Type = ANY
    """The type of the operator's elements."""


class Notes:
    """What one task has left out and counted so far."""

    def __init__(self, dumps: Dumps) -> None:
        self.dumps = dumps
        self.by_operator: dict[int, LeftOut] = {}
        self.given: dict[int, int] = {}
        """How many elements operators gave, by their numbers, where the task counts them."""

    def add(self, policy: Policy, element: Any, error: BaseException | None, skip: int = 1) -> None:
        assert error is not None
        noted = self.count(policy, 1)
        if policy.keep_all or not noted.failures:
            self.keep(policy, element, failed(policy.operator, policy.location, element, error, skip))

    def count(self, policy: Policy, number: int) -> LeftOut:
        """Count elements that an operator left out."""
        noted = self.by_operator.setdefault(policy.number, LeftOut())
        noted.count += number
        return noted

    def add_all(self, policy: Policy, more: LeftOut) -> None:
        """Note what was left out elsewhere, and came here with a result."""
        noted = self.count(policy, more.count)
        noted.failures += more.failures if policy.keep_all or not noted.failures else []

    def keep(self, policy: Policy, element: Any, found: ElementError) -> None:
        """Keep why an element was left out that is counted."""
        noted = self.by_operator[policy.number]
        noted.keep(element, found, self.dumps, keep_all=policy.keep_all, type_=policy.type)


def failed(operator: str, location: Location | None, element: Any, error: BaseException, skip: int) -> ElementError:
    """What the user gets for a function that raised, or whose value does not fit its type."""
    if isinstance(error, UnfitValue) and isinstance(error.__cause__, Exception):
        return failure.misfit_error(operator, location, element, error.__cause__)
    return failure.element_error(operator, location, element, error, skip)


def encoded(element: Any, type_: Type, dumps: Dumps) -> tuple[bool, bytes] | None:
    """An element by the codec of its type, or of any if it is of another; None if it cannot travel."""
    for each in (type_, ANY):
        with contextlib.suppress(Exception):
            arrays = encode([element], each, dumps)
            return each != ANY, pack_batch(pa.RecordBatch.from_arrays(arrays, schema=schema_of(each)))
    return None


def decoded(value: tuple[bool, bytes], type_: Type) -> Any:
    """The element again; None if it is of a class that this process has not."""
    is_typed, packed = value
    with contextlib.suppress(Exception):
        return decode(unpack_batch(packed).columns, type_ if is_typed else ANY)[0]
    return None


class ReportCollector(Protocol):
    """Carries reports to the driver: an accumulator of Spark's."""

    def add(self, term: Reports) -> None: ...


@dataclass(frozen=True)
class Account:
    """How the tasks of one run report."""

    run: str
    ledger: ReportCollector
    task: Callable[[], tuple[int, int]]
    """The micro-batch and the partition that this task works on."""

    def settle(self, policies: Iterable[Policy], notes: Notes) -> None:
        """Report at the end of a task, also that nothing was left out: it replaces what an earlier run said."""
        reports = {policy.number: notes.by_operator.get(policy.number, LeftOut()) for policy in policies}
        for number, given in notes.given.items():
            reports.setdefault(number, LeftOut()).given = given
        self.report(reports)

    def report(self, reports: Mapping[int, LeftOut]) -> None:
        """Report for each operator, by its number."""
        micro_batch, partition = self.task()
        self.ledger.add({ReportId(self.run, number, micro_batch, partition): each for number, each in reports.items()})


class LatestReports:
    """How Spark's accumulator adds reports up: the last one with an id counts."""

    _guard = threading.Lock()
    """The driver reads while Spark's thread adds."""

    def zero(self, value: Reports) -> Reports:
        return {}

    def addInPlace(self, held: Reports, more: Reports) -> Reports:  # noqa: N802 - the name Spark calls
        with self._guard:
            held.update(more)
        return held

    def take(self, held: Reports, run: str, up_to: int | None = None) -> Reports:
        """Remove and give the reports of a run, of all its micro-batches or those up to one."""
        with self._guard:
            found = [each for each in held if each.run == run and (up_to is None or each.micro_batch <= up_to)]
            return {each: held.pop(each) for each in found}


def totals(reports: Mapping[ReportId, LeftOut]) -> dict[int, LeftOut]:
    """What each operator left out in all, the failures in the order of the stream."""
    result: dict[int, LeftOut] = {}
    for each in sorted(reports):
        total = result.setdefault(each.operator, LeftOut())
        total += reports[each]
    return result

"""Reports of tasks: elements that `on_error` skipped, and elements that a pass emitted, counted once for each task.

A task reports at its end, with an id of run, operator, micro-batch and partition. If the partition is computed again,
after the loss of an executor, for a sample, or by a speculative copy, the new report replaces the old one.
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
    """Identifies the operator, micro-batch and partition of a run that a report is about."""

    run: str
    operator: int
    micro_batch: int
    partition: int


@dataclass
class LeftOut:
    """The elements that one operator skipped: their number, and the first failure, or all failures for a handler."""

    count: int = 0
    failures: list[Report] = field(default_factory=list)
    given: int = 0
    """The number of elements that the operator emitted, if its pass counts them."""

    def keep(self, element: Any, found: ElementError, dumps: Dumps, *, keep_all: bool, type_: Type = ANY) -> None:
        """Stores the failure of a skipped element: all of them with their elements, or one as an example."""
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
    """The treatment of elements on which an operator's function fails, if they do not stop the job."""

    operator: str
    location: Location | None
    number: int
    """The operator's number in the run."""
    keep_all: bool
    """Whether all failures are stored, with their elements, or one as an example."""
    type: Type = ANY
    """The type of the operator's elements."""
    only: frozenset[str] | None = None
    """The texts of the elements that are skipped; others stop the job. None: every element is skipped."""


class Notes:
    """The elements that one task has skipped and counted so far."""

    def __init__(self, dumps: Dumps) -> None:
        self.dumps = dumps
        self.by_operator: dict[int, LeftOut] = {}
        self.refused: ElementError | None = None
        """The failure of an element that is not one of those to skip."""
        self.given: dict[int, int] = {}
        """The numbers of elements that operators emitted, by the number of the operator, if the task counts them."""

    def add(self, policy: Policy, element: Any, error: BaseException | None, skip: int = 1) -> None:
        assert error is not None
        if policy.only is not None and failure.shown(element) not in policy.only:
            self.refused = failed(policy.operator, policy.location, element, error, skip)
            raise self.refused from self.refused.__cause__
        noted = self.count(policy, 1)
        if policy.keep_all or not noted.failures:
            self.keep(policy, element, failed(policy.operator, policy.location, element, error, skip))

    def count(self, policy: Policy, number: int) -> LeftOut:
        """Counts elements that an operator skipped."""
        noted = self.by_operator.setdefault(policy.number, LeftOut())
        noted.count += number
        return noted

    def add_all(self, policy: Policy, more: LeftOut) -> None:
        """Adds skipped elements that arrived together with a result."""
        noted = self.count(policy, more.count)
        noted.failures += more.failures if policy.keep_all or not noted.failures else []

    def keep(self, policy: Policy, element: Any, found: ElementError) -> None:
        """Stores the failure of a skipped element that is counted already."""
        noted = self.by_operator[policy.number]
        noted.keep(element, found, self.dumps, keep_all=policy.keep_all, type_=policy.type)


def failed(operator: str, location: Location | None, element: Any, error: BaseException, skip: int) -> ElementError:
    """The error for a function that raised, or whose result does not fit its type."""
    if isinstance(error, UnfitValue) and isinstance(error.__cause__, Exception):
        return failure.misfit_error(operator, location, element, error.__cause__)
    return failure.element_error(operator, location, element, error, skip)


def encoded(element: Any, type_: Type, dumps: Dumps) -> tuple[bool, bytes] | None:
    """An element, encoded by its type, or pickled if it is of another type; None if it cannot be pickled."""
    for each in (type_, ANY):
        with contextlib.suppress(Exception):
            arrays = encode([element], each, dumps)
            return each != ANY, pack_batch(pa.RecordBatch.from_arrays(arrays, schema=schema_of(each)))
    return None


def decoded(value: tuple[bool, bytes], type_: Type) -> Any:
    """The decoded element; None if this process does not have its class."""
    is_typed, packed = value
    with contextlib.suppress(Exception):
        return decode(unpack_batch(packed).columns, type_ if is_typed else ANY)[0]
    return None


class ReportCollector(Protocol):
    """Sends reports to the driver: a Spark accumulator."""

    def add(self, term: Reports) -> None: ...


@dataclass(frozen=True)
class Account:
    """Sends the reports of the tasks of one run."""

    run: str
    ledger: ReportCollector
    task: Callable[[], tuple[int, int]]
    """Returns the micro-batch and the partition of this task."""

    def settle(self, policies: Iterable[Policy], notes: Notes) -> None:
        """Reports at the end of a task, even if no element was skipped, to replace the report of an earlier attempt."""
        reports = {policy.number: notes.by_operator.get(policy.number, LeftOut()) for policy in policies}
        for number, given in notes.given.items():
            reports.setdefault(number, LeftOut()).given = given
        self.report(reports)

    def report(self, reports: Mapping[int, LeftOut]) -> None:
        """Reports for each operator, by its number."""
        micro_batch, partition = self.task()
        self.ledger.add({ReportId(self.run, number, micro_batch, partition): each for number, each in reports.items()})


class LatestReports:
    """Merges reports in Spark's accumulator. Of several reports with one id, the last counts."""

    _guard = threading.Lock()
    """Needed because the driver reads while a Spark thread adds."""

    def zero(self, value: Reports) -> Reports:
        return {}

    def addInPlace(self, held: Reports, more: Reports) -> Reports:  # noqa: N802 - the name Spark calls
        with self._guard:
            held.update(more)
        return held

    def take(self, held: Reports, run: str, up_to: int | None = None) -> Reports:
        """Removes and returns the reports of a run, of all its micro-batches or of those up to `up_to`."""
        with self._guard:
            found = [each for each in held if each.run == run and (up_to is None or each.micro_batch <= up_to)]
            return {each: held.pop(each) for each in found}


def totals(reports: Mapping[ReportId, LeftOut]) -> dict[int, LeftOut]:
    """The skipped elements of each operator, with failures in stream order."""
    result: dict[int, LeftOut] = {}
    for each in sorted(reports):
        total = result.setdefault(each.operator, LeftOut())
        total += reports[each]
    return result

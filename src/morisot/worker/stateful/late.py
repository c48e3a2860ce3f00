"""Late elements: they change no result, and are counted."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from morisot.errors import ElementError
from morisot.worker.codec.batches import Dumps
from morisot.worker.codec.ipc import unpack_batch
from morisot.worker.report.failure import shown
from morisot.worker.report.left_out import Account, Notes, Policy
from morisot.worker.stateful.timers import LateElements


@dataclass(frozen=True)
class UnpackTimerBuckets:
    """Given to mapInArrow: unpacks the results of buckets to rows, and reports late elements."""

    policy: Policy | None
    account: Account | None
    dumps: Dumps

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        notes = Notes(self.dumps)
        for batch in batches:
            for packed, late in zip(batch.column(0).to_pylist(), batch.column(1).to_pylist(), strict=True):
                if late is not None and self.policy is not None:
                    note(notes, self.policy, pickle.loads(late))
                if packed is not None:
                    yield unpack_batch(packed)
        if self.account is not None and self.policy is not None:
            self.account.settle([self.policy], notes)


def note(notes: Notes, policy: Policy, late: LateElements) -> None:
    """Counts late elements, and records the reason for those that are reported."""
    notes.count(policy, late.number)
    for element, time in late.elements:
        said = f"its timestamp, {time}, is not after the watermark, {late.watermark}"
        notes.keep(policy, element, ElementError(policy.operator, policy.location, shown(element), said, value=element))

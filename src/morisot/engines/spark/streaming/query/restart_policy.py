"""Decides whether a failed query is restarted."""

from __future__ import annotations

import time
from collections.abc import Callable

from morisot.engines.spark.failures import is_lost_worker, users_error
from morisot.engines.spark.streaming.query.spec import QuerySpec
from morisot.engines.spark.streaming.query.starter import QueryAttempt
from morisot.errors import JobError, MorisotError, SnapshotError
from morisot.plan.analysis.graph import walk
from morisot.runtime.retries import JobFailure, Retries, retry_message
from morisot.runtime.tally import say

_MOST_TRIES = 5
"""The number of retries of a micro-batch after a Python worker died."""
_LOOK_SECONDS = 0.05


class RestartPolicy:
    """Decides about a failure of a query: a restart, or the end of the job.

    It is restarted after a demotion, after a lost worker, and as often as `max_retries` allows.
    """

    def __init__(self, spec: QuerySpec) -> None:
        self._spec = spec
        self._tries = 0
        self._batches_at_last_try = -1
        self._retries = Retries(spec.runner.max_retries)

    def check(
        self, attempt: QueryAttempt, failure: BaseException, batches: int, stop_requested: Callable[[], bool]
    ) -> None:
        """Returns if a restart may help, after `batches` committed micro-batches; else raises the error for the user.

        Operators whose native form failed are demoted. A wait before a retry ends when a stop is requested.
        """
        try:
            if isinstance(failure, MorisotError):  # from the driver: a function of a for_each, a sink
                raise failure
            if not self._may_try_again(attempt, failure, batches):
                self._demote_or_raise(attempt, failure)
        except MorisotError as error:
            number = None if stop_requested() else self._retries.after(JobFailure.of(error), batches)
            if number is None:
                raise
            say([retry_message(self._spec.name, error, number, self._retries)])
            deadline = time.monotonic() + self._retries.delay
            while time.monotonic() < deadline and not stop_requested():
                time.sleep(_LOOK_SECONDS)

    def _may_try_again(self, attempt: QueryAttempt, failure: BaseException, batches: int) -> bool:
        """Whether a Python worker died, and not too often in the same micro-batch."""
        if not is_lost_worker(failure) or users_error(failure, attempt.emission.seals) is not None:
            return False
        self._tries = self._tries + 1 if batches == self._batches_at_last_try else 1
        self._batches_at_last_try = batches
        return self._tries <= _MOST_TRIES

    def _demote_or_raise(self, attempt: QueryAttempt, failure: BaseException) -> None:
        spec = self._spec
        spec.checkpoint.refuse_unreadable(failure)
        try:
            spec.runner.demote_or_raise(attempt.emission, failure, walk(*spec.group.sinks))
        except SnapshotError as error:
            said = f"the states in {spec.checkpoint.location} cannot be used: {error.what}"
            raise SnapshotError(said, advice=error.advice) from None
        except JobError as error:
            if failure is not attempt.delivery.failure:
                raise
            raise JobError(f"{error}\n  while {attempt.delivery.failed} was written") from None

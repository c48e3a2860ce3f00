"""Decides whether a failed query is restarted."""

from __future__ import annotations

from morisot.engines.spark.failures import is_lost_worker, users_error
from morisot.engines.spark.streaming.query.spec import QuerySpec
from morisot.engines.spark.streaming.query.starter import Attempt
from morisot.errors import JobError, SnapshotError
from morisot.plan.analysis.graph import walk

_MOST_TRIES = 5
"""The number of retries of a micro-batch after a Python worker died."""


class RestartPolicy:
    """Decides about a failure of a query: a restart after a demotion or a lost worker, or the end of the job."""

    def __init__(self, spec: QuerySpec) -> None:
        self._spec = spec
        self._tries = 0
        self._batches_at_last_try = -1

    def check(self, attempt: Attempt, failure: BaseException, batches: int) -> None:
        """Returns if a restart may help, after `batches` committed micro-batches; else raises the error for the user.

        Operators whose native form failed are demoted.
        """
        if not self._may_try_again(attempt, failure, batches):
            self._demote_or_raise(attempt, failure)

    def _may_try_again(self, attempt: Attempt, failure: BaseException, batches: int) -> bool:
        """Whether a Python worker died, and not too often in the same micro-batch."""
        if not is_lost_worker(failure) or users_error(failure, attempt.emission.seals) is not None:
            return False
        self._tries = self._tries + 1 if batches == self._batches_at_last_try else 1
        self._batches_at_last_try = batches
        return self._tries <= _MOST_TRIES

    def _demote_or_raise(self, attempt: Attempt, failure: BaseException) -> None:
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

"""Decides after a failure whether a job runs again: in the same session, or in a new process of a supervisor."""

from __future__ import annotations

from dataclasses import dataclass, field

from morisot.errors import ConfigError, ElementError, EnvironmentProblem, PlanError

FINAL = (PlanError, ConfigError, EnvironmentProblem, ImportError, SyntaxError)
"""Errors that another attempt would raise again. SnapshotError is a ConfigError."""
LONGEST_DELAY = 60.0
FIRST_DELAY = 0.5
"""Seconds before the first retry in the same session."""


@dataclass(frozen=True)
class JobFailure:
    """What the decision about a failure depends on."""

    said: str
    final: bool = False
    element: tuple[str, ...] | None = None
    """The operator, the line and the element on which a user's function failed."""

    @classmethod
    def of(cls, error: BaseException) -> JobFailure:
        """The failure that an exception describes.

        >>> JobFailure.of(ConfigError("parallelism is 0")).final
        True
        """
        lines = str(error).splitlines() or [""]
        said = f"{type(error).__name__}: {lines[0]}" if lines[0] else type(error).__name__
        element = None
        if isinstance(error, ElementError):
            element = (error.operator, str(error.location), error.element)
        return cls(said, isinstance(error, FINAL), element)


@dataclass
class Retries:
    """Counts the retries since the last new snapshot. The delay before a retry doubles up to a minute.

    >>> retries = Retries(2)
    >>> [retries.after(JobFailure("the disk is full"), snapshot) for snapshot in (None, None, None)]
    [1, 2, None]
    >>> retries.after(JobFailure("the disk is full"), 1)
    1
    """

    most: int
    first_delay: float = FIRST_DELAY
    count: int = 0
    """The number of retries since the last new snapshot."""
    _snapshot: object = None
    _elements: set[tuple[str, ...]] = field(default_factory=set)
    """The elements on which functions failed since then."""

    def after(self, failure: JobFailure, snapshot: object) -> int | None:
        """The number of the retry that should follow; None if the failure is final, or there were too many.

        `snapshot` identifies the last snapshot. A function that fails twice on the same element, without a new snapshot
        in between, would fail again.
        """
        if snapshot != self._snapshot:
            self._snapshot, self.count = snapshot, 0
            self._elements.clear()
        if failure.final or failure.element in self._elements or self.count >= self.most:
            return None
        if failure.element is not None:
            self._elements.add(failure.element)
        self.count += 1
        return self.count

    def has_failed_on(self, failure: JobFailure) -> bool:
        """Whether a function has failed on the same element since the last new snapshot."""
        return failure.element in self._elements

    @property
    def delay(self) -> float:
        """The seconds to wait before the current retry.

        >>> [Retries(9, 1.0, count).delay for count in (1, 2, 3, 9)]
        [1.0, 2.0, 4.0, 60.0]
        """
        return float(min(LONGEST_DELAY, self.first_delay * 2 ** max(0, self.count - 1)))


def retry_message(what: str, failure: BaseException, number: int, retries: Retries) -> str:
    """The line of the report about a retry."""
    said = JobFailure.of(failure).said
    return f"{what} failed ({said}): retry {number} of {retries.most} in {retries.delay:g} s"

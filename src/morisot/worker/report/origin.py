"""The operator that a task runs, and its treatment of elements on which its functions fail."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from morisot.errors import ElementError, Location
from morisot.worker.report import failure
from morisot.worker.report.left_out import Notes, Policy


class OwnFailure(Exception):  # noqa: N818 - the operator catches it and raises an error with its name
    """A function failed on an element. Its exception is the `__cause__`."""


@dataclass(frozen=True)
class OnElement:
    """A function whose failures are distinguished from those of the aggregate that calls it."""

    function: Callable[..., Any]

    def __call__(self, *arguments: Any) -> Any:
        try:
            return self.function(*arguments)
        except Exception as error:
            raise OwnFailure from error


@dataclass(frozen=True)
class Origin:
    """The operator, for errors."""

    operator: str
    location: Location | None
    policy: Policy | None = None
    """The treatment of elements on which a function fails; None: the job stops."""

    def failed(self, element: Any, error: BaseException) -> ElementError:
        """The failure of a user's function on an element. The first frame of its traceback is the caller's."""
        return failure.element_error(self.operator, self.location, element, error, 1)

    def leave_out(self, element: Any, error: BaseException, notes: Notes | None) -> None:
        """Records a skipped element if the operator skips failing elements. Otherwise raises the failure."""
        if self.policy is None or notes is None:
            raise self.failed(element, error) from error
        notes.add(self.policy, element, error)

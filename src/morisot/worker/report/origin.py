"""The operator that a task works for, and what becomes of elements on which its functions fail."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from morisot.errors import ElementError, Location
from morisot.worker.report import failure
from morisot.worker.report.left_out import Notes, Policy


class OwnFailure(Exception):  # noqa: N818 - it is caught and named by whoever knows the operator
    """A function failed on an element: the `__cause__` is what it raised."""


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
    """What it does with elements on which a function fails; None: the job stops."""

    def failed(self, element: Any, error: BaseException) -> ElementError:
        """The failure of a user's function on an element; the caller is the first frame of its traceback."""
        return failure.element_error(self.operator, self.location, element, error, 1)

    def leave_out(self, element: Any, error: BaseException, notes: Notes | None) -> None:
        """Note that an element is left out, if that is what the operator does; raise its failure otherwise."""
        if self.policy is None or notes is None:
            raise self.failed(element, error) from error
        notes.add(self.policy, element, error)

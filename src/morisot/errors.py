"""The errors of Morisot. Each message has what failed, where (file:line), why, and what to do."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from morisot.tracebacks import rendered


@dataclass(frozen=True)
class Location:
    """A line of the user's program."""

    file: str
    line: int

    def __str__(self) -> str:
        path = Path(self.file)
        try:
            shown = path.relative_to(Path.cwd())
        except ValueError:
            shown = path
        return f"{shown}:{self.line}"


class MorisotError(Exception):
    """The base class of all errors that Morisot raises on purpose."""

    def _render_traceback_(self) -> list[str]:
        """The lines that IPython prints."""
        return rendered(self)


class ConfigError(MorisotError):
    """A setting is unknown or has an invalid value."""


class SnapshotError(ConfigError):
    """A snapshot directory cannot be used: another program uses it, or a file in it is damaged, missing or foreign."""

    def __init__(self, what: str, *, advice: str = "") -> None:
        remedy = f"\n  What to do: {advice}" if advice else ""
        super().__init__(f"{what}{remedy}")
        self.what = what
        self.advice = advice


class EnvironmentProblem(MorisotError):  # noqa: N818 - the name describes the machine, not the program
    """The machine lacks something that Morisot needs, such as Java."""


class PlanError(MorisotError):
    """A program that cannot run, refused when the plan is built."""

    def __init__(self, what: str, *, location: Location | None = None, advice: str = "") -> None:
        super().__init__(self._text(what, location, advice))
        self._what = what
        self.location = location
        self.advice = advice

    @staticmethod
    def _text(what: str, location: Location | None, advice: str) -> str:
        where = f" ({location})" if location else ""
        remedy = f"\n  What to do: {advice}" if advice else ""
        return f"{what}{where}{remedy}"

    def locate(self, location: Location) -> None:
        """Adds the line of the user's program, if the error has none."""
        if self.location is None:
            self.location = location
            self.args = (self._text(self._what, location, self.advice),)


class SourceError(MorisotError):
    """An input does not exist, cannot be read, or has a row that does not fit its type."""


class SinkError(MorisotError):
    """An output cannot be written."""


class JobError(MorisotError):
    """The engine stopped a job for a reason other than a failure of a user's function."""


class ElementError(MorisotError):
    """A user's function failed on an element.

    Carries the operator, its file:line, the element as text, and the original exception with its traceback as text; the
    exception itself is the `__cause__`. A handler given as `on_error` finds the element itself in `value`, unless it
    cannot be pickled.
    """

    def __init__(
        self,
        operator: str,
        location: Location | None,
        element: str,
        original: str,
        *,
        original_traceback: str = "",
        cause: BaseException | None = None,
        value: Any = None,
    ) -> None:
        where = f" at {location}" if location else ""
        super().__init__(f"{operator}{where} failed on the element {element}: {original}")
        self.operator = operator
        self.location = location
        self.element = element
        self.original = original
        self.original_traceback = original_traceback
        self.value = value
        self.__cause__ = cause
        if original_traceback:
            self.add_note(f"The original traceback:\n{original_traceback.rstrip()}")

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild_element_error, (
            self.operator,
            self.location,
            self.element,
            self.original,
            self.original_traceback,
            self.__cause__,
        )


def _rebuild_element_error(
    operator: str,
    location: Location | None,
    element: str,
    original: str,
    original_traceback: str,
    cause: BaseException | None,
) -> ElementError:
    return ElementError(operator, location, element, original, original_traceback=original_traceback, cause=cause)

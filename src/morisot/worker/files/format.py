"""The format of a source's files, and the error of a row or file that does not fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from morisot.errors import Location, SourceError
from morisot.types.element import Type

Kind = Literal["text", "csv", "json", "parquet"]


class RowMisfit(ValueError):  # noqa: N818 - it is caught, and raised with file and line
    """A row does not fit its record: the field, if it is one, the reason and the solution."""

    def __init__(self, reason: str, *, field: str = "", remedy: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.field = field
        self.remedy = remedy

    def of_field(self, name: str) -> RowMisfit:
        """The same in a field, or in a part of it."""
        path = name if not self.field else f"{name}{'' if self.field.startswith('[') else '.'}{self.field}"
        return RowMisfit(self.reason, field=path, remedy=self.remedy)


class FileProblem(ValueError):  # noqa: N818 - it is caught, and raised with the file
    """A file cannot be read at all: the reason and the solution."""

    def __init__(self, reason: str, remedy: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.remedy = remedy


@dataclass(frozen=True)
class FileFormat:
    """How the files of a source are read, and how its errors name it."""

    kind: Kind
    type: Type
    operator: str
    location: Location | None
    header: bool = True
    delimiter: str = ","
    quote: str = '"'
    multiline: bool = False
    skips: bool = False

    def row_error(self, file: str, line: int, text: str, misfit: RowMisfit) -> SourceError:
        """The error of a row: file, line, field, value, and what to do."""
        field = f", field {misfit.field}" if misfit.field else ""
        skip = "" if self.kind in ("text", "parquet") else ', or skip such rows with on_error="skip"'
        return SourceError(
            f"{self.operator} ({self.location}): a row does not fit {self.type}: {shortened(text)!r} in {file}, "
            f"line {line}{field}: {misfit.reason}"
            f"\n  What to do: {misfit.remedy or 'correct the row'}{skip}"
        )

    def file_error(self, file: str, problem: FileProblem) -> SourceError:
        """The error of a file."""
        return SourceError(
            f"{self.operator} ({self.location}) cannot read {file}: {problem.reason}\n  What to do: {problem.remedy}"
        )


def shortened(text: str, longest: int = 300) -> str:
    return text if len(text) <= longest else text[:longest] + "…"

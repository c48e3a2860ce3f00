"""The report of a supervisor: the attempts, their errors, and how long the recovery took."""

from __future__ import annotations

import dataclasses
import datetime
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from morisot.private import make_directory, private_file

NAME = "attempts.json"
_FORMAT = 1


@dataclass(frozen=True)
class Attempt:
    """One run of a program in a process of its own."""

    began: datetime.datetime
    ended: datetime.datetime
    from_snapshot: str | None = None
    """The snapshot from which it resumed; None if it started from scratch."""
    error: str | None = None
    """Why it ended; None if it ended without an error."""
    recovered_after: float | None = None
    """Seconds from the end of the attempt before to the first new result of this one."""


@dataclass(frozen=True)
class SupervisionReport:
    """What a supervisor did."""

    attempts: tuple[Attempt, ...] = ()
    exit_code: int = 0
    """0: done, 1: a final error, 75: no retries left, 124: timeout, 130: interrupted, 143: terminated."""
    skipped: int = field(default=0, kw_only=True)
    """Elements that were added to the skipped ones."""

    def table(self) -> str:
        """The attempts as text."""
        rows = [("attempt", "began", "duration", "from snapshot", "recovered after", "error")]
        for number, each in enumerate(self.attempts, 1):
            rows.append(
                (
                    str(number),
                    f"{each.began:%H:%M:%S}",
                    f"{(each.ended - each.began).total_seconds():.1f} s",
                    each.from_snapshot or "-",
                    "-" if each.recovered_after is None else f"{each.recovered_after:.1f} s",
                    each.error or "-",
                )
            )
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        return "\n".join(
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
        )

    def as_json(self) -> str:
        """The report as a JSON object."""
        return json.dumps({"format": _FORMAT, **dataclasses.asdict(self)}, default=_text, indent=1)

    def write(self, file: Path) -> None:
        """Writes the report as JSON, atomically."""
        make_directory(file.parent)
        beside = file.with_name(f".{file.name}.writing")
        with private_file(beside) as out:
            out.write(self.as_json().encode())
        beside.replace(file)

    @classmethod
    def read(cls, file: Path) -> SupervisionReport:
        """A report that was written."""
        return cls.parse(file.read_text(encoding="utf-8"))

    @classmethod
    def parse(cls, text: str) -> SupervisionReport:
        """A report from its JSON object."""
        content = json.loads(text)
        attempts = tuple(_attempt(each) for each in content["attempts"])
        return cls(attempts, content["exit_code"], skipped=content["skipped"])


def _text(moment: Any) -> str:
    return str(moment.isoformat())


def _attempt(entry: dict[str, Any]) -> Attempt:
    began, ended = (datetime.datetime.fromisoformat(entry[name]) for name in ("began", "ended"))
    return Attempt(began, ended, entry["from_snapshot"], entry["error"], entry["recovered_after"])

"""What a closure does with a row, and how two such outcomes compare."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

FAILED: Any = object()
"""The outcome of a row for which no value came out."""

EXACT, REFUSED, ERROR, WRONG, MISSED = "exact", "refused", "error-match", "WRONG", "MISSED"
VERDICTS = (EXACT, REFUSED, ERROR, WRONG, MISSED)


def by_python(function: Callable[..., Any], row: tuple[Any, ...], *, limited: bool = True) -> Any:
    """CPython's value; FAILED where it raises, or if limited where an int leaves the 64 bits that columns have."""
    try:
        result = function(*row)
    except Exception:
        return FAILED
    return FAILED if limited and out_of_range(result) else result


def out_of_range(value: Any) -> bool:
    if type(value) is int:
        return not -(2**63) <= value < 2**63
    return any(map(out_of_range, parts(value)))


def parts(value: Any) -> list[Any]:
    """What a value is made of."""
    if isinstance(value, tuple | list):
        return list(value)
    if isinstance(value, dict):
        return [*value, *value.values()]
    return [getattr(value, each.name) for each in fields(value)] if is_dataclass(value) else []


def same(left: Any, right: Any) -> bool:
    """Equality that tells 1 from True and 1.0, 0.0 from -0.0, one order of a dict from another; NaN equals NaN."""
    if type(left) is not type(right):
        return False
    if isinstance(left, tuple | list | dict) or is_dataclass(left):
        ours, theirs = parts(left), parts(right)
        return len(ours) == len(theirs) and all(map(same, ours, theirs))
    return left is right or repr(left) == repr(right)


def judged(expected: Any, found: Any) -> str:
    """The verdict on one pair of a closure and a row."""
    if found is FAILED:
        return ERROR if expected is FAILED else REFUSED
    if expected is FAILED:
        return MISSED
    return EXACT if same(expected, found) else WRONG


@dataclass(frozen=True)
class Difference:
    """A pair that proves a form wrong."""

    form: str
    verdict: str
    text: str
    row: Any
    expected: Any
    found: Any

    def __str__(self) -> str:
        expected, found = ("an error" if side is FAILED else repr(side) for side in (self.expected, self.found))
        return f"{self.verdict} ({self.form})\n{self.text}\non {self.row!r}\nCPython {expected}, {self.form} {found}"


@dataclass
class Tally:
    """The verdicts on all pairs so far."""

    counts: dict[str, dict[str, int]] = field(default_factory=dict)
    """By form and verdict."""
    closures: dict[str, int] = field(default_factory=dict)
    """By form."""
    differences: list[Difference] = field(default_factory=list)

    def closure(self, form: str) -> None:
        self.closures[form] = self.closures.get(form, 0) + 1

    def pair(self, form: str, text: str, row: Any, expected: Any, found: Any) -> str:
        verdict = judged(expected, found)
        counts = self.counts.setdefault(form, dict.fromkeys(VERDICTS, 0))
        counts[verdict] += 1
        if verdict in (WRONG, MISSED):
            self.differences.append(Difference(form, verdict, text, row, expected, found))
        return verdict

    @property
    def pairs(self) -> int:
        return sum(sum(counts.values()) for counts in self.counts.values())

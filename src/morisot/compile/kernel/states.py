"""The variables of a kernel at a point of its code: which are set, and of which type, on every path to that point."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from morisot.compile.kernel.terms import Term
from morisot.types.element import Type


@dataclass(frozen=True)
class Unclear:
    """A variable that is of one type after one branch and of another after the other."""

    types: tuple[Type, Type]


State = dict[str, Term | Unclear]
"""The variables that are set on every path to a point of the code."""


def merge(states: Sequence[State]) -> State | None:
    """The variables that are known where several paths join."""
    if not states:
        return None
    first, *others = states
    merged: State = {}
    for name, term in first.items():
        found = [state.get(name) for state in others]
        if any(other is None for other in found):
            continue
        different = next((other for other in found if _shape(other) != _shape(term)), None)
        if isinstance(term, Unclear) or different is None:
            merged[name] = term
        elif isinstance(different, Unclear):
            merged[name] = different
        else:
            merged[name] = Unclear((term.type, different.type))
    return merged


def _shape(found: Term | Unclear | None) -> object:
    return found.shape if isinstance(found, Term) else found

"""The variables of a kernel at a place of it: which are set, of which type, on every way that leads there."""

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
"""The variables that are set on every way to a place."""


def merge(states: Sequence[State]) -> State | None:
    """What is known where several ways meet."""
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

"""The ladder: each closure gets the fastest form that is faithful, and keeps why no faster one was possible."""

from __future__ import annotations

import types
import weakref
from collections.abc import Callable

from morisot.compile.statements import compile_function
from morisot.compile.values import convert, join_types
from morisot.compile.verdict import ColumnForm, Refusal, StageForm, Verdict
from morisot.plan.closure import Closure, global_names
from morisot.types.element import ANY, Type
from morisot.types.infer import of_return

Rung = Callable[[Closure, tuple[Type, ...]], "ColumnForm | Refusal"]

_decided: weakref.WeakKeyDictionary[Closure, dict[tuple[Type, ...], Verdict]] = weakref.WeakKeyDictionary()


def decide(closure: Closure, parameters: tuple[Type, ...]) -> Verdict:
    """The form of a closure for arguments of these types; decided once."""
    forms = _decided.setdefault(closure, {})
    if parameters not in forms:
        forms[parameters] = _decide(closure, parameters)
    return forms[parameters]


def _decide(closure: Closure, parameters: tuple[Type, ...]) -> Verdict:
    refusals = []
    for rung in RUNGS:
        form = rung(closure, parameters)
        if not isinstance(form, Refusal):
            return form
        refusals.append(form)
    return StageForm(declared(closure) or ANY, refusals[0], captured(closure))


def column(closure: Closure, parameters: tuple[Type, ...]) -> ColumnForm | Refusal:
    """The closure as expressions over columns."""
    form = compile_function(closure.function, parameters)
    wanted = declared(closure)
    if isinstance(form, Refusal) or wanted is None or wanted == ANY:
        return form
    if join_types(form.type, wanted) != wanted:
        return Refusal(
            f"the function is declared to return {wanted} and returns {form.type}",
            advice="correct the return annotation (or returns=), or convert the value",
        )
    return ColumnForm(convert(form.result, wanted), form.shared)


RUNGS: tuple[Rung, ...] = (column,)
"""From the fastest form down; a stage does what none of them can."""


def declared(closure: Closure) -> Type | None:
    """What the user says the function returns, if anything."""
    return closure.returns or of_return(closure.function)


def captured(closure: Closure) -> tuple[str, ...]:
    """The names of the variables and globals the function reads from around it."""
    function = closure.function
    if not isinstance(function, types.FunctionType):
        return ()
    named = {name for name in global_names(function.__code__) if name in function.__globals__}
    return tuple(sorted(named | set(function.__code__.co_freevars)))

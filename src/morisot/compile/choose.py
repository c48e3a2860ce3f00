"""The compiler's verdict on a closure: its fastest exact form, its result type, and why no faster form is possible.

A verdict is about the closure alone. How an operator runs is chosen in `physical`, once for each plan.
"""

from __future__ import annotations

import ast
import dataclasses
import types
import weakref
from collections.abc import Callable

from morisot.compile.syntax.reader import read
from morisot.compile.verdict import ColumnForm, KernelForm, Refusal, StageForm, Verdict
from morisot.plan.nodes.closure import Closure, global_names, is_of_library
from morisot.types.element import ANY, List, Type
from morisot.types.infer import of_return

Rung = Callable[[Closure, tuple[Type, ...]], "ColumnForm | KernelForm | Refusal"]

_PREDICATES = frozenset({"filter", "route"})
"""The operators that need only the truth of a result."""
_kernels: weakref.WeakKeyDictionary[Closure, dict[tuple[Type, ...], KernelForm | Refusal]] = weakref.WeakKeyDictionary()
_verdicts: weakref.WeakKeyDictionary[Closure, dict[tuple[Type, ...], Verdict]] = weakref.WeakKeyDictionary()


_AS_DECLARED = Refusal(
    "its result is declared as an object, which has no column form",
    advice="declare the type of the result, if it has one",
)


def verdict_of(closure: Closure, parameters: tuple[Type, ...]) -> Verdict:
    """The form of a closure for arguments of these types. It is a pure function of both, so each is compiled once."""
    forms = _verdicts.setdefault(closure, {})
    if parameters not in forms:
        forms[parameters] = _verdict(closure, parameters)
    return forms[parameters]


def sees_order(closure: Closure, item: Type) -> bool:
    """Whether the result of a function of a list that is not empty may depend on the order of the list."""
    # imported here, like the compilers below
    from morisot.compile.ir.expressions import Input
    from morisot.compile.ir.list_order import depends_on_order
    from morisot.compile.ir.nonempty import of_nonempty

    verdict = verdict_of(closure, (List(item),))
    return not isinstance(verdict, ColumnForm) or depends_on_order(of_nonempty(verdict, Input(0)), Input(0))


def _verdict(closure: Closure, parameters: tuple[Type, ...]) -> Verdict:
    if closure.returns == ANY:
        return StageForm(ANY, _AS_DECLARED, captured(closure))
    refusals: list[Refusal] = []
    for rung in RUNGS:
        form = rung(closure, parameters)
        if isinstance(form, KernelForm):
            return dataclasses.replace(form, refusal=refusals[0])
        if not isinstance(form, Refusal):
            return form
        refusals.append(form)
    type_ = declared(closure) or _inferred(closure, parameters)
    return StageForm(type_, _with_sample(closure, _most_useful(closure, *refusals)), captured(closure))


def _with_sample(closure: Closure, refusal: Refusal) -> Refusal:
    """The reason, and where the type comes from if it was inferred from results."""
    if not closure.sampled:
        return refusal
    several = f"{closure.sampled} elements" if closure.sampled > 1 else "one element"
    reason = f"{refusal.reason}; its type is that of its results for {several}"
    return dataclasses.replace(refusal, reason=reason)


def _inferred(closure: Closure, parameters: tuple[Type, ...]) -> Type:
    """The type of the result, where CPython guarantees it; otherwise `object`."""
    # imported here, like the compilers below
    from morisot.compile.result_types.function import result_type

    return result_type(closure.function, parameters, items=closure.operator == "flat_map")


def is_inferred(closure: Closure, parameters: tuple[Type, ...]) -> bool:
    """Whether the function runs in Python and its result has no declared type."""
    return declared(closure) is None and isinstance(verdict_of(closure, parameters), StageForm)


def _most_useful(closure: Closure, of_column: Refusal, of_kernel: Refusal) -> Refusal:
    """Why there is no column form. A function with loops never has one, so the reason against a kernel is added."""
    source = read(closure.function) if isinstance(closure.function, types.FunctionType) else None
    if source is None or isinstance(source, Refusal) or of_column == of_kernel:
        return of_column
    if not any(isinstance(node, ast.For | ast.While) for node in ast.walk(source.node)):
        return of_column
    return Refusal(f"{of_column}; and {of_kernel}", of_kernel.line or of_column.line, of_kernel.advice)


def column(closure: Closure, parameters: tuple[Type, ...]) -> ColumnForm | Refusal:
    """The closure as expressions over columns."""
    # imported here: the compilers are many modules, and `import morisot` must stay fast
    from morisot.compile.ir.values import convert, join_types
    from morisot.compile.syntax.function import compile_function

    wanted = declared(closure)
    form = compile_function(closure.function, parameters, wanted)
    if isinstance(form, Refusal) and closure.operator in _PREDICATES:
        tested = compile_function(closure.function, parameters, only_truth=True)
        form = form if isinstance(tested, Refusal) else tested
    if isinstance(form, Refusal) or wanted is None or wanted == ANY:
        return form
    if join_types(form.type, wanted) != wanted:
        return Refusal(
            f"the function is declared to return {wanted} and returns {form.type}",
            advice="correct the return annotation (or returns=), or convert the value",
        )
    return ColumnForm(convert(form.result, wanted), form.shared)


def kernel(closure: Closure, parameters: tuple[Type, ...]) -> KernelForm | Refusal:
    """The closure as machine code over the numbers of its arguments; compiled once."""
    from morisot.compile.kernel.function import compile_kernel

    forms = _kernels.setdefault(closure, {})
    if parameters not in forms:
        found = compile_kernel(closure.function, parameters, declared(closure))
        if isinstance(found, Refusal):
            forms[parameters] = found
        else:
            forms[parameters] = KernelForm(*found, NO_REFUSAL, captured(closure))
    return forms[parameters]


NO_REFUSAL = Refusal("")
"""The value of the reason where no faster form was tried."""

RUNGS: tuple[Rung, ...] = (column, kernel)
"""The forms from the fastest to the slowest. What none of them can do runs in a stage."""


def declared(closure: Closure) -> Type | None:
    """The declared type of the function's result, if there is one."""
    return closure.returns or of_return(closure.original)  # a frozen closure lacks the names that annotations use


def captured(closure: Closure) -> tuple[str, ...]:
    """The names of the variables and globals the function reads from around it."""
    function = closure.function
    if not isinstance(function, types.FunctionType) or is_of_library(function):
        return ()
    named = {name for name in global_names(function.__code__) if name in function.__globals__}
    return tuple(sorted(named | set(function.__code__.co_freevars)))

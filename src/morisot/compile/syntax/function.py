"""A whole function as expressions over columns."""

from __future__ import annotations

import ast
import types
from collections.abc import Sequence

from morisot.compile.exact import dicts, formats, regex, sets, sorting
from morisot.compile.ir.common_subexpressions import share_equal
from morisot.compile.ir.values import DAY, DELTA, NEVER, Match, Set, convert, join_types, parameter
from morisot.compile.syntax import calls, inlining, translate
from morisot.compile.syntax.expressions import (
    access,
    call_expressions,
    comparisons,
    comprehensions,
    displays,
    operators,
)
from morisot.compile.syntax.scope import Refused, Scope, Sharing, refuse
from morisot.compile.syntax.statements import blocks
from morisot.compile.table import date_methods, special_functions, str_methods
from morisot.compile.verdict import ColumnForm, Refusal, Value
from morisot.types.element import NONE, Dict, List, Optional, Type, holds

RULES = (
    translate, displays, operators, comparisons, access, comprehensions, call_expressions, blocks, formats,
    special_functions, dicts, sorting, sets, date_methods, regex, str_methods,
)  # fmt: skip
"""The modules with the rules for kinds of nodes and for functions. Importing a module registers its rules."""


def compile_function(
    function: object, parameters: Sequence[Type], declared: Type | None = None, *, only_truth: bool = False
) -> ColumnForm | Refusal:
    """The function as expressions over the columns of its parameters, or the reason why it has no column form.

    An empty list as result has the declared type. With `only_truth` the result is the truth of a lambda's value.
    """
    sharing = Sharing()
    arguments = [parameter(index, type_) for index, type_ in enumerate(parameters)]
    try:
        if calls.is_users(function):
            result = inlining.body(function, arguments, {}, Scope(function, sharing), only_truth=only_truth)
        else:
            result = calls.apply(ast.Pass(), function, arguments, {}, Scope(_nameless, sharing))
        if declared is not None and _unknown(result.type) and join_types(result.type, declared) == declared:
            result = convert(result, declared)
        _check_result(result)
    except Refused as refused:
        return refused.refusal
    except RecursionError:
        return Refusal("the function is nested too deeply", advice="split it into several operators")
    return share_equal(ColumnForm(result, tuple(sharing.entries)))


_nameless = types.FunctionType(compile("0", "<nothing>", "eval"), {})
"""A function without content, for the scope of a function of Python that is used as a closure."""


def _check_result(result: Value) -> None:
    if result.type == NONE:
        refuse(None, "the function returns only None", "return a value")
    if result.type == NEVER:
        refuse(None, "the function raises on every path", "return a value")
    if holds(result.type, DELTA):
        refuse(None, "a timedelta has no column form", "return its .total_seconds() or its .days")
    if holds(result.type, DAY):
        refuse(None, "a day of the module calendar has no column form", "use the weekday() of a date")
    if _has_unheld(result.type):
        kept = "a sorted list" if _has_set(result.type) else "a group of the match, or whether there is one: bool(…)"
        refuse(None, f"{result.type} is no value that a column can hold", f"return {kept}")
    unknown = _unknown(result.type)
    if unknown is not None:
        refuse(None, unknown, "pass returns=")


def _unknown(type_: Type) -> str | None:
    """Why the type of a part of a value is not known; None if all are."""
    match type_:
        case List(item) if item == NONE:
            return "the type of the items of a list is not known: it is empty, or has only None"
        case List(inner) | Optional(inner) | Dict(inner):
            return _unknown(inner)
    if type_ == NONE:
        return "a part of the result is always None, and its type is not known"
    return next((found for _, child in type_.children if (found := _unknown(child)) is not None), None)


def _has_set(type_: Type) -> bool:
    if isinstance(type_, Set):
        return True
    inner = (type_.inner,) if isinstance(type_, Optional) else (child for _, child in type_.children)
    return any(map(_has_set, inner))


def _has_unheld(type_: Type) -> bool:
    match type_:
        case Set() | Match():
            return True
        case List(inner) | Optional(inner) | Dict(inner):
            return _has_unheld(inner)
    return any(_has_unheld(child) for _, child in type_.children)

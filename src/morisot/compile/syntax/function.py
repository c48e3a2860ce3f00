"""A whole function as expressions over columns."""

from __future__ import annotations

import ast
import types
from collections.abc import Sequence

from morisot.compile.exact import dicts, formats, regex, sets, sorting
from morisot.compile.ir.common_subexpressions import share_equal
from morisot.compile.ir.values import DAY, DELTA, NEVER, Match, Set, parameter
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


def compile_function(function: object, parameters: Sequence[Type]) -> ColumnForm | Refusal:
    """The function as expressions over the columns of its parameters, or the reason why it has no column form."""
    sharing = Sharing()
    arguments = [parameter(index, type_) for index, type_ in enumerate(parameters)]
    try:
        if isinstance(function, types.FunctionType):
            result = inlining.body(function, arguments, {}, Scope(function, sharing))
        else:
            result = calls.apply(ast.Pass(), function, arguments, {}, Scope(_nameless, sharing))
        _check_result(result)
    except Refused as refused:
        return refused.refusal
    except RecursionError:
        return Refusal("the function is nested too deeply", advice="split it into several operators")
    return share_equal(ColumnForm(result, tuple(sharing.entries)))


_nameless = types.FunctionType(compile("0", "<nothing>", "eval"), {})
"""A function without content, for the scope of a builtin that is used as a closure."""


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
        refuse(None, f"{result.type} is no value that a column can hold", "return a sorted list, or a text")
    if _has_unknown(result.type):
        refuse(None, "the type of the items of an empty list is not known", "annotate the return type")


def _has_unknown(type_: Type) -> bool:
    if isinstance(type_, List):
        return type_.item == NONE or _has_unknown(type_.item)
    return type_ == NONE or any(_has_unknown(child) for _, child in type_.children)


def _has_unheld(type_: Type) -> bool:
    match type_:
        case Set() | Match():
            return True
        case List(inner) | Optional(inner) | Dict(inner):
            return _has_unheld(inner)
    return any(_has_unheld(child) for _, child in type_.children)

"""Functions that are not rows of the table: their result has parts, or an argument is a function or a class."""

from __future__ import annotations

import ast
import dataclasses
import datetime as dt
import functools
import operator
from typing import Any

from morisot.compile.exact import decimals, dicts, formats
from morisot.compile.exact.forms import call, checked, integer
from morisot.compile.ir.expressions import Call, Expr
from morisot.compile.ir.values import DELTA, FALSE, Known, is_none, negate, pack
from morisot.compile.syntax import calls, iteration
from morisot.compile.syntax.calls import plain
from morisot.compile.syntax.expressions import access, comprehensions
from morisot.compile.syntax.expressions.operators import binary
from morisot.compile.syntax.lists import list_of
from morisot.compile.syntax.scope import Scope, refuse
from morisot.compile.syntax.scope import known as from_object
from morisot.compile.syntax.translate import STAGE, Arguments, Keywords, refuse_opaque, truth_of, usable, value_of
from morisot.compile.table import rows
from morisot.compile.verdict import Value
from morisot.types.element import (
    BOOL,
    BYTES,
    DATE,
    DATETIME,
    FLOAT,
    INT,
    NONE,
    STR,
    Dict,
    List,
    Optional,
    Record,
    Tuple,
    Type,
)

calls.UNREAD[next] = comprehensions.first


@calls.special(bool)
def _bool(node: ast.AST, arguments: Arguments, keywords: Keywords, scope: Scope) -> Value:
    (found,) = plain(node, bool, arguments, keywords, 1)
    return Value(BOOL, truth_of(found, node, scope))


@calls.special(len)
def _len(node: ast.AST, arguments: Arguments, keywords: Keywords, scope: Scope) -> Value:
    if len(arguments) == 1 and isinstance(arguments[0], Value) and isinstance(arguments[0].type, Tuple):
        scope.add_strict(arguments[0])
        return Value(INT, integer(len(arguments[0].items)))
    match arguments:
        case [Value(_, Call("except", (Call("split"), _)))]:
            # See `sets.distinct`: for a set of many small texts Spark takes longer than a pass through Python.
            refuse(node, "Python counts the distinct words of a text faster than Spark", STAGE)
    return calls.by_table(node, len, arguments, keywords, scope)


@calls.special(sum)
def _sum(node: ast.AST, arguments: Arguments, keywords: Keywords, scope: Scope) -> Value:
    """The sum of a list display is written as additions, which cost less than a loop."""
    only = arguments[0] if len(arguments) == 1 and not keywords else None
    match only:
        case Value(List(item), Call("array", items)) if item in (INT, BOOL):
            numbers = items if item == INT else tuple(call("bigint", one) for one in items)
            return Value(INT, functools.reduce(functools.partial(checked, "add"), numbers))
    return calls.by_table(node, sum, arguments, keywords, scope)


@calls.special(list)
def _list(node: ast.AST, arguments: Arguments, keywords: Keywords, scope: Scope) -> Value:
    """The items of a list, a text, a dict or a tuple. A set has no column form, because its order is undefined."""
    (only,) = plain(node, list, arguments, keywords, 1)
    found = usable(only, node)
    if isinstance(found.type, Tuple):
        return list_of(node, found.items)
    found = iteration.as_list(found, scope)
    if not isinstance(found.type, List):
        refuse(node, f"list({found.type}) has no exact column form", STAGE)
    return found


@calls.special(dict)
def _dict(node: ast.AST, arguments: Arguments, keywords: Keywords, scope: Scope) -> Value:
    (pairs,) = plain(node, dict, arguments, keywords, 1)
    found = usable(pairs, node)
    return found if isinstance(found.type, Dict) else dicts.of_pairs(node, found, scope)


@calls.special(divmod)
def _divmod(node: ast.AST, arguments: Arguments, keywords: Keywords, scope: Scope) -> Value:
    left, right = (scope.small(usable(one, node)) for one in plain(node, divmod, arguments, keywords, 2))
    items = tuple(binary(node, op, left, right, scope) for op in (ast.FloorDiv(), ast.Mod()))
    return Value(Tuple(tuple(item.type for item in items)), items=items)


@calls.special(format)
def _format(node: ast.AST, arguments: Arguments, keywords: Keywords, scope: Scope) -> Value:
    found, *rest = plain(node, format, arguments, keywords, len(arguments) or 1)
    known, spec = rows.constant_of(rest[0]) if rest else (True, "")
    if len(rest) > 1 or not known or type(spec) is not str:
        refuse(node, "a format specification that is not constant has no column form", STAGE)
    return Value(STR, formats.formatted(node, usable(found, node), spec, scope))


@calls.special(round)
def _round(node: ast.AST, arguments: Arguments, keywords: Keywords, scope: Scope) -> Value:
    if len(arguments) != 2 or keywords:
        return calls.by_table(node, round, arguments, keywords, scope)
    found, ndigits = (usable(one, node) for one in plain(node, round, arguments, keywords, 2))
    known, number = rows.constant_of(ndigits)
    if found.type != FLOAT or not known or type(number) is not int or not 0 <= number <= decimals.MOST_DIGITS:
        return calls.by_table(node, round, (found, ndigits), {}, scope)
    return Value(FLOAT, decimals.round_to_digits(pack(scope.small(found)), number, scope))


@calls.special(isinstance)
def _isinstance(node: ast.AST, arguments: Arguments, keywords: Keywords, scope: Scope) -> Value:
    """Decided while compiling: the class of a value is known from its type, except for None."""
    if len(arguments) != 2 or keywords or not isinstance(arguments[0], Value) or not isinstance(arguments[1], Known):
        refuse(node, "isinstance of a class that is not constant has no column form", STAGE)
    found, wanted = arguments[0], arguments[1].object
    scope.add_strict(found)
    inner = _without_none(found.type)
    refuse_opaque(node, inner, f"the class of a value of type {found.type} is not known")
    try:
        fits, fits_none = issubclass(_class_of(inner), wanted), issubclass(type(None), wanted)
    except TypeError as error:
        refuse(node, f"isinstance always fails: {error}")
    if isinstance(found.type, Optional) and fits != fits_none:
        missing = is_none(found)
        return Value(BOOL, missing if fits_none else negate(missing))
    return Value(BOOL, negate(FALSE) if fits else FALSE)


_CLASSES: dict[Type, type] = {
    INT: int, FLOAT: float, BOOL: bool, STR: str, BYTES: bytes, DATE: dt.date, DATETIME: dt.datetime,
    NONE: type(None), DELTA: dt.timedelta,
}  # fmt: skip


def _class_of(type_: Type) -> type:
    match type_:
        case List():
            return list
        case Dict():
            return dict
        case Record(cls):
            return cls
        case Tuple():
            return tuple
    if type_ not in _CLASSES:
        refuse(None, f"the class of a value of type {type_} is not known", STAGE)
    return _CLASSES[type_]


def _without_none(type_: Type) -> Type:
    return type_.inner if isinstance(type_, Optional) else type_


@calls.special(dataclasses.replace)
def _replace(node: ast.AST, arguments: Arguments, keywords: Keywords, _: Scope) -> Value:
    (record,) = plain(node, dataclasses.replace, arguments, {}, 1)
    return calls.with_fields(node, usable(record, node), keywords)


_PARTS = ("days", "seconds", "microseconds", "milliseconds", "minutes", "hours", "weeks")
_LENGTHS = tuple(dt.timedelta(**{part: 1}) // dt.timedelta(microseconds=1) for part in _PARTS)


@calls.special(dt.timedelta)
def _timedelta(node: ast.AST, arguments: Arguments, keywords: Keywords, _: Scope) -> Value:
    """A timedelta of ints; floats have a column form only as constants."""
    given = dict(zip(_PARTS, arguments, strict=False)) | keywords
    if len(given) < len(arguments) + len(keywords) or not set(given) <= set(_PARTS):
        refuse(node, "timedelta gets arguments that it does not take")
    values = {name: usable(value_of(one, node), node) for name, one in given.items()}
    constants = {name: rows.constant_of(one) for name, one in values.items()}
    if all(found for found, *_ in constants.values()):
        try:
            whole = from_object(dt.timedelta(**{name: pair[1] for name, pair in constants.items()}))
        except Exception as error:  # a call that fails on constants fails on every element: Python raises its exception
            refuse(node, f"timedelta always fails: {error}")
        return value_of(whole, node)
    terms: list[Expr] = []
    for name, length in zip(_PARTS, _LENGTHS, strict=True):
        if name in values:
            if values[name].type != INT:
                refuse(node, f"a timedelta of {values[name].type} {name} has no exact column form", STAGE)
            terms.append(checked("multiply", pack(values[name]), integer(length)))
    return Value(DELTA, functools.reduce(functools.partial(checked, "add"), terms))


_OPERATORS: dict[Any, ast.operator] = {
    operator.add: ast.Add(), operator.sub: ast.Sub(), operator.mul: ast.Mult(), operator.truediv: ast.Div(),
    operator.floordiv: ast.FloorDiv(), operator.mod: ast.Mod(), operator.and_: ast.BitAnd(),
    operator.or_: ast.BitOr(), operator.xor: ast.BitXor(),
}  # fmt: skip


def _operator(function: Any, op: ast.operator) -> None:
    @calls.special(function)
    def apply(node: ast.AST, arguments: Arguments, keywords: Keywords, scope: Scope) -> Value:
        left, right = (usable(one, node) for one in plain(node, function, arguments, keywords, 2))
        return binary(node, op, left, right, scope)


for _function, _op in _OPERATORS.items():
    _operator(_function, _op)


# ---- objects that are called


@calls.callable_class(functools.partial)
def _partial(
    node: ast.AST, function: functools.partial[Any], arguments: Arguments, keywords: Keywords, scope: Scope
) -> Value:
    first = [from_object(one) for one in function.args]
    named = {name: from_object(one) for name, one in function.keywords.items()}
    return calls.apply(node, function.func, [*first, *arguments], {**named, **keywords}, scope)


@calls.callable_class(operator.itemgetter)
def _itemgetter(
    node: ast.AST, function: operator.itemgetter[Any], arguments: Arguments, keywords: Keywords, scope: Scope
) -> Value:
    (owner,) = plain(node, function, arguments, keywords, 1)
    keys: tuple[Any, ...] = function.__reduce__()[1]  # type: ignore[assignment]
    return _all([access.item(node, usable(owner, node), value_of(from_object(key), node), scope) for key in keys])


@calls.callable_class(operator.attrgetter)
def _attrgetter(
    node: ast.AST, function: operator.attrgetter[Any], arguments: Arguments, keywords: Keywords, scope: Scope
) -> Value:
    (owner,) = plain(node, function, arguments, keywords, 1)
    paths: tuple[str, ...] = function.__reduce__()[1]  # type: ignore[assignment]
    found = []
    for path in paths:
        part = owner
        for name in path.split("."):
            part = value_of(access.attribute(node, usable(part, node), name, scope), node)
        found.append(part)
    return _all(found)


def _all(found: list[Value]) -> Value:
    """A single value unchanged, several values as a tuple."""
    return found[0] if len(found) == 1 else Value(Tuple(tuple(one.type for one in found)), items=tuple(found))

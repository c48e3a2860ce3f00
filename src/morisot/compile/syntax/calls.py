"""Calls of Python objects on symbolic values: functions of the table, methods, record classes, the user's functions.

A module registers its rules here for functions that are not rows of the table.
"""

from __future__ import annotations

import ast
import types
from collections.abc import Callable, Sequence
from typing import Any, TypeGuard

from morisot.compile.ir.values import EMPTY_LIST, Known, Set, constant, convert, pack
from morisot.compile.syntax import try_except
from morisot.compile.syntax.inlining import inline
from morisot.compile.syntax.lists import list_of
from morisot.compile.syntax.scope import Scope, refuse
from morisot.compile.syntax.scope import known as from_object
from morisot.compile.syntax.translate import (
    STAGE,
    Argument,
    Arguments,
    Keywords,
    comes_with_python,
    shown,
    usable,
    value_of,
)
from morisot.compile.table import functions as known
from morisot.compile.table import methods, records, rows
from morisot.compile.verdict import Value
from morisot.types.element import ANY, NONE, List, Record, Tuple, Type
from morisot.types.infer import of_record_class, unify, without_none
from morisot.types.records import is_record_class

Special = Callable[[ast.AST, Arguments, Keywords, Scope], "Value | Known"]
Callee = Callable[[ast.AST, Any, Arguments, Keywords, Scope], Value]
SPECIAL: dict[Any, Special] = {}
CALLABLE_CLASSES: dict[type, Callee] = {}
UNREAD: dict[Any, Callable[[ast.Call, Scope], Value]] = {}
"""Functions whose rules get the syntax trees of their arguments, and translate them."""
SPECIAL_METHODS: dict[tuple[Any, str], Callable[[ast.Call, Value, Scope], Value]] = {}
"""Rules of methods, by the type of the owner, or the class of that type."""
OBJECT_METHODS: dict[type, Callable[[ast.Call, Any, str, Scope], Value]] = {}
"""Methods of captured objects of a class."""

_ORDERLESS = frozenset({len, sorted, min, max, sum, set, frozenset, bool})
"""Functions whose result does not depend on the order of a set's items, unless a key makes items equal."""


def special(function: object) -> Callable[[Special], Special]:
    """Registers the rule for a function that is not a row of the table."""

    def register(rule: Special) -> Special:
        SPECIAL[function] = rule
        return rule

    return register


def _without_order(node: ast.AST, function: object, argument: Argument, keywords: Keywords) -> Argument:
    """A set or a tuple as the list of its items. A set stays one if a key may make items equal."""
    if isinstance(argument, Value) and isinstance(argument.type, Set) and "key" not in keywords:
        return Value(List(argument.type.item), pack(argument))
    if isinstance(argument, Value) and isinstance(argument.type, Tuple) and function in (min, max, sum, sorted):
        return list_of(node, argument.items)
    return argument


def callable_class(cls: type) -> Callable[[Callee], Callee]:
    """Registers the rule for calls of objects of a class."""

    def register(rule: Callee) -> Callee:
        CALLABLE_CLASSES[cls] = rule
        return rule

    return register


def apply(node: ast.AST, function: object, arguments: Arguments, keywords: Keywords, scope: Scope) -> Value:
    """The result of calling a Python object on symbolic values. It has to be a value."""
    return value_of(applied(node, function, arguments, keywords, scope), node)


def applied(node: ast.AST, function: object, arguments: Arguments, keywords: Keywords, scope: Scope) -> Value | Known:
    """The result of calling a Python object on symbolic values. It may be known, such as a set of constants."""
    refuse_unknown(node, function)
    if is_hashable(function) and function in _ORDERLESS and len(arguments) == 1:
        arguments = [_without_order(node, function, arguments[0], keywords)]
    if type(function) in CALLABLE_CLASSES:
        return CALLABLE_CLASSES[type(function)](node, function, arguments, keywords, scope)
    if is_hashable(function) and function in SPECIAL:
        add_all_strict([*arguments, *keywords.values()], scope)
        return SPECIAL[function](node, arguments, keywords, scope)
    if isinstance(function, type) and is_record_class(function):
        return construct(node, function, arguments, keywords)
    if is_users(function):
        return inline(node, function, arguments, keywords, scope)
    if isinstance(function, types.MethodType):
        return inline(node, _of_class(node, function), [Known(function.__self__), *arguments], keywords, scope)
    if isinstance(function, types.MethodDescriptorType) and function.__objclass__ is str and arguments and not keywords:
        owner, *rest = (value_of(one, node) for one in arguments)
        return apply_method(node, function.__name__, usable(owner, node), rest, scope)
    return by_table(node, function, arguments, keywords, scope)


def _of_class(node: ast.AST, method: types.MethodType) -> types.FunctionType:
    """The function of a user's classmethod."""
    if not isinstance(method.__self__, type) or not is_users(method.__func__):
        refuse(node, f"the method {method.__name__} of an object has no column form", STAGE)
    return method.__func__


def by_table(node: ast.AST, function: object, arguments: Arguments, keywords: Keywords, scope: Scope) -> Value:
    """The result by the first row of the function that fits the arguments."""
    found, name = _rows_of(function), shown(function)
    if keywords:
        refuse(node, f"{name}({min(keywords)}=…) has no column form", STAGE)
    values = [value_of(argument, node) for argument in arguments]
    add_all_strict(values, scope)
    folded = _folded(function, values)
    if folded is not None:
        return folded
    usables = [argument if argument.type == NONE else usable(argument, node) for argument in values]
    try_except.record_call(function, usables, scope)
    if function in known.FOLDED and len(usables) > 2:
        result = usables[0]
        for argument in usables[1:]:
            result = _by_row(node, name, found, [result, argument], scope)
        return result
    return _by_row(node, name, found, usables, scope)


def add_all_strict(arguments: Arguments, scope: Scope) -> None:
    """Python evaluates all arguments before a call, also one that the function does not use."""
    for argument in arguments:
        if isinstance(argument, Value):
            scope.add_strict(argument)


def refuse_unknown(node: ast.AST, function: object) -> None:
    """Refuses a function without a rule before its arguments are translated: they may be of any kind."""
    if _rows_of(function) or is_users(function) or isinstance(function, types.MethodDescriptorType):
        return
    if isinstance(function, types.MethodType) and isinstance(function.__self__, type):
        return
    if type(function) in CALLABLE_CLASSES or (isinstance(function, type) and is_record_class(function)):
        return
    if function is any or function is all or (is_hashable(function) and (function in SPECIAL or function in UNREAD)):
        return
    if getattr(function, "__module__", None) == "math" and getattr(function, "__name__", "") not in _EXACT:
        refuse(node, f"{shown(function)} has no exact column form: Java may return another last digit", STAGE)
    refuse(node, f"{shown(function)} has no column form", STAGE)


_EXACT = frozenset(("comb", "factorial", "frexp", "gcd", "isclose", "isqrt", "lcm", "modf", "perm", "prod", "ulp"))
"""Functions of math without a column form whose results are not rounded."""


def is_users(function: object) -> TypeGuard[types.FunctionType]:
    """Whether a function is the user's or a library's, and can be inlined. Those of the standard library are not."""
    return isinstance(function, types.FunctionType) and not comes_with_python(function)


def _rows_of(function: object) -> tuple[rows.Row, ...]:
    return known.FUNCTIONS.get(function, ()) if is_hashable(function) else ()


def is_hashable(function: object) -> bool:
    """Whether an object can be hashed. One that cannot is in no table."""
    try:
        hash(function)
    except Exception:  # the user's __hash__ may raise anything
        return False
    return True


def _folded(function: object, arguments: Sequence[Value]) -> Value | None:
    """The value that Python computes if all arguments are constants."""
    constants = [rows.constant_of(argument) for argument in arguments]
    if not constants or not all(found for found, _ in constants):
        return None
    try:
        return constant(function(*(argument for _, argument in constants)))  # type: ignore[operator]
    except Exception:  # a call that fails on constants fails on every element; the form of the row fails too
        return None


def _by_row(node: ast.AST, name: str, table: Sequence[rows.Row], arguments: Sequence[Value], scope: Scope) -> Value:
    row = rows.find(table, arguments)
    if row is None:
        shown = ", ".join(str(argument.type) for argument in arguments)
        refuse(node, f"{name}({shown}) has no exact column form", STAGE)
    return rows.apply(row, arguments, scope.small)


def apply_method(node: ast.AST, name: str, owner: Value, arguments: list[Value], scope: Scope) -> Value:
    """`owner.name(…)`, by the first row of the method that fits."""
    found = methods.METHODS.get((owner.type, name), ())
    if not found:
        refuse(node, f"the method {name} of {owner.type} has no exact column form", STAGE)
    usables = [argument if argument.type == NONE else usable(argument, node) for argument in arguments]
    return _by_row(node, f"{owner.type}.{name}", found, [owner, *usables], scope)


def construct(node: ast.AST, cls: type, arguments: Arguments, keywords: Keywords) -> Value:
    """A record from its fields' values."""
    if not records.is_plain_constructor(cls):
        refuse(node, f"{cls.__name__} has a constructor of its own", STAGE)
    declared = of_record_class(cls)
    positional = records.positional(cls)
    given = dict(zip(positional, arguments, strict=False)) | keywords
    if len(arguments) > len(positional) or len(given) < len(arguments) + len(keywords):
        refuse(node, f"{cls.__name__} gets too many arguments")
    if not set(given) <= set(declared.names):
        refuse(node, f"{cls.__name__} has no field {', '.join(sorted(set(given) - set(declared.names)))}")
    for name, default in records.defaults(cls).items():
        given.setdefault(name, from_object(default))
    for name, empty in records.empty_defaults(cls).items():
        given.setdefault(name, Known(empty()) if empty is dict else list_of(node, ()))
    missing = [name for name in declared.names if name not in given]
    if missing:
        refuse(node, f"{cls.__name__} gets no {missing[0]}")
    values = [value_of(given[name], node) for name in declared.names]
    types_ = tuple(_fitting(type_, item.type) for type_, item in zip(declared.items, values, strict=True))
    return Value(Record(cls, declared.names, types_), items=tuple(map(convert, values, types_)))


def _fitting(declared: Type, actual: Type) -> Type:
    """The declared type of a field if the value fits it, else the type of the value."""
    if actual == EMPTY_LIST and isinstance(without_none(declared), List):
        return declared
    return declared if declared != ANY and unify(declared, actual) == declared else actual


def with_fields(node: ast.AST, record: Value, keywords: Keywords) -> Value:
    """The record with some fields changed."""
    if not isinstance(record.type, Record) or not records.is_plain_constructor(record.type.cls):
        refuse(node, f"replacing fields of {record.type} has no column form", STAGE)
    old = dict(zip(record.type.names, record.items, strict=True))
    return construct(node, record.type.cls, (), {**old, **keywords})


def plain(node: ast.AST, function: object, arguments: Arguments, keywords: Keywords, count: int) -> list[Value]:
    """The arguments of a function that takes `count` values by position."""
    if keywords or len(arguments) != count:
        refuse(node, f"{shown(function)} is not called with {len(arguments) + len(keywords)} arguments", STAGE)
    return [value_of(one, node) for one in arguments]

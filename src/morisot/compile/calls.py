"""Calls: of functions in the table, methods, record classes, and the user's own functions, which are read in turn."""

from __future__ import annotations

import ast
import types
from collections.abc import Sequence
from typing import TypeGuard

from morisot.compile import access, comprehensions, known, records
from morisot.compile.scope import Refused, Scope, refuse
from morisot.compile.scope import known as from_object
from morisot.compile.translate import STAGE, comes_with_python, expression, shown, translates, truth_of, usable, value
from morisot.compile.values import constant, convert
from morisot.compile.verdict import Refusal, Value
from morisot.types.element import ANY, BOOL, NONE, Dict, Record, Type
from morisot.types.infer import is_record_class, of_record_class, unify

_DEEPEST = 16
"""How deep calls of the user's functions are followed; deeper is most likely recursion."""


@translates(ast.Call)
def call(node: ast.Call, scope: Scope) -> Value:
    """`f(x)` and `x.f()`."""
    if any(isinstance(argument, ast.Starred) for argument in node.args) or any(k.arg is None for k in node.keywords):
        refuse(node, "a call with * or ** has no column form", STAGE)
    if isinstance(node.func, ast.Attribute):
        owner = expression(node.func.value, scope)
        if isinstance(owner, Value):
            return _method(node, node.func.attr, usable(owner, node.func.value), scope)
    function = expression(node.func, scope)
    if isinstance(function, Value):
        refuse(node, f"a value of type {function.type} is called", STAGE)
    _refuse_unknown(node, function.object)
    if node.keywords and not isinstance(function.object, type | types.FunctionType):
        refuse(node, f"{shown(function.object)}({node.keywords[0].arg}=…) has no column form", STAGE)
    quantifier = {any: "exists", all: "forall"}.get(function.object) if _is_hashable(function.object) else None
    if quantifier and len(node.args) == 1 and not node.keywords:
        return comprehensions.quantified(quantifier, node.args[0], scope)
    consumes = _is_hashable(function.object) and function.object in comprehensions.CONSUMERS
    arguments = [value(comprehensions.listed(one) if consumes else one, scope) for one in node.args]
    keywords = {keyword.arg or "": value(keyword.value, scope) for keyword in node.keywords}
    return apply(node, function.object, arguments, keywords, scope)


def apply(
    node: ast.AST, function: object, arguments: Sequence[Value], keywords: dict[str, Value], scope: Scope
) -> Value:
    """The result of calling a Python object on symbolic values."""
    if isinstance(function, type) and is_record_class(function):
        return _construct(node, function, arguments, keywords)
    if _is_users(function):
        return _inline(node, function, arguments, keywords, scope)
    if isinstance(function, types.MethodDescriptorType) and function.__objclass__ is str and arguments and not keywords:
        return _apply_method(node, function.__name__, usable(arguments[0], node), list(arguments[1:]), scope)
    if function is bool and len(arguments) == 1 and not keywords:
        return Value(BOOL, truth_of(arguments[0], node, scope))
    _refuse_unknown(node, function)
    rows, name = _rows_of(function), shown(function)
    if keywords:
        refuse(node, f"{name}({min(keywords)}=…) has no column form", STAGE)
    folded = _folded(function, arguments)
    if folded is not None:
        return folded
    usables = [usable(argument, node) for argument in arguments]
    if function in known.FOLDED and len(usables) > 2:
        result = usables[0]
        for argument in usables[1:]:
            result = _by_row(node, name, rows, [result, argument], scope)
        return result
    return _by_row(node, name, rows, usables, scope)


def _refuse_unknown(node: ast.AST, function: object) -> None:
    """Refuse what is in no table before its arguments, which may be of any kind, are looked at."""
    if _rows_of(function) or _is_users(function) or isinstance(function, types.MethodDescriptorType):
        return
    if function in (bool, any, all) or isinstance(function, type) and is_record_class(function):
        return
    if getattr(function, "__module__", None) == "math":
        refuse(node, f"{shown(function)} has no exact column form (the JVM's libm differs in the last bit)", STAGE)
    refuse(node, f"{shown(function)} has no column form", STAGE)


def _is_users(function: object) -> TypeGuard[types.FunctionType]:
    """Whether a function is the user's own, or a library's: one to read in turn. Python's own hide too much."""
    return isinstance(function, types.FunctionType) and not comes_with_python(function)


def _rows_of(function: object) -> tuple[known.Row, ...]:
    return known.FUNCTIONS.get(function, ()) if _is_hashable(function) else ()


def _is_hashable(function: object) -> bool:
    """An object that cannot be hashed is in no table."""
    return getattr(type(function), "__hash__", None) is not None


def _folded(function: object, arguments: Sequence[Value]) -> Value | None:
    """Python's own result where all arguments are constants."""
    constants = [known.constant_of(argument) for argument in arguments]
    if not constants or not all(found for found, _ in constants):
        return None
    try:
        return constant(function(*(argument for _, argument in constants)))  # type: ignore[operator]
    except Exception:  # what fails on constants fails on every element; the form of the row says so
        return None


def _by_row(node: ast.AST, name: str, rows: Sequence[known.Row], arguments: Sequence[Value], scope: Scope) -> Value:
    row = known.find(rows, arguments)
    if row is None:
        shown = ", ".join(str(argument.type) for argument in arguments)
        refuse(node, f"{name}({shown}) has no exact column form", STAGE)
    return known.apply(row, arguments, scope.small)


def _method(node: ast.Call, name: str, owner: Value, scope: Scope) -> Value:
    arguments = [value(comprehensions.listed(one) if name == "join" else one, scope) for one in node.args]
    if isinstance(owner.type, Dict):
        return access.dict_method(node, name, owner, arguments, scope)
    for keyword in node.keywords:
        order = known.KEYWORDS.get(name, ())
        if keyword.arg not in order or order.index(keyword.arg) > len(arguments):
            refuse(node, f".{name}({keyword.arg}=…) has no column form", "pass the argument by position")
        if order.index(keyword.arg) == len(arguments):
            arguments.append(value(keyword.value, scope))
    return _apply_method(node, name, owner, arguments, scope)


def _apply_method(node: ast.AST, name: str, owner: Value, arguments: list[Value], scope: Scope) -> Value:
    rows = known.METHODS.get((owner.type, name), ())
    if not rows:
        refuse(node, f"the method {name} of {owner.type} has no exact column form", STAGE)
    usables = [argument if argument.type == NONE else usable(argument, node) for argument in arguments]
    return _by_row(node, f"{owner.type}.{name}", rows, [owner, *usables], scope)


def _construct(node: ast.AST, cls: type, arguments: Sequence[Value], keywords: dict[str, Value]) -> Value:
    """A record from its fields' values."""
    if not records.is_plain_constructor(cls):
        refuse(node, f"{cls.__name__} has a constructor of its own", STAGE)
    declared = of_record_class(cls)
    given = dict(zip(declared.names, arguments, strict=False)) | keywords
    if len(arguments) > len(declared.names) or len(given) < len(arguments) + len(keywords):
        refuse(node, f"{cls.__name__} gets too many arguments")
    if not set(given) <= set(declared.names):
        refuse(node, f"{cls.__name__} has no field {', '.join(sorted(set(given) - set(declared.names)))}")
    for name, default in records.defaults(cls).items():
        found = from_object(default)
        if name not in given and isinstance(found, Value):
            given[name] = found
    missing = [name for name in declared.names if name not in given]
    if missing:
        refuse(node, f"{cls.__name__} gets no {missing[0]}")
    values = [given[name] for name in declared.names]
    types_ = tuple(_fitting(type_, item.type) for type_, item in zip(declared.items, values, strict=True))
    return Value(Record(cls, declared.names, types_), items=tuple(map(convert, values, types_)))


def _fitting(declared: Type, actual: Type) -> Type:
    """The declared type of a field if the value is of it; a value of another type is kept as it is."""
    return declared if declared != ANY and unify(declared, actual) == declared else actual


def _inline(
    node: ast.AST, function: types.FunctionType, arguments: Sequence[Value], keywords: dict[str, Value], scope: Scope
) -> Value:
    from morisot.compile import statements

    if scope.depth >= _DEEPEST:
        refuse(node, f"{function.__name__} calls itself, or goes too deep", STAGE)
    try:
        return statements.inline(function, arguments, keywords, scope)
    except Refused as refused:
        if scope.depth > 0:
            raise
        inner = refused.refusal
        same_file = function.__code__.co_filename == scope.function.__code__.co_filename
        line = inner.line if same_file else getattr(node, "lineno", None)
        raise Refused(Refusal(f"in {function.__name__}: {inner.reason}", line, inner.advice)) from None

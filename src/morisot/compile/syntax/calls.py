"""Calls: of functions in the table, methods, record classes, and the user's own functions, which are read in turn."""

from __future__ import annotations

import ast
import dataclasses
import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeGuard

from morisot.compile.ir.values import Known, Set, constant, convert, pack
from morisot.compile.syntax import access, comprehensions, iteration, lookups, try_except
from morisot.compile.syntax.scope import Refused, Scope, refuse
from morisot.compile.syntax.scope import known as from_object
from morisot.compile.syntax.translate import (
    STAGE,
    comes_with_python,
    expression,
    shown,
    translates,
    usable,
    value,
    value_of,
)
from morisot.compile.table import functions as known
from morisot.compile.table import methods, records, rows
from morisot.compile.verdict import Refusal, Value
from morisot.types.element import ANY, NONE, Dict, List, Record, Tuple, Type
from morisot.types.infer import is_record_class, of_record_class, unify

DEEPEST = 16
"""How deep calls of the user's functions are followed; deeper is most likely recursion."""

Argument = Value | Known
Special = Callable[[ast.AST, Sequence[Argument], dict[str, Argument], Scope], "Value | Known"]
Callee = Callable[[ast.AST, Any, Sequence[Argument], dict[str, Argument], Scope], Value]
SPECIAL: dict[Any, Special] = {}
CALLABLE_CLASSES: dict[type, Callee] = {}
UNREAD: dict[Any, Callable[[ast.Call, Scope], Value]] = {}
"""Functions that are given the syntax of their arguments: what these are is theirs to say."""
SPECIAL_METHODS: dict[tuple[Any, str], Callable[[ast.Call, Value, Scope], Value]] = {}
"""By the owner's type, or the class of it."""
OBJECT_METHODS: dict[type, Callable[[ast.Call, Any, str, Scope], Value]] = {}
"""Methods of captured objects of a class."""

_ORDERLESS = frozenset({len, sorted, min, max, sum, set, frozenset, bool})
"""Functions for which the order of a set's items makes no difference."""


def special(function: object) -> Callable[[Special], Special]:
    """Registers the rule for a function that no row can describe."""

    def register(rule: Special) -> Special:
        SPECIAL[function] = rule
        return rule

    return register


def _without_order(node: ast.AST, function: object, argument: Argument) -> Argument:
    """A set, or a tuple, as the list of its items."""
    if isinstance(argument, Value) and isinstance(argument.type, Set):
        return Value(List(argument.type.item), pack(argument))
    if isinstance(argument, Value) and isinstance(argument.type, Tuple) and function in (min, max, sum, sorted):
        return iteration.list_of(node, argument.items)
    return argument


def callable_class(cls: type) -> Callable[[Callee], Callee]:
    """Registers the rule for objects of a class that are called."""

    def register(rule: Callee) -> Callee:
        CALLABLE_CLASSES[cls] = rule
        return rule

    return register


@translates(ast.Call)
def call(node: ast.Call, scope: Scope) -> Value | Known:
    """`f(x)` and `x.f()`."""
    if any(isinstance(argument, ast.Starred) for argument in node.args) or any(k.arg is None for k in node.keywords):
        refuse(node, "a call with * or ** has no column form", STAGE)
    if isinstance(node.func, ast.Attribute):
        owner = expression(node.func.value, scope)
        if isinstance(owner, Value):
            return _method(node, node.func.attr, usable(owner, node.func.value), scope)
        if type(owner.object) is dict and node.func.attr == "get":
            return lookups.get(node, owner.object, [value(one, scope) for one in node.args], scope)
        if type(owner.object) is list and node.func.attr in ("index", "count"):
            return lookups.place(node, node.func.attr, owner.object, [value(one, scope) for one in node.args], scope)
        if type(owner.object) in OBJECT_METHODS:
            return OBJECT_METHODS[type(owner.object)](node, owner.object, node.func.attr, scope)
    function = expression(node.func, scope)
    if isinstance(function, Value):
        refuse(node, f"a value of type {function.type} is called", STAGE)
    called = function.object
    if (isinstance(called, type) and called in CALLABLE_CLASSES) or called == str.maketrans:
        return _make(node, called, scope)
    if _is_hashable(called) and called in UNREAD:
        return UNREAD[called](node, scope)
    refuse_unknown(node, called)
    if (called is any or called is all) and len(node.args) == 1 and not node.keywords:
        return comprehensions.quantified("exists" if called is any else "forall", node.args[0], scope)
    consumes = _is_hashable(called) and called in comprehensions.CONSUMERS
    arguments = [expression(comprehensions.listed(one) if consumes else one, scope) for one in node.args]
    keywords = {keyword.arg or "": expression(keyword.value, scope) for keyword in node.keywords}
    return applied(node, called, arguments, keywords, scope)


def apply(
    node: ast.AST, function: object, arguments: Sequence[Argument], keywords: dict[str, Argument], scope: Scope
) -> Value:
    """The result of calling a Python object on symbolic values, which has to be a value."""
    return value_of(applied(node, function, arguments, keywords, scope), node)


def applied(
    node: ast.AST, function: object, arguments: Sequence[Argument], keywords: dict[str, Argument], scope: Scope
) -> Value | Known:
    """The result of calling a Python object on symbolic values; a set of constants is no value, but known."""
    refuse_unknown(node, function)
    if _is_hashable(function) and function in _ORDERLESS and len(arguments) == 1:
        arguments = [_without_order(node, function, arguments[0])]
    if type(function) in CALLABLE_CLASSES:
        return CALLABLE_CLASSES[type(function)](node, function, arguments, keywords, scope)
    if _is_hashable(function) and function in SPECIAL:
        return SPECIAL[function](node, arguments, keywords, scope)
    if isinstance(function, type) and is_record_class(function):
        return construct(node, function, arguments, keywords)
    if _is_users(function):
        return inline(node, function, arguments, keywords, scope)
    if isinstance(function, types.MethodType):
        return inline(node, _of_class(node, function), [Known(function.__self__), *arguments], keywords, scope)
    if isinstance(function, types.MethodDescriptorType) and function.__objclass__ is str and arguments and not keywords:
        owner, *rest = (value_of(one, node) for one in arguments)
        return _apply_method(node, function.__name__, usable(owner, node), rest, scope)
    return by_table(node, function, arguments, keywords, scope)


def _of_class(node: ast.AST, method: types.MethodType) -> types.FunctionType:
    """The function of a classmethod of the user's."""
    if not isinstance(method.__self__, type) or not _is_users(method.__func__):
        refuse(node, f"the method {method.__name__} of an object has no column form", STAGE)
    return method.__func__


def _make(node: ast.Call, cls: Any, scope: Scope) -> Known:
    """`itemgetter(1)`, `partial(f, 2)`, `str.maketrans("a", "b")`: an object made of constants."""
    found = [expression(one, scope) for one in (*node.args, *(keyword.value for keyword in node.keywords))]
    constants = [(True, one.object) if isinstance(one, Known) else rows.constant_of(one) for one in found]
    if not all(known_ for known_, _ in constants):
        refuse(node, f"{shown(cls)} of what is not constant has no column form", STAGE)
    objects = [one for _, one in constants]
    names = [keyword.arg or "" for keyword in node.keywords]
    places = len(node.args)
    try:
        return Known(cls(*objects[:places], **dict(zip(names, objects[places:], strict=True))))
    except Exception as error:  # what fails on constants fails on every element: Python will say how
        refuse(node, f"{ast.unparse(node)} always fails: {error}")


def by_table(
    node: ast.AST, function: object, arguments: Sequence[Argument], keywords: dict[str, Argument], scope: Scope
) -> Value:
    """The result by the first row of the function that fits the arguments."""
    found, name = _rows_of(function), shown(function)
    if keywords:
        refuse(node, f"{name}({min(keywords)}=…) has no column form", STAGE)
    values = [value_of(argument, node) for argument in arguments]
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


def refuse_unknown(node: ast.AST, function: object) -> None:
    """Refuse what is in no table before its arguments, which may be of any kind, are looked at."""
    if _rows_of(function) or _is_users(function) or isinstance(function, types.MethodDescriptorType):
        return
    if isinstance(function, types.MethodType) and isinstance(function.__self__, type):
        return
    if type(function) in CALLABLE_CLASSES or (isinstance(function, type) and is_record_class(function)):
        return
    if function is any or function is all or (_is_hashable(function) and (function in SPECIAL or function in UNREAD)):
        return
    if getattr(function, "__module__", None) == "math":
        refuse(node, f"{shown(function)} has no exact column form (the JVM's libm differs in the last bit)", STAGE)
    refuse(node, f"{shown(function)} has no column form", STAGE)


def _is_users(function: object) -> TypeGuard[types.FunctionType]:
    """Whether a function is the user's own, or a library's: one to read in turn. Python's own hide too much."""
    return isinstance(function, types.FunctionType) and not comes_with_python(function)


def _rows_of(function: object) -> tuple[rows.Row, ...]:
    return known.FUNCTIONS.get(function, ()) if _is_hashable(function) else ()


def _is_hashable(function: object) -> bool:
    """An object that cannot be hashed is in no table."""
    try:
        hash(function)
    except Exception:  # the user's own __hash__ may fail in any way
        return False
    return True


def _folded(function: object, arguments: Sequence[Value]) -> Value | None:
    """Python's own result where all arguments are constants."""
    constants = [rows.constant_of(argument) for argument in arguments]
    if not constants or not all(found for found, _ in constants):
        return None
    try:
        return constant(function(*(argument for _, argument in constants)))  # type: ignore[operator]
    except Exception:  # what fails on constants fails on every element; the form of the row says so
        return None


def _by_row(node: ast.AST, name: str, table: Sequence[rows.Row], arguments: Sequence[Value], scope: Scope) -> Value:
    row = rows.find(table, arguments)
    if row is None:
        shown = ", ".join(str(argument.type) for argument in arguments)
        refuse(node, f"{name}({shown}) has no exact column form", STAGE)
    return rows.apply(row, arguments, scope.small)


def _method(node: ast.Call, name: str, owner: Value, scope: Scope) -> Value:
    if isinstance(owner.type, Record):
        return _record_method(node, name, owner, scope)
    rule = SPECIAL_METHODS.get((owner.type, name)) or SPECIAL_METHODS.get((type(owner.type), name))
    if rule is not None:
        return rule(node, owner, scope)
    arguments = [value(comprehensions.listed(one) if name == "join" else one, scope) for one in node.args]
    if isinstance(owner.type, Dict):
        return access.dict_method(node, name, owner, arguments, scope)
    for keyword in node.keywords:
        order = methods.KEYWORDS.get(name, ())
        if keyword.arg not in order or order.index(keyword.arg) > len(arguments):
            refuse(node, f".{name}({keyword.arg}=…) has no column form", "pass the argument by position")
        if order.index(keyword.arg) == len(arguments):
            arguments.append(value(keyword.value, scope))
    return _apply_method(node, name, owner, arguments, scope)


def _record_method(node: ast.Call, name: str, owner: Value, scope: Scope) -> Value:
    """A method of a record's class, read like any function; `_replace` is known."""
    from morisot.compile.table import special_functions

    assert isinstance(owner.type, Record)
    arguments = [expression(one, scope) for one in node.args]
    keywords = {keyword.arg or "": expression(keyword.value, scope) for keyword in node.keywords}
    found = records.class_attribute(owner.type.cls, name)
    if name == "_replace" and owner.type.is_tuple and not arguments and comes_with_python(found):
        return special_functions.with_fields(node, owner, keywords)
    if isinstance(found, staticmethod):
        return apply(node, found.__func__, arguments, keywords, scope)
    if not _is_users(found):
        refuse(node, f"the method {name} of {owner.type} has no exact column form", STAGE)
    return inline(node, found, [owner, *arguments], keywords, scope)


def _apply_method(node: ast.AST, name: str, owner: Value, arguments: list[Value], scope: Scope) -> Value:
    found = methods.METHODS.get((owner.type, name), ())
    if not found:
        refuse(node, f"the method {name} of {owner.type} has no exact column form", STAGE)
    usables = [argument if argument.type == NONE else usable(argument, node) for argument in arguments]
    return _by_row(node, f"{owner.type}.{name}", found, [owner, *usables], scope)


def construct(node: ast.AST, cls: type, arguments: Sequence[Argument], keywords: dict[str, Argument]) -> Value:
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
        given.setdefault(name, from_object(default))
    missing = [name for name in declared.names if name not in given]
    if missing:
        refuse(node, f"{cls.__name__} gets no {missing[0]}")
    values = [value_of(given[name], node) for name in declared.names]
    types_ = tuple(_fitting(type_, item.type) for type_, item in zip(declared.items, values, strict=True))
    return Value(Record(cls, declared.names, types_), items=tuple(map(convert, values, types_)))


def _fitting(declared: Type, actual: Type) -> Type:
    """The declared type of a field if the value is of it; a value of another type is kept as it is."""
    return declared if declared != ANY and unify(declared, actual) == declared else actual


def inline(
    node: ast.AST,
    function: types.FunctionType,
    arguments: Sequence[Argument],
    keywords: dict[str, Argument],
    scope: Scope,
) -> Value:
    """The result of a call of the user's own function, read where it is called."""
    from morisot.compile.syntax import statements

    if scope.depth >= DEEPEST:
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


@dataclass(frozen=True, eq=False)
class Inner:
    """A lambda inside a function, called where it is passed to: what it reads has not changed since."""

    __name__: ClassVar[str] = "a lambda inside"
    node: ast.Lambda
    scope: Scope


@translates(ast.Lambda)
def _lambda(node: ast.Lambda, scope: Scope) -> Known:
    spec = node.args
    if spec.vararg or spec.kwarg or spec.kwonlyargs or spec.defaults:
        refuse(node, "a lambda inside has no column form unless its parameters are plain", STAGE)
    return Known(Inner(node, scope))


@callable_class(Inner)
def _call_inner(
    node: ast.AST, function: Inner, arguments: Sequence[Argument], keywords: dict[str, Argument], scope: Scope
) -> Value:
    names = [one.arg for one in (*function.node.args.posonlyargs, *function.node.args.args)]
    if keywords or len(names) != len(arguments):
        refuse(node, f"a lambda of {len(names)} parameters gets {len(arguments) + len(keywords)} arguments")
    bound = {**function.scope.names, **dict(zip(names, arguments, strict=True))}
    inner = dataclasses.replace(scope.forked(), function=function.scope.function, names=bound)
    owed = len(scope.sharing.debts)
    for argument in arguments:
        if isinstance(argument, Value):
            inner.owe(argument)
    return inner.settle(value(function.node.body, inner), owed)

"""Symbolic values: how Python's values are represented by columns, merged after branches, and tested for truth."""

from __future__ import annotations

import dataclasses
import datetime as dt
from dataclasses import dataclass
from typing import Any

from morisot.compile.ir.expressions import Call, Case, Expr, Field, Input, Literal, Raise, Struct
from morisot.compile.table import records
from morisot.compile.verdict import Value
from morisot.types.element import (
    ANY,
    BOOL,
    BYTES,
    DATE,
    DATETIME,
    FLOAT,
    INT,
    NONE,
    STR,
    Decimal,
    Dict,
    Keyed,
    List,
    Optional,
    Product,
    Record,
    Scalar,
    Tuple,
    Type,
    contains_any,
)
from morisot.types.infer import of_value, unify, without_none

TRUE = Literal(True, BOOL)
FALSE = Literal(False, BOOL)
EMPTY_LIST = List(NONE)
"""The type of `[]` as long as the type of its items is unknown."""

DELTA = Scalar("timedelta")
"""A timedelta inside a closure, as its microseconds. No column holds a timedelta, so no closure returns one."""

DAY = Scalar("calendar.Day")
"""A weekday that the module calendar returns. From Python 3.12 on it is an enum, which no column holds."""

NEVER = Scalar("never")
"""The type of code that raises on every path. It joins with any other type."""


@dataclass(frozen=True)
class Set(Type):
    """A set inside a closure, as the list of its distinct items. No column holds a set, so no closure returns one."""

    item: Type

    def __str__(self) -> str:
        return f"set[{self.item}]"


@dataclass(frozen=True)
class Match(Type):
    """A match of a regular expression inside a closure, as the text that was searched."""

    pattern: str
    groups: int
    sure: frozenset[int]
    """The groups that take part in every match."""

    def __str__(self) -> str:
        return "re.Match"


_CONSTANT_CLASSES = (int, float, bool, str, bytes, type(None), dt.date, dt.datetime)


@dataclass(frozen=True)
class Known:
    """A Python object known while compiling that is not a column: a function, a class, a module, a set."""

    object: Any


def parameter(index: int, type_: Type, path: tuple[int, ...] = ()) -> Value:
    """The value of a closure's parameter: one input column for each leaf."""
    if not isinstance(type_, Product):
        return Value(type_, Input(index, path))
    items = tuple(parameter(index, child, (*path, position)) for position, (_, child) in enumerate(type_.children))
    return Value(_plain(type_), items=items)


def _plain(type_: Type) -> Type:
    """The user's function gets a keyed pair as a plain tuple."""
    return Tuple((type_.key, type_.value)) if isinstance(type_, Keyed) else type_


def constant(value: Any) -> Value | None:
    """A captured or literal constant as a value; None if it has no column form (see `Known`)."""
    if type(value) in _CONSTANT_CLASSES:
        type_ = of_value(value)
        # -0.0 has no column form: Spark merges 0.0 and -0.0 in the branches of a CASE
        negative_zero = type_ == FLOAT and str(value) == "-0.0"
        return None if type_ == ANY or negative_zero else Value(type_, Literal(value, type_))
    if type(value) is dt.timedelta:
        duration = value // dt.timedelta(microseconds=1)
        return Value(DELTA, Literal(duration, INT)) if -(2**63) <= duration < 2**63 else None
    if not isinstance(value, tuple):
        return None
    items = tuple(constant(item) for item in value)
    type_ = of_value(value)
    if not isinstance(type_, Product) or None in items:
        return None
    fitted = (item and convert(item, child) for item, (_, child) in zip(items, type_.children, strict=True))
    return Value(type_, items=tuple(item for item in fitted if item))


def literal_of(value: Value) -> Literal | None:
    """The literal of a constant value; None for other values."""
    return value.expr if isinstance(value.expr, Literal) else None


def field_names(type_: Type) -> tuple[str, ...]:
    """The field names of a product that is represented by one struct."""
    if isinstance(type_, Record):
        return type_.names
    return tuple(f"_{index}" for index in range(len(type_.children)))


def expand(type_: Type, expr: Expr) -> Value:
    """The value that one column holds. The parts of a product are the fields of a struct."""
    if not isinstance(type_, Product):
        return Value(type_, expr)
    fields = zip(field_names(type_), type_.children, strict=True)
    return Value(_plain(type_), items=tuple(expand(child, Field(expr, name)) for name, (_, child) in fields))


def pack(value: Value) -> Expr:
    """The value as one column, the inverse of `expand`."""
    if value.expr is not None:
        return value.expr
    return Struct(field_names(value.type), tuple(map(pack, value.items)))


def join_types(left: Type, right: Type) -> Type | None:
    """The common type of two values; None where one column could not hold both without changing them."""
    if right in (left, NEVER):
        return left
    if left == NEVER:
        return right
    if EMPTY_LIST in (left, right) and isinstance(left, List) and isinstance(right, List):
        return right if left == EMPTY_LIST else left
    joined = unify(left, right)
    return None if contains_any(joined) else joined


def convert(value: Value, type_: Type) -> Value:
    """The same Python value, as a column of a wider type (see `join_types`)."""
    if value.type == type_:
        return value
    if value.type == NEVER and isinstance(type_, Product):
        return Value(type_, items=tuple(convert(value, child) for _, child in type_.children))
    if value.type == NEVER:
        return Value(type_, pack(value))
    if value.type == NONE:
        return Value(type_, Literal(None, type_))
    if isinstance(type_, Product):
        children = (child for _, child in type_.children)
        return Value(type_, items=tuple(map(convert, value.items, children)))
    if value.type == EMPTY_LIST:
        return Value(type_, Literal((), type_))
    if isinstance(type_, Optional) and not isinstance(value.type, Optional):
        return Value(type_, pack(convert(value, type_.inner)))
    return Value(type_, pack(value))


def choose(condition: Expr, then: Value, otherwise: Value) -> Value | None:
    """`then if condition else otherwise`; None where the two have no common type."""
    joined = join_types(then.type, otherwise.type)
    if joined is None:
        return None
    then, otherwise = convert(then, joined), convert(otherwise, joined)
    if isinstance(joined, Product):
        items = tuple(choose(condition, a, b) for a, b in zip(then.items, otherwise.items, strict=True))
        return Value(joined, items=tuple(item for item in items if item))
    return Value(joined, when(condition, pack(then), pack(otherwise)))


def when(condition: Expr, then: Expr, otherwise: Expr) -> Expr:
    """CASE WHEN in its simplest form: Spark pushes `a AND b` down to a source, but not a CASE."""
    if condition == TRUE or (then == otherwise and not condition.raises):
        return then
    if then == otherwise:  # of a CASE with equal branches Spark would not evaluate the condition, which may fail
        return Case(((Call("evaluated", (condition,)), then),), Raise("an unused expression"))
    if condition == FALSE:
        return otherwise
    if (then, otherwise) == (TRUE, FALSE):
        return condition
    if (then, otherwise) == (FALSE, TRUE):
        return negate(condition)
    if isinstance(otherwise, Case):
        return Case(((condition, then), *otherwise.branches), otherwise.otherwise)
    return Case(((condition, then),), otherwise)


def conjunction(left: Expr, right: Expr) -> Expr:
    """`left and right` of two bools. It is a CASE where a side can fail, because Spark evaluates AND in any order."""
    if TRUE in {left, right}:
        return right if left == TRUE else left
    return when(left, right, FALSE) if left.raises or right.raises else Call("and", (left, right))


def disjunction(left: Expr, right: Expr) -> Expr:
    """`left or right` of two bools."""
    if FALSE in {left, right}:
        return right if left == FALSE else left
    return when(left, TRUE, right) if left.raises or right.raises else Call("or", (left, right))


def negate(condition: Expr) -> Expr:
    """`not condition` of a bool."""
    match condition:
        case Call("not", (inner,)):
            return inner
        case Call("is_null", arguments):
            return Call("is_not_null", arguments)
        case Call("is_not_null", arguments):
            return Call("is_null", arguments)
        case Literal(bool() as value):
            return Literal(not value, BOOL)
        case _:
            return Call("not", (condition,))


def is_none(value: Value) -> Expr:
    """`value is None`."""
    if isinstance(value.type, Optional):
        return Call("is_null", (pack(value),))
    return Literal(value.type == NONE, BOOL)


def required(value: Value) -> Value:
    """The value, with a guard against None: Python's operators fail on None, so the column fails too."""
    if not isinstance(value.type, Optional):
        return value
    expr = pack(value)
    missing = Raise("None where a value is needed")
    return expand(without_none(value.type), Case(((Call("is_not_null", (expr,)), expr),), missing))


def required_parts(value: Value) -> Value:
    """The value, with a guard against None for each part of it."""
    if value.expr is not None or not isinstance(value.type, Tuple | Record):
        return required(value)
    items = tuple(map(required_parts, value.items))
    return Value(dataclasses.replace(value.type, items=tuple(item.type for item in items)), items=items)


def truth(value: Value) -> Expr | None:
    """`bool(value)`; None if the type has no column form for it."""
    type_, expr = value.type, value.expr
    match type_:
        case Optional(inner):
            inside = truth(expand(inner, pack(value)))
            if isinstance(inside, Literal):  # it does not depend on the value
                return Call("is_not_null", (pack(value),)) if inside.value else FALSE
            return inside and Call("coalesce", (inside, FALSE))
        case Tuple():
            return Literal(bool(type_.items), BOOL)
        case Record(cls):
            return TRUE if records.is_always_true(cls) else None
        case Match():
            return TRUE if expr is None else Call("is_not_null", (expr,))
        case List() | Dict() | Set() if expr is not None:
            return Call("greater", (Call("size", (expr,)), Literal(0, INT)))
    if expr is None:
        return None
    if type_ == BOOL:
        return expr
    if type_ == DELTA:
        return Call("unequal", (expr, Literal(0, INT)))
    zero = {INT: 0, FLOAT: 0.0, STR: "", BYTES: b""}
    if type_ in zero:
        return Call("unequal", (expr, Literal(zero[type_], type_)))
    return Literal(type_ != NONE, BOOL) if type_ in {NONE, DATE, DATETIME} else None


def facts(condition: Expr, truth_: bool) -> dict[Expr, bool]:
    """The columns known to be None (True) or not None (False) where `condition` has the value `truth_`."""
    match condition:
        case Call("is_null", (expr,)):
            return {expr: truth_}
        case Call("is_not_null", (expr,)):
            return {expr: not truth_}
        case Call("not", (inner,)):
            return facts(inner, not truth_)
        case Call("and", (left, right)) if truth_:
            return facts(left, True) | facts(right, True)
        case Call("or", (left, right)) if not truth_:
            return facts(left, False) | facts(right, False)
        case Case(((left, right),), otherwise) if truth_ and otherwise == FALSE:
            return facts(left, True) | facts(right, True)
        case Case(((left, then),), right) if not truth_ and then == TRUE:
            return facts(left, False) | facts(right, False)
        case Call("coalesce", (Call("is_not_null", (expr,)), otherwise)) if otherwise == FALSE:
            return {expr: not truth_}
        case Call("coalesce", (inside, otherwise)) if truth_ and otherwise == FALSE:
            return dict.fromkeys(_strict_operands(inside), False)
        case _:
            return {}


def _strict_operands(expr: Expr) -> tuple[Expr, ...]:
    """The expressions that cannot be NULL if `expr`, one of the tests that `truth` builds, is true."""
    match expr:
        case Call("unequal", (operand, Literal())) | Call("greater", (Call("size", (operand,)), Literal())):
            return (operand,)
        case _:
            return (expr,)


def refine(value: Value, known: dict[Expr, bool]) -> Value:
    """The value with a narrower type, given the columns that are known to be None or not None."""
    if not known:
        return value
    if isinstance(value.type, Tuple | Record) and value.expr is None:
        items = tuple(refine(item, known) for item in value.items)
        types = tuple(old if new.type == NONE else new.type for old, new in zip(value.type.items, items, strict=True))
        if types == value.type.items:
            return value
        return Value(dataclasses.replace(value.type, items=types), items=tuple(map(convert, items, types)))
    if not isinstance(value.type, Optional) or value.expr not in known:
        return value
    if known[value.expr]:
        return Value(NONE, Literal(None, NONE))
    return expand(value.type.inner, value.expr)


def is_opaque(type_: Type) -> bool:
    """Whether values of the type can only be passed on, because their content is unknown."""
    return type_ in (ANY, DAY) or isinstance(type_, Decimal)

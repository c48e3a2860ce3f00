"""The types of results of operators and comparisons on values of known types."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from morisot.compile.ir.values import Known
from morisot.compile.result_types.domain import (
    DELTA,
    INTS,
    NUMBER,
    NUMBERS,
    WIDE,
    Found,
    Items,
    Mapping,
    Matched,
    is_plain,
    join,
    type_of,
)
from morisot.types.element import (
    ANY,
    BOOL,
    BYTES,
    DATE,
    DATETIME,
    FLOAT,
    INT,
    STR,
    Decimal,
    List,
    Optional,
    Tuple,
    Type,
)
from morisot.types.infer import without_none

_LARGEST_POWER = 8
"""The largest constant exponent whose result is assumed to fit 64 bits, as in column forms."""


def binary(operator: ast.operator, left: Found, right: Found) -> Type:
    """The type of `left + right` and other operators. None has no operators, so it is ruled out."""
    a, b = _operand(left), _operand(right)
    if a in NUMBERS and b in NUMBERS:
        return _NUMERIC[type(operator)](a, b, left, right) if type(operator) in _NUMERIC else ANY
    texts = _on_text(operator, a, b)
    if texts is not None:
        return texts
    if NUMBER in (a, b) and {a, b} <= INTS | {NUMBER} and isinstance(operator, _ON_DECIMALS):
        return NUMBER
    moment = _TEMPORAL.get((type(operator), a, b))
    return moment if moment is not None else _on_containers(operator, a, b)


def _operand(found: Found) -> Type:
    type_ = without_none(type_of(found))
    return NUMBER if isinstance(type_, Decimal) else type_


def _sum(a: Type, b: Type, *_: Found) -> Type:
    if FLOAT in (a, b):
        return FLOAT
    return WIDE if WIDE in (a, b) else INT


def _quotient(a: Type, b: Type, *_: Found) -> Type:
    if FLOAT in (a, b):
        return FLOAT
    return WIDE if a == WIDE else INT


def _remainder(a: Type, b: Type, *_: Found) -> Type:
    if FLOAT in (a, b):
        return FLOAT
    return WIDE if b == WIDE else INT


def _power(a: Type, b: Type, left: Found, right: Found) -> Type:
    """A negative exponent makes a float of an int, a negative base with a fraction as exponent a complex number."""
    if a == FLOAT:
        return FLOAT if b in INTS else ANY
    if b == FLOAT:
        return FLOAT if isinstance(left, Known) and left.object > 0 else ANY
    if not isinstance(right, Known) or right.object < 0:
        return ANY
    return INT if right.object <= _LARGEST_POWER and a != WIDE else WIDE


def _shifted_left(a: Type, b: Type, _: Found, right: Found) -> Type:
    if FLOAT in (a, b):
        return ANY
    return INT if isinstance(right, Known) and a != WIDE else WIDE


def _shifted_right(a: Type, b: Type, *_: Found) -> Type:
    if FLOAT in (a, b):
        return ANY
    return WIDE if a == WIDE else INT


def _bits(a: Type, b: Type, *_: Found) -> Type:
    if FLOAT in (a, b):
        return ANY
    if a == b == BOOL:
        return BOOL
    return WIDE if WIDE in (a, b) else INT


def _masked(a: Type, b: Type, left: Found, right: Found) -> Type:
    """`x & 255` has at most the bits of a positive constant."""
    found = _bits(a, b)
    masks = (each for each, type_ in ((left, a), (right, b)) if type_ == INT and isinstance(each, Known))
    return INT if found == WIDE and any(mask.object >= 0 for mask in masks) else found


_NUMERIC: dict[type[ast.operator], Callable[..., Type]] = {
    ast.Add: _sum,
    ast.Sub: _sum,
    ast.Mult: _sum,
    ast.Div: lambda *_: FLOAT,
    ast.FloorDiv: _quotient,
    ast.Mod: _remainder,
    ast.Pow: _power,
    ast.LShift: _shifted_left,
    ast.RShift: _shifted_right,
    ast.BitAnd: _masked,
    ast.BitOr: _bits,
    ast.BitXor: _bits,
}
_ON_DECIMALS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod)
_TEMPORAL: dict[tuple[type[ast.operator], Type, Type], Type] = {
    (ast.Sub, DATE, DATE): DELTA,
    (ast.Sub, DATETIME, DATETIME): DELTA,
    (ast.Add, DATE, DELTA): DATE,
    (ast.Add, DELTA, DATE): DATE,
    (ast.Sub, DATE, DELTA): DATE,
    (ast.Add, DATETIME, DELTA): DATETIME,
    (ast.Add, DELTA, DATETIME): DATETIME,
    (ast.Sub, DATETIME, DELTA): DATETIME,
    (ast.Add, DELTA, DELTA): DELTA,
    (ast.Sub, DELTA, DELTA): DELTA,
    (ast.Mod, DELTA, DELTA): DELTA,
    (ast.Div, DELTA, DELTA): FLOAT,
    (ast.FloorDiv, DELTA, DELTA): INT,
    (ast.Mult, DELTA, INT): DELTA,
    (ast.Mult, INT, DELTA): DELTA,
    (ast.Mult, DELTA, FLOAT): DELTA,
    (ast.Mult, FLOAT, DELTA): DELTA,
    (ast.Div, DELTA, INT): DELTA,
    (ast.Div, DELTA, FLOAT): DELTA,
    (ast.FloorDiv, DELTA, INT): DELTA,
}


def _on_text(operator: ast.operator, a: Type, b: Type) -> Type | None:
    match operator:
        case ast.Add() if a == b and a in (STR, BYTES):
            return a
        case ast.Mult() if a in (STR, BYTES) and b in INTS:
            return a
        case ast.Mult() if b in (STR, BYTES) and a in INTS:
            return b
        case ast.Mod() if a in (STR, BYTES) and is_plain(b):
            return a
    return None


def _on_containers(operator: ast.operator, a: Type, b: Type) -> Type:
    match operator, a, b:
        case ast.Add(), List(x), List(y):
            return List(join(x, y))
        case ast.Add(), Tuple(x), Tuple(y):
            return Tuple((*x, *y))
        case ast.Mult(), List(), _ if b in INTS:
            return a
        case ast.Mult(), _, List() if a in INTS:
            return b
        case ast.BitOr(), Mapping(cls=cls), Mapping(cls=other) if cls is other is dict:
            return join(a, b)
        case (ast.BitOr() | ast.BitXor(), Items(cls, x), Items(other, y)) if _are_sets(cls, other):
            return Items(cls, join(x, y))
        case (ast.BitAnd() | ast.Sub(), Items(cls, _), Items(other, _)) if _are_sets(cls, other):
            return a
    return ANY


def _are_sets(cls: type, other: type) -> bool:
    return {cls, other} <= {set, frozenset}


def unary(operator: ast.unaryop, operand: Found) -> Type:
    """The type of `-x`, `+x`, `~x` and `not x`."""
    type_ = _operand(operand)
    if isinstance(operator, ast.Not):
        return BOOL
    if type_ in INTS:
        return WIDE if type_ == WIDE else INT
    if isinstance(operator, ast.Invert):
        return ANY
    return type_ if type_ in (FLOAT, DELTA, NUMBER) else ANY


def element_at(owner: Type, index: Found) -> Type:
    """The type of `owner[index]`. A failing index returns nothing."""
    owner, at = without_none(owner), type_of(index)
    if owner == STR:
        return STR
    if owner == BYTES:
        return INT if at in INTS else ANY
    match owner:
        case List(item) if at in INTS:
            return item
        case Items(cls, item) if at in INTS and cls in (tuple, range):
            return item
        case Mapping(_, value):
            return value
        case Matched():
            return Optional(STR)
        case _ if isinstance(index, Known) and type(index.object) is int:
            return _at_position(owner, index.object)
        case Tuple(items) if at in INTS:
            joined: Type = items[0] if items else ANY
            for item in items:
                joined = join(joined, item)
            return joined
    return ANY


def _at_position(owner: Type, index: int) -> Type:
    items = [child for _, child in owner.children]
    cls: Any = getattr(owner, "cls", tuple)
    fits = isinstance(owner, Tuple) or (issubclass(cls, tuple) and cls.__getitem__ is tuple.__getitem__)
    return items[index] if fits and -len(items) <= index < len(items) else ANY


def slice_of(owner: Type, bounds: tuple[Any, ...] | None) -> Type:
    """The type of `owner[i:j:k]`; `bounds` are its constants, None if they are not known."""
    owner = without_none(owner)
    match owner:
        case List():
            return owner
        case Tuple(items):
            if bounds is None or any(type(each) not in (int, type(None)) for each in bounds) or bounds[2] == 0:
                return ANY
            return Tuple(items[slice(*bounds)])
        case Items(cls, item) if cls is tuple:
            return Items(tuple, item)
    return owner if owner in (STR, BYTES) else ANY

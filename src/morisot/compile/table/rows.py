"""Rows of the table: how the row for some arguments is found, and applied to them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from morisot.compile.exact.forms import Form, Plain
from morisot.compile.ir.expressions import Expr
from morisot.compile.ir.values import DELTA, literal_of
from morisot.compile.verdict import Value
from morisot.types.element import BOOL, FLOAT, INT, Type


@dataclass(frozen=True)
class Constant:
    """An argument that has to be a constant of a class. The form gets the Python value."""

    cls: type
    fits: Callable[[Any], bool] = lambda _: True


Parameter = Type | Constant | type[Type]


@dataclass(frozen=True)
class Row:
    """The result type and the form of one operation on arguments of some types."""

    parameters: tuple[Parameter, ...]
    result: Type
    form: Form


_WIDER = {(BOOL, INT), (BOOL, FLOAT), (INT, FLOAT)}
_WIDEN: dict[tuple[Type, Type], Form] = {
    (BOOL, INT): Plain("bigint"),
    (BOOL, FLOAT): Plain("double_of_bool"),
    (INT, FLOAT): Plain("double"),
}


def find(rows: Sequence[Row], arguments: Sequence[Value], *, widen: bool = False) -> Row | None:
    """The first row whose parameters fit the arguments. `widen` also allows Python's conversions of numbers."""
    exact = (row for row in rows if _fits(row, arguments, widen=False))
    wider = (row for row in rows if widen and _fits(row, arguments, widen=True))
    return next(exact, None) or next(wider, None)


def _fits(row: Row, arguments: Sequence[Value], *, widen: bool) -> bool:
    if len(row.parameters) != len(arguments):
        return False
    return all(
        _accepts(parameter, value, widen=widen) for parameter, value in zip(row.parameters, arguments, strict=True)
    )


def _accepts(parameter: Parameter, value: Value, *, widen: bool) -> bool:
    match parameter:
        case Constant(cls, fits):
            known, found = constant_of(value)
            return known and type(found) is cls and fits(found)
        case Type():
            return value.type == parameter or (widen and (value.type, parameter) in _WIDER)
        case _:
            return isinstance(value.type, parameter)


def constant_of(value: Value) -> tuple[bool, Any]:
    """Whether a value is a constant, and its Python object."""
    literal = literal_of(value)
    if literal is not None and value.type == DELTA:
        return True, dt.timedelta(microseconds=literal.value)
    if literal is not None:
        return True, literal.value
    if value.expr is not None:
        return False, None
    items = [constant_of(item) for item in value.items]
    return all(known for known, _ in items), tuple(item for _, item in items)


def apply(row: Row, arguments: Sequence[Value], small: Callable[[Value], Value]) -> Value:
    """Applies the row's form to the arguments. `small` makes an argument cheap to repeat."""
    once = isinstance(row.form, Plain)
    built = []
    for parameter, value in zip(row.parameters, arguments, strict=True):
        if isinstance(parameter, Constant):
            built.append(constant_of(value)[1])
            continue
        expr = (value if once else small(value)).expr
        assert expr is not None, f"{value.type} is not one column"
        built.append(_widened(expr, value.type, parameter))
    return Value(row.result, row.form(*built))


def _widened(expr: Expr, type_: Type, parameter: Parameter) -> Expr:
    return _WIDEN[type_, parameter](expr) if isinstance(parameter, Type) and (type_, parameter) in _WIDER else expr

"""Building blocks of exact forms. The forms themselves are in the other modules of this package.

A form gives CPython's value or fails. It may refuse some inputs (Python then runs the job again), but it never gives
another value. Each was compared with CPython 3.11 on Spark 4.3 with ANSI arithmetic. Where a simpler form looks right
and is not, the docstring says so. Forms may repeat their arguments, so the caller passes small ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from morisot.compile.ir.expressions import Call, Expr, Literal, Raise
from morisot.compile.ir.values import when
from morisot.types.element import INT, STR

Form = Callable[..., Expr]


@dataclass(frozen=True)
class Plain:
    """A form that is a single call. It uses each argument once, so arguments may be of any size."""

    name: str
    fails: bool = False

    def __call__(self, *arguments: Expr) -> Expr:
        return Call(self.name, arguments, self.fails)


def integer(value: int) -> Literal:
    return Literal(value, INT)


def text(value: str) -> Literal:
    return Literal(value, STR)


def call(name: str, *arguments: Expr) -> Call:
    return Call(name, arguments)


def checked(name: str, *arguments: Expr) -> Call:
    """A call of a function that fails on some input: overflow, division by zero."""
    return Call(name, arguments, fails=True)


def guard(condition: Expr, value: Expr, reason: str) -> Expr:
    """`value` where the condition holds; elsewhere the expression fails, and the element is left to Python."""
    return when(condition, value, Raise(reason))


def number(expr: Expr) -> float | None:
    """The value of a constant number; None for other expressions."""
    return expr.value if isinstance(expr, Literal) and type(expr.value) in (int, float) else None

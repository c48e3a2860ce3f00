"""Operators inside kernels: checked arithmetic that gives CPython's value, or leaves the row to Python."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any, TypeGuard

from morisot.compile.kernel.terms import Term, Writer, is_list, literal
from morisot.compile.syntax.scope import refuse
from morisot.compile.syntax.translate import STAGE
from morisot.types.element import BOOL, FLOAT, INT, NONE, NUMBERS, Product, Record, Tuple

LEAST = "(-9223372036854775807 - 1)"
EXACT = 2**53
"""Every int up to this limit is exactly a float."""

_FOLDS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
}
_CHECKED = {ast.Add: "add", ast.Sub: "subtract", ast.Mult: "multiply"}
_BITS = {ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^"}
_PLAIN = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*"}
_COMPARISONS = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}


def number(node: ast.AST, term: Term) -> Term:
    """A term that arithmetic can be done with; a bool counts as 0 or 1."""
    if term.type == BOOL:
        return integer(term)
    if term.type not in NUMBERS:
        refuse(node, f"{ast.unparse(node) or 'the value'} is {term.type}: a kernel works on numbers", STAGE)
    return term


def integer(term: Term) -> Term:
    """A bool as 0 or 1; an int as it is."""
    if term.type == INT:
        return term
    if term.constant is not None:
        return Term(INT, str(int(term.constant)), constant=int(term.constant))
    return Term(INT, f"int({term.text})")


def floating(term: Term) -> Term:
    """A number as a float, rounded as CPython rounds it."""
    if term.type == FLOAT:
        return term
    if term.constant is not None:
        found = literal(float(term.constant))
        assert isinstance(found, Term)
        return found
    return Term(FLOAT, f"float({integer(term).text})")


def binary(out: Writer, node: ast.AST, op: ast.operator, left: Term, right: Term) -> Term:
    """`left op right`."""
    if left.constant is not None and right.constant is not None:
        folded = _fold(node, op, left.constant, right.constant)
        if folded is not None:
            return folded
    if type(op) in _BITS and left.type == right.type == BOOL:
        return Term(BOOL, f"({left.text} {_BITS[type(op)]} {right.text})")
    if isinstance(op, ast.Add) and isinstance(left.type, Tuple) and isinstance(right.type, Tuple):
        return Term(Tuple(left.type.items + right.type.items), items=left.items + right.items)
    left, right = number(node, left), number(node, right)
    if left.type == right.type == INT:
        return _of_ints(out, node, op, out.atom(left), out.atom(right))
    return _of_floats(out, node, op, out.short(floating(left)), out.short(floating(right)))


def _fold(node: ast.AST, op: ast.operator, left: Any, right: Any) -> Term | None:
    """Python's own result for constants."""
    if isinstance(op, ast.Pow | ast.LShift) and abs(right) > 1100:
        return None
    try:
        found = literal(_FOLDS[type(op)](left, right))
    except Exception as error:  # an operation that fails on constants fails on every row: Python raises its exception
        refuse(node, f"{ast.unparse(node)} always fails: {error}")
    if not isinstance(found, Term):
        refuse(node, f"{ast.unparse(node)} is beyond 64 bits", STAGE)
    return found


def _of_ints(out: Writer, node: ast.AST, op: ast.operator, left: Term, right: Term) -> Term:
    a, b = left.text, right.text
    match op:
        case ast.Add() | ast.Sub() | ast.Mult():
            result, overflow = out.new(), out.new()
            out.line(f"{result}, {overflow} = {_CHECKED[type(op)]}({a}, {b})")
            out.bad_if(overflow)
            return Term(INT, result)
        case ast.BitAnd() | ast.BitOr() | ast.BitXor():
            return Term(INT, f"({a} {_BITS[type(op)]} {b})")
        case ast.FloorDiv():
            _refuse_zero(out, node, right)
            return _floor_division(out, a, right)
        case ast.Mod():
            _refuse_zero(out, node, right)
            return _modulo(out, a, right)
        case ast.Div():
            _refuse_zero(out, node, right)
            for side in (left, right):
                guard_exact(out, side)
            return out.bound(FLOAT, f"float({a}) / float({b})")
        case ast.Pow():
            return _power_of_ints(out, node, left, right)
        case ast.LShift():
            out.bad_if(f"{b} < 0 or {b} > 62")
            result = out.new()
            out.line(f"{result} = {a} << {b}")
            out.bad_if(f"({result} >> {b}) != {a}")
            return Term(INT, result)
        case ast.RShift():
            out.bad_if(f"{b} < 0")
            return out.bound(INT, f"{a} >> min({b}, 63)")
        case _:
            return refuse(node, f"{ast.unparse(node)} has no kernel form", STAGE)


def _floor_division(out: Writer, a: str, divisor: Term) -> Term:
    b, known = divisor.text, divisor.constant
    if _is_power_of_two(known):  # a shift, because numba's // also tests the signs
        return Term(INT, f"({a} >> {known.bit_length() - 1})")
    if known in (None, -1):
        out.bad_if(f"{b} == -1 and {a} == {LEAST}")
    return out.bound(INT, f"{a} // {b}")


def _modulo(out: Writer, a: str, divisor: Term) -> Term:
    b, known = divisor.text, divisor.constant
    if known == -1:
        return Term(INT, "0", constant=0)
    if _is_power_of_two(known):
        return Term(INT, f"({a} & {known - 1})")
    result = out.new()
    if known is not None:
        out.line(f"{result} = {a} % {b}")
        return Term(INT, result)
    with out.block(f"if {b} == -1:"):  # the processor traps on (smallest int) % -1
        out.line(f"{result} = 0")
    with out.block("else:"):
        out.line(f"{result} = {a} % {b}")
    return Term(INT, result)


def _is_power_of_two(value: Any) -> TypeGuard[int]:
    return type(value) is int and value > 0 and value & (value - 1) == 0


def _power_of_ints(out: Writer, node: ast.AST, left: Term, right: Term) -> Term:
    if isinstance(right.constant, int) and right.constant < 0:
        return float_power(out, floating(left), floating(right))
    if right.constant is None or right.constant > 64:
        if right.constant is None:
            out.program.may_differ = f"{ast.unparse(node)} is a float where the exponent is negative"
        done, power = out.new(), out.new()
        out.line(f"{done}, {power} = int_power({left.text}, {right.text})")
        out.bad_if(f"not {done}")
        return Term(INT, power)
    if right.constant == 0:
        return Term(INT, "1", constant=1)
    result = left
    for bit in f"{right.constant:b}"[1:]:  # every intermediate power divides the last one, so none overflows
        result = _of_ints(out, node, ast.Mult(), result, result)
        if bit == "1":
            result = _of_ints(out, node, ast.Mult(), result, left)
    return result


def _of_floats(out: Writer, node: ast.AST, op: ast.operator, left: Term, right: Term) -> Term:
    match op:
        case ast.Add() | ast.Sub() | ast.Mult():
            return Term(FLOAT, f"({left.text} {_PLAIN[type(op)]} {right.text})")
        case ast.Div() | ast.FloorDiv() | ast.Mod():
            right = out.atom(right)
            _refuse_zero(out, node, right)
            if isinstance(op, ast.Div):
                return Term(FLOAT, f"({left.text} / {right.text})")
            name = "float_floor_divide" if isinstance(op, ast.FloorDiv) else "float_modulo"
            return out.bound(FLOAT, f"{name}({left.text}, {right.text})")
        case ast.Pow():
            whole = right.constant is not None and float(right.constant).is_integer()
            positive = left.constant is not None and left.constant > 0
            if not whole and not positive:
                out.program.may_differ = f"{ast.unparse(node)} is complex where its base is negative"
            return float_power(out, left, right)
        case _:
            return refuse(node, f"{ast.unparse(node)} on floats has no kernel form", STAGE)


def float_power(out: Writer, left: Term, right: Term) -> Term:
    """`left ** right` of floats by the C library. Rows that CPython treats specially are left to Python."""
    left, right = out.atom(left), out.atom(right)
    result = out.bound(FLOAT, f"c_pow({left.text}, {right.text})")
    parts = [f"not {finite(term.text)}" for term in (left, right, result) if term.constant is None]
    out.bad_if(" or ".join([*parts, f"({result.text} != 0.0 and abs({result.text}) < 2.3e-308)"]))
    return result


def finite(text: str) -> str:
    """Whether a float is neither infinite nor NaN."""
    return f"(({text} - {text}) == 0.0)"


def _refuse_zero(out: Writer, node: ast.AST, divisor: Term) -> None:
    if divisor.constant is None:
        out.bad_if(f"{divisor.text} == 0")
    elif divisor.constant == 0:
        refuse(node, f"{ast.unparse(node)} always fails: division by zero")


def guard_exact(out: Writer, term: Term) -> None:
    """Leaves the row to Python where an int is not exactly a float."""
    if term.constant is None:
        out.bad_if(f"{term.text} > {EXACT} or {term.text} < -{EXACT}")
    elif abs(term.constant) > EXACT:
        out.line("return BAD")


def unary(out: Writer, node: ast.AST, op: ast.unaryop, term: Term) -> Term:
    """`op term`, but for `not`."""
    if isinstance(op, ast.USub) and term.constant is not None:
        found = literal(-term.constant)
        if isinstance(found, Term):
            return found
    if isinstance(op, ast.Invert) and term.type == BOOL:
        refuse(node, "~ on bool has no kernel form", "use not")
    term = out.atom(number(node, term))
    if isinstance(op, ast.UAdd):
        return term
    if isinstance(op, ast.Invert):
        return Term(INT, f"(~{term.text})") if term.type == INT else refuse(node, "~ on float always fails")
    if term.type == INT:
        out.bad_if(f"{term.text} == {LEAST}")
    return Term(term.type, f"(-{term.text})")


def compare(out: Writer, node: ast.AST, op: ast.cmpop, left: Term, right: Term) -> Term:
    """`left op right`, a bool."""
    if isinstance(op, ast.Is | ast.IsNot) and NONE in (left.type, right.type):
        for side in (left, right):
            if side.is_number:  # the column may hold None: rows with None are left to Python when it is read
                out.snapshot(side)
            elif not isinstance(side.type, Product) and side.type != NONE:
                refuse(node, f"whether a value of type {side.type} is None has no kernel form", STAGE)
        same = left.type == right.type
        return Term(BOOL, str(same == isinstance(op, ast.Is)), constant=same == isinstance(op, ast.Is))
    if isinstance(op, ast.In | ast.NotIn) and isinstance(right.type, Tuple):
        return _among(out, node, left, right, isinstance(op, ast.NotIn))
    if type(op) not in _COMPARISONS or isinstance(left.type, Product) or isinstance(right.type, Product):
        refuse(node, f"{ast.unparse(node)} has no kernel form", "compare numbers with ==, <, <=, >, >= or !=")
    left, right = number(node, left), number(node, right)
    if left.type != right.type:
        for side in (left, right):
            if side.type == INT:
                guard_exact(out, out.atom(side))
        left, right = floating(out.atom(left)), floating(out.atom(right))
    return Term(BOOL, f"({left.text} {_COMPARISONS[type(op)]} {right.text})")


def _among(out: Writer, node: ast.AST, left: Term, right: Term, negated: bool) -> Term:
    """`left in (…)` of ints. Floats have no kernel form: `in` compares by identity first, which matters for NaN."""
    if any(term.type not in (INT, BOOL) for term in (left, *right.items)):
        refuse(node, f"{ast.unparse(node)} has a kernel form for ints only", "compare with == instead")
    left = out.atom(integer(left))
    text = " or ".join(f"{left.text} == {integer(item).text}" for item in right.items)
    return out.bound(BOOL, f"not ({text})" if negated else text)


def truth(node: ast.AST, term: Term) -> Term:
    """`bool(term)`."""
    if term.constant is not None:
        return Term(BOOL, str(bool(term.constant)), constant=bool(term.constant))
    if term.type == BOOL:
        return term
    if term.type in (INT, FLOAT):
        return Term(BOOL, f"({term.text} != {'0' if term.type == INT else '0.0'})")
    if isinstance(term.type, Tuple) and not isinstance(term.type, Record):
        return Term(BOOL, "True", constant=True)
    if is_list(term):
        return Term(BOOL, f"({term.text}_stop != {term.text}_start)")
    return refuse(node, f"whether a value of type {term.type} is true has no kernel form", STAGE)

"""The functions that have a kernel form: builtins on numbers, and those of `math` that are exact or the C library's."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Sequence
from typing import Any

from morisot.compile.kernel import lists
from morisot.compile.kernel.arithmetic import LEAST, binary, compare, finite, floating, number, truth
from morisot.compile.kernel.terms import Term, Writer, literal
from morisot.compile.syntax.scope import refuse
from morisot.compile.syntax.translate import STAGE, shown
from morisot.compile.table import records
from morisot.types.element import BOOL, FLOAT, INT, Record, Tuple
from morisot.types.records import field_names

Rule = Callable[[Writer, ast.AST, Sequence[Term]], Term]
_RULES: dict[Any, tuple[range, Rule]] = {}
_LIMIT = "9223372036854775808.0"

_ONE = (
    "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh",
    "exp", "expm1", "log1p", "exp2", "cbrt", "erf", "erfc",
)  # fmt: skip
_TWO = ("atan2", "fmod", "pow")
_LOGARITHMS = ("log", "log2", "log10")
LIBM = (*_ONE, *_TWO, *_LOGARITHMS)
"""The functions that CPython takes unchanged from the C library. The tests compare each of them, bit for bit.

Not among them: hypot, dist, gamma, lgamma and fsum, which CPython computes in its own way.
"""


def calls(*functions: Any, takes: range | None = None) -> Callable[[Rule], Rule]:
    """Registers the rule for calls of some functions, with the numbers of arguments that it takes."""

    def register(rule: Rule) -> Rule:
        for function in functions:
            _RULES[function] = (takes or range(1, 2), rule)
        return rule

    return register


def understood(function: Any) -> bool:
    """Whether calls of a function have a rule."""
    return getattr(type(function), "__hash__", None) is not None and function in _RULES


def call(out: Writer, node: ast.AST, function: Any, arguments: Sequence[Term]) -> Term:
    """A call of a function that has a rule."""
    takes, rule = _RULES[function]
    if len(arguments) not in takes:
        refuse(node, f"{shown(function)} with {len(arguments)} arguments has no kernel form", STAGE)
    return rule(out, node, arguments)


@calls(abs)
def _abs(out: Writer, node: ast.AST, arguments: Sequence[Term]) -> Term:
    term = out.atom(number(node, arguments[0]))
    if term.type == INT:
        out.bad_if(f"{term.text} == {LEAST}")
    return Term(term.type, f"abs({term.text})")


@calls(math.fabs)
def _fabs(_: Writer, node: ast.AST, arguments: Sequence[Term]) -> Term:
    return Term(FLOAT, f"abs({floating(number(node, arguments[0])).text})")


def _extreme(sign: ast.cmpop) -> Rule:
    def rule(out: Writer, node: ast.AST, arguments: Sequence[Term]) -> Term:
        if len(arguments) == 1:
            return lists.extreme(out, node, sign, arguments[0])
        best = arguments[0]
        for argument in arguments[1:]:
            other = out.atom(argument)
            if best.type != other.type or not best.is_number:
                refuse(
                    node, f"{ast.unparse(node)} is {best.type} or {other.type}", "give all arguments one type of number"
                )
            best = out.atom(best)
            better = compare(out, node, sign, other, best)
            best = out.bound(best.type, f"{other.text} if {better.text} else {best.text}")
        return best

    return rule


calls(min, takes=range(1, 9))(_extreme(ast.Lt()))
calls(max, takes=range(1, 9))(_extreme(ast.Gt()))


def _to_int(name: str) -> Rule:
    """A float to an int. Floats that are not finite or beyond 64 bits are left to Python."""

    def rule(out: Writer, node: ast.AST, arguments: Sequence[Term]) -> Term:
        term = number(node, arguments[0])
        if term.type == INT:
            return term
        term = out.atom(term)
        out.bad_if(f"not ({term.text} > -{_LIMIT} and {term.text} < {_LIMIT})")
        return out.bound(INT, f"int({name}({term.text}))" if name else f"int({term.text})")

    return rule


calls(sum)(lists.total)
calls(int, math.trunc)(_to_int(""))


@calls(len)
def _len(_: Writer, node: ast.AST, arguments: Sequence[Term]) -> Term:
    if isinstance(arguments[0].type, Tuple):
        return Term(INT, str(len(arguments[0].items)), constant=len(arguments[0].items))
    lists.item_type(node, arguments[0])
    return lists.length(arguments[0])


_MOST_DIGITS = 15


@calls(round, takes=range(1, 3))
def _round(out: Writer, node: ast.AST, arguments: Sequence[Term]) -> Term:
    if len(arguments) == 1:
        return _to_int("c_rint")(out, node, arguments)
    term, digits = number(node, arguments[0]), arguments[1].constant
    if type(digits) is not int or not 0 <= digits <= _MOST_DIGITS:
        refuse(node, f"{ast.unparse(node)} has a kernel form for a constant number of digits only", STAGE)
    if term.type == INT:
        return term
    done, result = out.new(), out.new()
    out.line(f"{done}, {result} = round_to_digits({term.text}, {10.0**digits!r})")
    out.bad_if(f"not {done}")
    return Term(FLOAT, result)


def _of_whole(name: str, count: int) -> Rule:
    """A function of the prelude that takes ints. It gives whether it could compute the result, and an int."""

    def rule(out: Writer, node: ast.AST, arguments: Sequence[Term]) -> Term:
        terms = [number(node, argument) for argument in arguments]
        if any(term.type != INT for term in terms) or len(terms) != count:
            refuse(node, f"{ast.unparse(node)} has a kernel form for {count} ints only", STAGE)
        done, result = out.new(), out.new()
        out.line(f"{done}, {result} = {name}({', '.join(term.text for term in terms)})")
        out.bad_if(f"not {done}")
        return Term(INT, result)

    return rule


calls(math.isqrt)(_of_whole("int_root", 1))
calls(math.gcd, takes=range(2, 3))(_of_whole("int_gcd", 2))
calls(math.floor)(_to_int("c_floor"))
calls(math.ceil)(_to_int("c_ceil"))


@calls(float)
def _float(_: Writer, node: ast.AST, arguments: Sequence[Term]) -> Term:
    return floating(number(node, arguments[0]))


@calls(bool)
def _bool(_: Writer, node: ast.AST, arguments: Sequence[Term]) -> Term:
    return truth(node, arguments[0])


@calls(pow, takes=range(2, 3))
def _pow(out: Writer, node: ast.AST, arguments: Sequence[Term]) -> Term:
    return binary(out, node, ast.Pow(), *arguments)


@calls(divmod, takes=range(2, 3))
def _divmod(out: Writer, node: ast.AST, arguments: Sequence[Term]) -> Term:
    left, right = map(out.atom, arguments)
    items = (binary(out, node, ast.FloorDiv(), left, right), binary(out, node, ast.Mod(), left, right))
    return Term(Tuple((items[0].type, items[1].type)), items=items)


@calls(math.sqrt)
def _sqrt(out: Writer, node: ast.AST, arguments: Sequence[Term]) -> Term:
    term = out.atom(floating(number(node, arguments[0])))
    out.bad_if(f"{term.text} < 0.0")
    return Term(FLOAT, f"sqrt({term.text})")


@calls(math.isnan)
def _isnan(out: Writer, node: ast.AST, arguments: Sequence[Term]) -> Term:
    term = out.atom(floating(number(node, arguments[0])))
    return Term(BOOL, f"({term.text} != {term.text})")


@calls(math.isfinite)
def _isfinite(out: Writer, node: ast.AST, arguments: Sequence[Term]) -> Term:
    return Term(BOOL, finite(out.atom(floating(number(node, arguments[0]))).text))


@calls(math.isinf)
def _isinf(_: Writer, node: ast.AST, arguments: Sequence[Term]) -> Term:
    return Term(BOOL, f"(abs({floating(number(node, arguments[0])).text}) == INF)")


@calls(math.copysign, takes=range(2, 3))
def _copysign(_: Writer, node: ast.AST, arguments: Sequence[Term]) -> Term:
    left, right = (floating(number(node, argument)) for argument in arguments)
    return Term(FLOAT, f"copysign({left.text}, {right.text})")


@calls(math.degrees)
def _degrees(_: Writer, node: ast.AST, arguments: Sequence[Term]) -> Term:
    return Term(FLOAT, f"({floating(number(node, arguments[0])).text} * {180.0 / math.pi!r})")


@calls(math.radians)
def _radians(_: Writer, node: ast.AST, arguments: Sequence[Term]) -> Term:
    return Term(FLOAT, f"({floating(number(node, arguments[0])).text} * {math.pi / 180.0!r})")


def _library(name: str) -> Rule:
    """A function of the C library. Where its value is not finite CPython may raise, so the row is left to Python."""

    def rule(out: Writer, node: ast.AST, arguments: Sequence[Term]) -> Term:
        terms = [out.atom(floating(number(node, argument))) for argument in arguments]
        result = out.bound(FLOAT, f"c_{name}({', '.join(term.text for term in terms)})")
        argument = terms[0].text
        if len(terms) == 1:  # a NaN gives a NaN without an error
            out.bad_if(f"not {finite(result.text)} and {argument} == {argument}")
        else:
            out.bad_if(" or ".join(f"not {finite(term.text)}" for term in (*terms, result)))
        return result

    return rule


for _name in _ONE:
    if hasattr(math, _name):  # exp2 and cbrt are new in Python 3.11
        calls(getattr(math, _name))(_library(_name))
for _name in _TWO:
    calls(getattr(math, _name), takes=range(2, 3))(_library(_name))
for _name in ("log2", "log10"):
    calls(getattr(math, _name))(_library(_name))


@calls(math.log, takes=range(1, 3))
def _log(out: Writer, node: ast.AST, arguments: Sequence[Term]) -> Term:
    logarithms = [_library("log")(out, node, [argument]) for argument in arguments]
    if len(logarithms) == 1:
        return logarithms[0]
    return binary(out, node, ast.Div(), *logarithms)


def construct(node: ast.AST, cls: type, arguments: Sequence[Term], keywords: dict[str, Term]) -> Term:
    """A user's record, constructed of its fields."""
    names = field_names(cls)
    positional = records.positional(cls)
    if not records.is_plain_constructor(cls) or len(arguments) > len(positional) or set(keywords) - set(names):
        refuse(node, f"making a {cls.__name__} does more than store its fields", STAGE)
    parts = dict(zip(positional, arguments, strict=False)) | keywords
    if len(parts) < len(arguments) + len(keywords):
        refuse(node, f"{cls.__name__} gets a field twice")
    for name, default in records.defaults(cls).items():
        found = literal(default)
        if name not in parts and isinstance(found, Term):
            parts[name] = found
    if set(parts) != set(names):
        refuse(node, f"{cls.__name__} does not get all its fields", STAGE)
    items = tuple(parts[name] for name in names)
    return Term(Record(cls, names, tuple(item.type for item in items)), items=items)

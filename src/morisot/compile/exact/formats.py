"""Format specifications: `f"{n:05d}"`, `f"{x:,.2f}"`, `f"{s:>6}"`, `f"{t:%Y-%m}"`."""

from __future__ import annotations

import ast
import re
import string
from collections.abc import Iterator
from dataclasses import dataclass

from morisot.compile.exact import dates, decimals, text_edges
from morisot.compile.exact.forms import call, checked, guard, integer, text
from morisot.compile.ir.expressions import Call, Expr, Literal
from morisot.compile.ir.values import negate, pack, when
from morisot.compile.syntax import calls
from morisot.compile.syntax.scope import Scope, refuse
from morisot.compile.syntax.translate import STAGE, operand, translates, usable, value
from morisot.compile.table import functions, rows
from morisot.compile.verdict import Value
from morisot.types.element import BOOL, DATE, DATETIME, FLOAT, INT, STR, Tuple

_SYNTAX = re.compile(
    r"((?P<fill>.)?(?P<align>[<>^=]))?(?P<sign>[+-])?(?P<zero>0)?(?P<width>[1-9][0-9]*)?"
    r"(?P<comma>,)?(\.(?P<precision>[0-9]+))?(?P<kind>[a-zA-Z%])?",
    re.DOTALL,
)


@dataclass(frozen=True)
class Spec:
    """A parsed format specification."""

    fill: str
    align: str
    sign: str
    width: int
    comma: bool
    precision: int | None
    kind: str


def read(source: str) -> Spec | None:
    """The parts of a specification; None for one without a column form.

    >>> read("05d")
    Spec(fill='0', align='=', sign='', width=5, comma=False, precision=None, kind='d')
    """
    found = _SYNTAX.fullmatch(source)
    zeros = found is not None and (found["zero"] or (found["fill"], found["align"]) == ("0", "="))
    if found is None or (found["zero"] and found["align"]) or (zeros and found["comma"]):
        return None  # zeros are grouped, too
    width = int(found["width"] or 0)
    precision = None if found["precision"] is None else int(found["precision"])
    if width > text_edges.LONGEST or (precision or 0) > text_edges.LONGEST:
        return None
    fill = found["fill"] or ("0" if found["zero"] else " ")
    align = found["align"] or ("=" if found["zero"] else "")
    return Spec(fill, align, found["sign"] or "", width, bool(found["comma"]), precision, found["kind"] or "")


def formatted(node: ast.AST, found: Value, source: str, scope: Scope) -> Expr:
    """`format(found, source)`."""
    if not source:
        row = rows.find(functions.FUNCTIONS[str], (found,))
        if row is None:
            refuse(node, f"the text of a value of type {found.type} has no column form", STAGE)
        return pack(rows.apply(row, (found,), scope.small))
    found = scope.small(found)
    spec = read(source)
    result: Expr | None = None
    if found.type in (DATE, DATETIME):
        result = dates.strftime(pack(found), source) if dates.directives_of(source) is not None else None
    elif spec is not None and found.type == STR:
        result = _text(pack(found), spec, scope)
    elif spec is not None and found.type == INT:
        result = _int(pack(found), spec, scope)
    elif spec is not None and found.type == FLOAT:
        result = _float(pack(found), spec, scope)
    if result is None:
        refuse(node, f"the format specification {source!r} of {found.type} has no exact column form", STAGE)
    return result


def _text(a: Expr, spec: Spec, scope: Scope) -> Expr | None:
    if spec.kind not in ("", "s") or spec.align == "=" or spec.sign or spec.comma:
        return None
    if spec.precision is not None:
        a = scope.small_expr(call("substring", a, integer(1), integer(spec.precision)), STR)
    return _aligned(a, spec, spec.align or "<")


def _aligned(a: Expr, spec: Spec, align: str) -> Expr:
    if not spec.width:
        return a
    if align == "^":
        return _centered(a, spec)
    return text_edges.padded({"<": "rpad", ">": "lpad"}[align])(a, spec.width, spec.fill)


def _centered(a: Expr, spec: Spec) -> Expr:
    """An odd padding character goes to the right, unlike in str.center."""
    length = call("length", a)
    left = call("shift_right", call("subtract", integer(spec.width), length), integer(1))
    widened = call("lpad", a, call("add", length, left), text(spec.fill))
    filled = call("rpad", widened, integer(spec.width), text(spec.fill))
    return when(call("less", length, integer(spec.width)), filled, a)


def _int(a: Expr, spec: Spec, scope: Scope) -> Expr | None:
    if spec.kind in ("f", "F", "%"):
        return _float(scope.small_expr(call("double", a), FLOAT), spec, scope)
    if spec.precision is not None:
        return None
    negative = call("less", a, integer(0))
    match spec.kind, spec.comma:
        case (("" | "d"), comma):
            shown = scope.small_expr(call("grouped" if comma else "string", a), STR)
            if spec.align != "=" and spec.sign != "+":
                return _aligned(shown, spec, spec.align or ">")
            return _signed(negative, when(negative, call("substring_from", shown, integer(2)), shown), spec, scope)
        case (("x" | "X" | "b" as kind), False):
            shown = call("bin" if kind == "b" else "hex", checked("abs", a))
            return _signed(negative, call("lower", shown) if kind == "x" else shown, spec, scope)
    return None


def _float(a: Expr, spec: Spec, scope: Scope) -> Expr | None:
    precision = 6 if spec.precision is None else spec.precision
    if spec.kind not in ("f", "F", "%") or precision > decimals.MOST_DIGITS:
        return None
    if spec.kind == "%":
        a = scope.small_expr(call("multiply", a, decimals.HUNDRED), FLOAT)
    shown = decimals.digits(a, precision, spec.comma, scope)
    if spec.kind == "%":
        shown = call("concat", shown, text("%"))
    inside = decimals.is_in_range(decimals.shifted(a, precision, scope))
    return guard(inside, _signed(decimals.is_negative(a), shown, spec, scope), "the digits of so large a float")


def _signed(negative: Expr, shown: Expr, spec: Spec, scope: Scope) -> Expr:
    """The padded text of a number, from its sign and its digits."""
    sign = when(negative, text("-"), text("+" if spec.sign == "+" else ""))
    if spec.align != "=" or not spec.width:
        return _aligned(scope.small_expr(call("concat", sign, shown), STR), spec, spec.align or ">")
    shown = scope.small_expr(shown, STR)
    pad = text_edges.padded("lpad")
    narrow = call("concat", sign, pad(shown, spec.width - 1, spec.fill))
    return narrow if spec.sign == "+" else when(negate(negative), pad(shown, spec.width, spec.fill), narrow)


# ---- f-strings


@translates(ast.JoinedStr)
def _format(node: ast.JoinedStr, scope: Scope) -> Value:
    parts = [_formatted_part(part, scope) for part in node.values]
    if all(isinstance(part, Literal) for part in parts):
        return Value(STR, Literal("".join(part.value for part in parts if isinstance(part, Literal)), STR))
    return Value(STR, Call("concat", tuple(parts)) if len(parts) > 1 else parts[0])


def _formatted_part(node: ast.expr, scope: Scope) -> Expr:
    if isinstance(node, ast.Constant):
        return Literal(node.value, STR)
    assert isinstance(node, ast.FormattedValue)
    found = operand(node.value, scope)
    # repr() and str() are the same for these types
    if node.conversion not in (-1, ord("s")) and found.type not in (INT, FLOAT, BOOL):
        refuse(node, "!r and !a of a text have no column form", "write f\"'{…}'\" if it has no quotes and no \\")
    if node.conversion != -1:
        found = Value(STR, formatted(node, found, "", scope))
    return formatted(node, found, _specification(node, scope), scope)


def _specification(node: ast.FormattedValue, scope: Scope) -> str:
    if node.format_spec is None:
        return ""
    known_, spec = rows.constant_of(value(node.format_spec, scope))
    return str(spec) if known_ else refuse(node, "a format specification that varies has no column form", STAGE)


# ---- "…".format(…) and "…" % …


def _by_format(node: ast.Call, owner: Value, scope: Scope) -> Value:
    """`"{} {name:>5}".format(x, name=y)`: the template is constant."""
    known_, template = rows.constant_of(owner)
    if not known_ or any(isinstance(one, ast.Starred) for one in node.args):
        refuse(node, "a template that is not constant has no column form", STAGE)
    numbers = iter(range(len(node.args)))
    named = {keyword.arg: keyword.value for keyword in node.keywords}
    for one in (*node.args, *named.values()):  # evaluated even if the template does not use it
        scope.add_strict(value(one, scope))
    parts: list[Expr] = []
    try:
        fields = list(string.Formatter().parse(template))
    except ValueError as error:
        refuse(node, f"{ast.unparse(node)} always fails: {error}")
    if {bool(name) for _, name, _, _ in fields if name is not None and name not in named} == {True, False}:
        refuse(node, f"{ast.unparse(node)} always fails: it numbers its fields in two ways")
    for literal, name, spec, conversion in fields:
        if literal:
            parts.append(text(literal))
        if name is None:
            continue
        given = _argument(node, name, numbers, named)
        if conversion or "{" in (spec or "") or given is None:
            refuse(node, f"the field {{{name}}} of a template has no column form", STAGE)
        parts.append(formatted(node, operand(given, scope), spec or "", scope))
    return _joined(parts)


calls.SPECIAL_METHODS[STR, "format"] = _by_format


def _argument(node: ast.Call, name: str, numbers: Iterator[int], named: dict[str | None, ast.expr]) -> ast.expr | None:
    if name in named:
        return named[name]
    if name and not name.isdecimal():
        return None
    index = int(name) if name else next(numbers, len(node.args))
    return node.args[index] if index < len(node.args) else None


_PERCENT = re.compile(r"%(?P<flags>[-+0]*)(?P<width>[1-9][0-9]*)?(\.(?P<precision>[0-9]+))?(?P<kind>[sdifxX%])")


def by_percent(node: ast.BinOp, template: Value, given: Value, scope: Scope) -> Value:
    """`"%s: %5.2f" % (a, b)`: the template is constant."""
    known_, source = rows.constant_of(template)
    arguments = list(given.items) if isinstance(given.type, Tuple) else [given]
    found = list(_PERCENT.finditer(source)) if known_ else []
    wanted = [one for one in found if one["kind"] != "%"]
    odd = any(one["kind"] == "%" and one.group() != "%%" for one in found) or "%" in _PERCENT.sub("", source or "")
    if not known_ or len(wanted) != len(arguments) or odd:
        refuse(node, "this template has no column form", "use an f-string")
    parts: list[Expr] = []
    end = 0
    for one in found:
        parts.append(text(source[end : one.start()]))
        end = one.end()
        parts.append(text("%") if one["kind"] == "%" else _percent(node, one, arguments.pop(0), scope))
    return _joined([*parts, text(source[end:])])


def _percent(node: ast.AST, one: re.Match[str], given: Value, scope: Scope) -> Expr:
    given = usable(given, node)
    flags, kind = one["flags"], one["kind"]
    whole = kind in "dixX"
    if (whole and (given.type != INT or one["precision"])) or (kind == "f" and given.type not in (INT, FLOAT)):
        refuse(node, f"%{kind} of {given.type} has no column form", "use an f-string")
    precision = f".{one['precision']}" if one["precision"] else ""
    width = one["width"] or ""
    if kind == "s":
        shown_ = Value(STR, formatted(node, given, "", scope))
        return formatted(node, shown_, f"{'<' if '-' in flags else '>'}{width}{precision}", scope)
    sign = "+" if "+" in flags else ""
    align = "<" if "-" in flags else "" if "0" in flags else ">"
    zero = "0" if "0" in flags and not align and width else ""
    return formatted(node, given, f"{align}{sign}{zero}{width}{precision}{'d' if kind == 'i' else kind}", scope)


def _joined(parts: list[Expr]) -> Value:
    full = [part for part in parts if part != text("")]
    if not full:
        return Value(STR, text(""))
    return Value(STR, Call("concat", tuple(full)) if len(full) > 1 else full[0])

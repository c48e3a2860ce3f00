"""Lists of numbers inside kernels. They are read only. Each is a slice of one array with the items of all rows."""

from __future__ import annotations

import ast
import sys
from collections.abc import Sequence

from morisot.compile.kernel.arithmetic import binary, compare, finite
from morisot.compile.kernel.terms import Term, Writer, is_list
from morisot.compile.syntax.scope import refuse
from morisot.compile.syntax.translate import STAGE
from morisot.types.element import BOOL, FLOAT, INT, List, Type


def item_type(node: ast.AST, term: Term) -> Type:
    """The type of a list's items."""
    if not isinstance(term.type, List) or not is_list(term):
        refuse(node, f"a value of type {term.type} is no list of numbers", STAGE)
    return term.type.item


def length(term: Term) -> Term:
    """`len(xs)`."""
    return Term(INT, f"({term.text}_stop - {term.text}_start)")


def item(out: Writer, node: ast.AST, term: Term, index: Term) -> Term:
    """`xs[i]`. An index out of range leaves the row to Python, which raises."""
    type_ = item_type(node, term)
    if index.type not in (INT, BOOL):
        refuse(node, f"{ast.unparse(node)} has no kernel form", STAGE)
    position = out.bound(INT, f"int({index.text})")
    out.line(f"if {position.text} < 0: {position.text} = {position.text} + {length(term).text}")
    out.bad_if(f"{position.text} < 0 or {position.text} >= {length(term).text}")
    return out.bound(type_, f"{term.text}_items[{term.text}_start + {position.text}]")


def part(out: Writer, term: Term, start: Term | None, stop: Term | None) -> Term:
    """`xs[start:stop]`, with bounds clamped as in Python."""
    name = out.new()
    begin, end = (_clamped(out, term, bound) for bound in (start, stop))
    out.line(f"{name}_items = {term.text}_items")
    out.line(f"{name}_start = {term.text}_start" + (f" + {begin}" if begin else ""))
    out.line(f"{name}_stop = {term.text}_start + {end}" if end else f"{name}_stop = {term.text}_stop")
    out.line(f"if {name}_stop < {name}_start: {name}_stop = {name}_start")
    return Term(term.type, name)


def _clamped(out: Writer, term: Term, bound: Term | None) -> str:
    if bound is None:
        return ""
    position = out.bound(INT, f"int({bound.text})").text
    size = length(term).text
    out.line(f"if {position} < 0: {position} = max({position} + {size}, 0)")
    out.line(f"if {position} > {size}: {position} = {size}")
    return position


def total(out: Writer, node: ast.AST, arguments: Sequence[Term]) -> Term:
    """`sum(xs)`. An empty sum is the int 0."""
    (term,) = arguments
    type_ = item_type(node, term)
    if type_ == FLOAT:
        out.bad_if(f"{length(term).text} == 0")
        if sys.version_info >= (3, 12):
            return _compensated(out, term)
    result = out.bound(INT if type_ == BOOL else type_, "0.0" if type_ == FLOAT else "0")
    position = out.new()
    with out.block(f"for {position} in range({term.text}_start, {term.text}_stop):"):
        added = binary(out, node, ast.Add(), result, Term(type_, f"{term.text}_items[{position}]"))
        out.line(f"{result.text} = {added.text}")
    return result


def _compensated(out: Writer, term: Term) -> Term:
    """Neumaier's summation, as in CPython 3.12: the sum of the rounding errors is added at the end if it is finite."""
    total, lost = out.bound(FLOAT, "0.0"), out.bound(FLOAT, "0.0")
    position = out.new()
    with out.block(f"for {position} in range({term.text}_start, {term.text}_stop):"):
        item = out.bound(FLOAT, f"{term.text}_items[{position}]").text
        next_ = out.bound(FLOAT, f"{total.text} + {item}").text
        with out.block(f"if abs({total.text}) >= abs({item}):"):
            out.line(f"{lost.text} += ({total.text} - {next_}) + {item}")
        with out.block("else:"):
            out.line(f"{lost.text} += ({item} - {next_}) + {total.text}")
        out.line(f"{total.text} = {next_}")
    out.line(f"if {lost.text} != 0.0 and {finite(lost.text)}: {total.text} += {lost.text}")
    return total


def extreme(out: Writer, node: ast.AST, sign: ast.cmpop, term: Term) -> Term:
    """`min(xs)`, `max(xs)`: of equal items the first."""
    type_ = item_type(node, term)
    out.bad_if(f"{length(term).text} == 0")
    result = out.bound(type_, f"{term.text}_items[{term.text}_start]")
    position = out.new()
    with out.block(f"for {position} in range({term.text}_start + 1, {term.text}_stop):"):
        other = out.bound(type_, f"{term.text}_items[{position}]")
        with out.block(f"if {compare(out, node, sign, other, result).text}:"):
            out.line(f"{result.text} = {other.text}")
    return result

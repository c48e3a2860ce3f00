"""Strict expressions: those that Python evaluates although their value is not used.

A local that only one branch reads, an unused argument, the other parts of a tuple of which one is read: each may fail,
and then the function fails. If the result does not evaluate such an expression anyway, it is extended to do so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from morisot.compile.ir.expressions import Call, Case, Each, Expr, Field, Literal, Raise, Shared, Struct, Variable, walk
from morisot.compile.ir.simplification import COMPARISONS, Simplification
from morisot.compile.verdict import Value
from morisot.types.element import BOOL, Type, holds_dict

_NEVER = Raise("an unused expression")
_TRUE, _FALSE = Literal(True, BOOL), Literal(False, BOOL)


@dataclass(frozen=True)
class StrictExpr:
    """An expression that Python evaluates wherever a condition holds."""

    condition: Expr
    expr: Expr
    type: Type


def enforced(result: Value, strict: Sequence[StrictExpr], entries: Sequence[tuple[str, Expr]]) -> Value:
    """The result, extended so that it evaluates every strict expression."""
    leaves, known = result.leaves(), Simplification(entries)
    left = [each for each in dict.fromkeys(strict) if not any(_covers_strict(leaf, each, known) for leaf in leaves)]
    if not left:
        return result
    test: Expr = _TRUE
    for each in left:
        evaluated = _when(each.condition, Call("evaluated", (_hashable(each.expr, each.type),)), _TRUE)
        test = evaluated if test == _TRUE else _when(test, evaluated, _FALSE)
    return _with_first_leaf(result, test)


def has_variables(strict_expr: StrictExpr) -> bool:
    """Whether a strict expression reads the item of a comprehension, which exists only inside the comprehension."""
    return any(map(_has_free, (strict_expr.condition, strict_expr.expr)))


def _has_free(expr: Expr, bound: frozenset[str] = frozenset()) -> bool:
    """Whether an expression reads the item of an enclosing comprehension."""
    match expr:
        case Variable(name):
            return name not in bound
        case Each(_, items, variable, body, index):
            return _has_free(items, bound) or _has_free(body, bound | {variable, index})
        case _:
            return any(_has_free(part, bound) for part in expr.parts)


def _with_first_leaf(result: Value, test: Expr) -> Value:
    if result.expr is not None:
        return Value(result.type, Case(((test, result.expr),), _NEVER))
    first, *rest = result.items
    return Value(result.type, items=(_with_first_leaf(first, test), *rest))


def _when(condition: Expr, then: Expr, otherwise: Expr) -> Expr:
    return then if condition == _TRUE else Case(((condition, then),), otherwise)


def _hashable(expr: Expr, type_: Type) -> Expr:
    """The expression without maps, which Spark cannot hash."""
    return Call("size", (expr,)) if holds_dict(type_) else expr


def _covers_strict(expr: Expr, strict_expr: StrictExpr, known: Simplification) -> bool:
    held, not_held = set[Expr](), set[Expr]()
    _assume(strict_expr.condition, True, held, not_held, known.shared)
    return _covers(expr, _whole(strict_expr.expr, known.shared), held, not_held, known)


def _covers(expr: Expr, target: Expr, held: set[Expr], not_held: set[Expr], known: Simplification) -> bool:
    """Whether an expression evaluates the target, or at least every part of it that can fail."""
    if _evaluates(expr, target, held, not_held, known):
        return True
    match target:
        case Shared(name):
            return _covers(expr, known.shared[name], held, not_held, known)
        case Call(fails=False) | Case():
            failing = [part for part in target.parts if may_raise(part, known.shared)]
            return all(_covers(expr, part, held, not_held, known) for part in failing)
    return False


def may_raise(expr: Expr, shared: dict[str, Expr]) -> bool:
    """Whether an expression, or a shared value in it, may fail."""
    return any(may_raise(shared[each.name], shared) if isinstance(each, Shared) else each.raises for each in walk(expr))


def _whole(expr: Expr, shared: dict[str, Expr]) -> Expr:
    """The struct that a field is read from: Spark evaluates it as a whole, unless it sees the struct's construction."""
    whole = expr
    while isinstance(whole, Field):
        whole = whole.struct
    return expr if _has_struct(whole, shared) else whole


def _has_struct(expr: Expr, shared: dict[str, Expr]) -> bool:
    return any(
        isinstance(each, Struct) or (isinstance(each, Shared) and _has_struct(shared[each.name], shared))
        for each in walk(expr)
    )


def _assume(condition: Expr, truth: bool, held: set[Expr], not_held: set[Expr], shared: dict[str, Expr]) -> None:
    """Adds the conditions that are known to hold, and not to hold, where a condition has the value `truth`."""
    (held if truth else not_held).add(condition)
    match condition:
        case Shared(name):
            _assume(shared[name], truth, held, not_held, shared)
        case Call("not", (inner,)):
            _assume(inner, not truth, held, not_held, shared)
        case Call("is_null", arguments):
            (not_held if truth else held).add(Call("is_not_null", arguments))
        case Call("is_not_null", arguments):
            (not_held if truth else held).add(Call("is_null", arguments))
        case Call("and", (left, right)) if truth:
            _assume(left, True, held, not_held, shared)
            _assume(right, True, held, not_held, shared)
        case Call("or", (left, right)) if not truth:
            _assume(left, False, held, not_held, shared)
            _assume(right, False, held, not_held, shared)
        case Case(((left, right),), otherwise) if truth and otherwise == _FALSE:
            _assume(left, True, held, not_held, shared)
            _assume(right, True, held, not_held, shared)
        case Case(((left, then),), right) if not truth and then == _TRUE:
            _assume(left, False, held, not_held, shared)
            _assume(right, False, held, not_held, shared)


def _evaluates(
    expr: Expr, target: Expr, held: set[Expr], not_held: set[Expr], known: Simplification, *, in_call: bool = False
) -> bool:
    """Whether evaluating an expression evaluates the target, given conditions that hold and conditions that do not.

    `in_call`: the expression is the only argument of a call that is not constant.
    """
    if expr == target:
        return True
    if isinstance(expr, Case):
        branches = [*_feasible(expr, held, not_held)]
        tests, results = [test for test, _ in branches], [result for _, result in branches]
        first = tests[0] if tests and known.needs_tests(expr, in_call=in_call) else None
        if first is not None and _evaluates(first, target, held, not_held, known):
            return True
        return bool(results) and all(
            isinstance(result, Raise) or _evaluates(result, target, held, not_held, known, in_call=in_call)
            for result in results
        )
    if isinstance(expr, Shared):
        return _evaluates(known.shared[expr.name], target, held, not_held, known, in_call=in_call)
    if isinstance(expr, Field):
        return _whole(expr, known.shared) != expr and _evaluates(expr.struct, target, held, not_held, known)
    inside = isinstance(expr, Call) and sum(not known.is_constant(part) for part in expr.parts) < 2
    return any(_evaluates(part, target, held, not_held, known, in_call=inside) for part in _strict_parts(expr, known))


def _feasible(expr: Case, held: set[Expr], not_held: set[Expr]) -> Iterator[tuple[Expr | None, Expr]]:
    """The branches that can be taken, each with its test, or None if the test is known to hold."""
    for test, result in expr.branches:
        if test in not_held:
            continue
        yield (None if test in held else test), result
        if test in held:
            return
    yield None, expr.otherwise


def _strict_parts(expr: Expr, known: Simplification) -> tuple[Expr, ...]:
    """The parts that are evaluated whenever the expression is."""
    match expr:
        case Call("and" | "or", arguments):
            return arguments[:1] if known.needs_left(expr) else ()
        case Call(name, (a, b)) if name in COMPARISONS and known.may_be_equal(a, b):
            return ()
        case Call("coalesce", arguments):
            return arguments[:1]
        case Call("array" | "map"):
            return ()  # Spark may evaluate one item of these without the others
        case Each(_, items):
            return (items,)
        case _:
            return expr.parts

"""Patterns of `match`: constants, None, alternatives, names, and tuples of these."""

from __future__ import annotations

import ast

from morisot.compile.ir.expressions import Expr
from morisot.compile.ir.values import FALSE, TRUE, conjunction, disjunction, is_none, is_opaque
from morisot.compile.syntax.expressions.comparisons import compare
from morisot.compile.syntax.scope import Scope, refuse
from morisot.compile.syntax.translate import STAGE, expression
from morisot.compile.verdict import Value
from morisot.types.element import Product, Record


def matched(pattern: ast.pattern, subject: Value, scope: Scope) -> tuple[Expr, dict[str, Value]]:
    """Whether the subject matches, and the names that the pattern binds."""
    match pattern:
        case ast.MatchValue(node):
            return compare(node, ast.Eq(), subject, expression(node, scope), scope), {}
        case ast.MatchSingleton(None) if not is_opaque(subject.type):
            return is_none(subject), {}
        case ast.MatchAs(None, name):
            return TRUE, {name: subject} if name else {}
        case ast.MatchAs(ast.pattern() as inner, str() as name):
            test, names = matched(inner, subject, scope)
            return test, {**names, name: subject}
        case ast.MatchOr(alternatives):
            return _any(pattern, alternatives, subject, scope), {}
        case ast.MatchSequence(items) if isinstance(subject.type, Product):
            return _all(items, subject, scope)
    return refuse(pattern, f"the pattern {ast.unparse(pattern)} for {subject.type} has no column form", STAGE)


def _any(node: ast.pattern, alternatives: list[ast.pattern], subject: Value, scope: Scope) -> Expr:
    test: Expr = FALSE
    for one in alternatives:
        found, names = matched(one, subject, scope)
        if names:
            refuse(node, "alternatives of a pattern that set names have no column form", STAGE)
        test = disjunction(test, found)
    return test


def _all(items: list[ast.pattern], subject: Value, scope: Scope) -> tuple[Expr, dict[str, Value]]:
    """A tuple, item by item; a dataclass is no sequence."""
    if isinstance(subject.type, Record) and not subject.type.is_tuple:
        return FALSE, {}
    for star in items:
        if isinstance(star, ast.MatchStar):
            refuse(star, "a pattern with * has no column form", STAGE)
    if len(items) != len(subject.items):
        return FALSE, {}
    test: Expr = TRUE
    names: dict[str, Value] = {}
    for pattern, item in zip(items, subject.items, strict=True):
        found, more = matched(pattern, item, scope)
        test, names = conjunction(test, found), names | more
    return test, names

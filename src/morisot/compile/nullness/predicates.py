"""The type of the elements for which a predicate is true: without None where the predicate excludes it."""

from __future__ import annotations

import ast
import functools
import types
import weakref
from collections.abc import Callable, Sequence

from morisot.compile.nullness.conditions import Conditions
from morisot.compile.nullness.outcomes import NOTHING, Facts, TestOutcome, both, either
from morisot.compile.nullness.parts import ElementPart, Names, changes_objects
from morisot.compile.syntax.reader import FunctionNode, read
from morisot.compile.verdict import Refusal
from morisot.plan.nodes.closure import Closure
from morisot.types.element import Keyed, Type
from morisot.types.narrowing import narrowed

_DEEPEST = 5
"""The most calls of the user's functions inside each other that are analysed."""
_UNKNOWN = TestOutcome(NOTHING, NOTHING)

_outcomes: weakref.WeakKeyDictionary[Closure, dict[Type, TestOutcome]] = weakref.WeakKeyDictionary()


def where_true(type_: Type, predicate: Closure) -> Type:
    """The type of the elements for which a predicate of a row-wise operator is true."""
    return narrowed(type_, outcome_of(predicate, type_).true or ())


def where_false(type_: Type, predicate: Closure) -> Type:
    """The type of the elements for which it is false."""
    return narrowed(type_, outcome_of(predicate, type_).false or ())


def outcome_of(predicate: Closure, type_: Type) -> TestOutcome:
    """The parts of elements of the type that are not None where a predicate is true, and where it is false."""
    found = _outcomes.setdefault(predicate, {})
    if type_ not in found:
        parts: list[ElementPart | None] = [ElementPart((), type_)]
        if isinstance(type_, Keyed):
            parts = [ElementPart((0,), type_.key), ElementPart((1,), type_.value)]
        found[type_] = outcome_of_call(predicate.function, parts)
    return found[type_]


def outcome_of_call(function: Callable[..., object], parts: list[ElementPart | None]) -> TestOutcome:
    """The parts that are not None where a call of a function with these arguments is true, and where it is false."""
    if function is bool and len(parts) == 1 and parts[0] is not None:
        return TestOutcome(frozenset({parts[0].path}), NOTHING)
    if not isinstance(function, types.FunctionType):
        return _UNKNOWN
    try:
        return _summary(function, parts, 0)
    except (_Unsupported, RecursionError):
        return _UNKNOWN


def _summary(function: types.FunctionType, parts: list[ElementPart | None], depth: int) -> TestOutcome:
    """The facts if a call of a function returns something true, and if not."""
    source = read(function) if depth <= _DEEPEST else None
    if source is None or isinstance(source, Refusal):
        return _UNKNOWN
    if changes_objects(source.node):
        raise _Unsupported
    spec = source.node.args
    positional = [each.arg for each in (*spec.posonlyargs, *spec.args)]
    if len(parts) > len(positional):
        return _UNKNOWN
    parameters = {name: part for name, part in zip(positional, parts, strict=False) if part is not None}
    names = Names(source.node, function, parameters)
    conditions = Conditions(names, lambda inner, given: _summary(inner, given, depth + 1))
    return _Body(conditions).outcome(source.node)


class _Unsupported(Exception):  # noqa: N818 - it ends the analysis, it is not an error
    """A statement without a rule, or a function that changes an object."""


class _Body:
    """Follows the statements of a function, with the facts on each path."""

    def __init__(self, conditions: Conditions) -> None:
        self._conditions = conditions
        self._returned = TestOutcome(None, None)

    def outcome(self, node: FunctionNode) -> TestOutcome:
        if isinstance(node, ast.Lambda):
            return self._conditions.outcome(node.body)
        self._return(TestOutcome(None, self._run(node.body, NOTHING)))
        return self._returned

    def _return(self, outcome: TestOutcome) -> None:
        true, false = self._returned
        self._returned = TestOutcome(either(true, outcome.true), either(false, outcome.false))

    def _run(self, statements: Sequence[ast.stmt], facts: Facts | None) -> Facts | None:
        """The facts after the statements; None if what follows them is not reached."""
        for statement in statements:
            if facts is None:
                return None
            facts = self._step(statement, facts)
        return facts

    def _step(self, statement: ast.stmt, facts: Facts) -> Facts | None:
        evaluated = self._conditions.evaluated
        match statement:
            case ast.Return(value):
                found = TestOutcome(None, NOTHING) if value is None else self._conditions.outcome(value)
                self._return(found.after(facts))
                return None
            case ast.Raise() | ast.Break() | ast.Continue():
                return None
            case ast.Expr(value) | ast.Assign(_, value) | ast.AugAssign(_, _, value):
                return facts | evaluated(value)
            case ast.AnnAssign(value=value):
                return facts if value is None else facts | evaluated(value)
            case ast.Pass() | ast.FunctionDef() | ast.Import() | ast.ImportFrom() | ast.Delete():
                return facts
            case ast.Assert(test):
                return both(facts, self._conditions.outcome(test).true) if __debug__ else facts
            case ast.If(test, then, otherwise):
                found = self._conditions.outcome(test).after(facts)
                return either(self._run(then, found.true), self._run(otherwise, found.false))
            case _:
                return self._block(statement, facts)

    def _block(self, statement: ast.stmt, facts: Facts) -> Facts | None:
        """A statement whose body may end early. What its body tells is not known after it."""
        match statement:
            case ast.For(iter=items, body=body, orelse=after):
                facts = facts | self._conditions.iterated(items)
                self._run(body, facts)
                return either(facts, self._run(after, facts))
            case ast.While(test, body, after):
                self._run(body, self._conditions.outcome(test).after(facts).true)
                return either(facts, self._run(after, facts))
            case ast.With(body=body):
                self._run(body, facts)
                return facts
            case ast.Try(body, handlers, otherwise, final):
                ends = [self._run(otherwise, self._run(body, facts))]
                ends += [self._run(handler.body, facts) for handler in handlers]
                return both(functools.reduce(either, ends), self._run(final, facts))
            case ast.Match():
                return self._match(statement, facts)
        raise _Unsupported

    def _match(self, statement: ast.Match, facts: Facts) -> Facts | None:
        """After `case None` the subject is not None. Other patterns tell nothing."""
        subject = statement.subject
        known: Facts | None = facts | self._conditions.evaluated(subject)
        after: Facts | None = None
        for case in statement.cases:
            taken = known
            if case.guard is not None:
                taken = both(known, self._conditions.outcome(case.guard).true)
            after = either(after, self._run(case.body, taken))
            if case.guard is None:
                known = self._unmatched(case.pattern, subject, known)
        return either(after, known)

    def _unmatched(self, pattern: ast.pattern, subject: ast.expr, known: Facts | None) -> Facts | None:
        match pattern:
            case ast.MatchSingleton(None):
                is_none = ast.Compare(subject, [ast.Is()], [ast.Constant(None)])
                return both(known, self._conditions.outcome(is_none).false)
            case ast.MatchAs(pattern=None):  # it matches everything
                return None
        return known

"""Function bodies: straight-line code, branches and early returns are translated to one value."""

from __future__ import annotations

import ast
import dataclasses
from collections import Counter
from collections.abc import Sequence

from morisot.compile.ir.expressions import Expr, Literal, Raise
from morisot.compile.ir.strictness import StrictExpr
from morisot.compile.ir.values import NEVER, TRUE, Known, choose, conjunction
from morisot.compile.syntax import translate, try_except
from morisot.compile.syntax.calls import callable_class
from morisot.compile.syntax.expressions import comprehensions, operators
from morisot.compile.syntax.inlining import DEEPEST, InnerFunction, InnerLambda, check_walrus
from morisot.compile.syntax.scope import Scope, refuse
from morisot.compile.syntax.statements import match_statement, unpacking
from morisot.compile.syntax.translate import Arguments, Keywords, translates
from morisot.compile.verdict import Value
from morisot.types.element import BOOL, NONE

_NOTHING = Value(NONE, Literal(None, NONE))
_RAISED = Value(NEVER, Raise("the function raises"))


@callable_class(InnerFunction)
def _call_inner(
    node: ast.AST,
    function: InnerFunction,
    arguments: Arguments,
    keywords: Keywords,
    scope: Scope,
) -> Value:
    """A call of an inner function. Its captured variables are set once, so the time of the call is irrelevant."""
    positional = [one.arg for one in (*function.node.args.posonlyargs, *function.node.args.args)]
    given = dict(zip(positional, arguments, strict=False)) | keywords
    complete = set(given) == set(positional) and len(arguments) + len(keywords) == len(given)
    if not complete:
        refuse(node, f"{function.node.name} does not get its {len(positional)} arguments", translate.STAGE)
    if scope.depth >= DEEPEST:
        refuse(node, f"{function.node.name} calls itself, or its calls are nested too deeply", translate.STAGE)
    small = {name: scope.small(one) if isinstance(one, Value) else one for name, one in given.items()}
    names = {**function.scope.names, function.node.name: Known(function)}
    names |= {**dict.fromkeys(unpacking.stored(function.node)), **small}
    inner = dataclasses.replace(scope.on_path({}), function=function.scope.function, names=names, depth=scope.depth + 1)
    check_walrus(function.node, given)
    strict_before = len(scope.sharing.strict)
    for one in small.values():
        if isinstance(one, Value):
            inner.add_strict(one)
    result = inner.enforce_strict(translate.returned(function.node, inner), strict_before)
    if result.type == NEVER:
        refuse(node, f"{function.node.name} raises on every path", translate.STAGE)
    return result


@translates(ast.FunctionDef)
def _returned(node: ast.FunctionDef, scope: Scope) -> Value:
    return _Block(node).run(node.body, scope)


class _Block:
    """Runs a function's statements on symbolic values."""

    def __init__(self, node: ast.FunctionDef) -> None:
        names = [inner for inner in ast.walk(node) if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Load)]
        loops = [inner for inner in ast.walk(node) if inner is not node and isinstance(inner, _REPEATED)]
        names += [name for loop in loops for name in ast.walk(loop) if isinstance(name, ast.Name)]  # read for each item
        added_to = [inner.target for inner in ast.walk(node) if isinstance(inner, ast.AugAssign)]
        self.uses = Counter(name.id for name in (*names, *added_to) if isinstance(name, ast.Name))
        self.stored = unpacking.stored(node)

    def run(self, statements: Sequence[ast.stmt], scope: Scope) -> Value:
        """The value returned."""
        for index, statement in enumerate(statements):
            scope.sharing.step(statement)
            match statement:
                case ast.Return(None):
                    return _NOTHING
                case ast.Return(ast.expr() as result):
                    return translate.value(result, scope)
                case ast.Raise():
                    return _RAISED
                case ast.Assert():
                    return self._return_from(_asserted(statement), statements[index + 1 :], scope)
                case ast.If() if _returns(statement):
                    return self._return_from(statement, statements[index + 1 :], scope)
                case ast.Try():
                    return self._try(statement, statements[index + 1 :], scope)
                case ast.Match():
                    return self._match(statement, statements[index + 1 :], scope)
                case _:
                    scope = self._step(statement, scope)
        return _NOTHING

    def _return_from(self, node: ast.If, rest: Sequence[ast.stmt], scope: Scope) -> Value:
        """A branch that may return. The statements after it are translated on each path that does not."""
        test = self._test(node.test, scope)
        then = self.run([*node.body, *rest], scope.where(test))
        otherwise = self.run([*node.orelse, *rest], scope.where(test, False))
        return translate.choose_or_refuse(node, test, then, otherwise)

    def _test(self, node: ast.expr, scope: Scope) -> Expr:
        test = scope.small_expr(translate.condition(node, scope), BOOL)
        scope.add_strict(Value(BOOL, test))
        return test

    def _try(self, node: ast.Try, rest: Sequence[ast.stmt], scope: Scope) -> Value:
        """Translates the body twice: first to find the conditions under which it fails, then for the other rows."""
        if node.finalbody or any(_returns(one) for one in node.body[:-1]):
            refuse(node, "this kind of try has no column form", "let the try hold one statement, and no finally")
        trial = try_except.TryBody()
        tried = dataclasses.replace(scope.on_path(), trial=trial, sharing=scope.sharing.copy())
        self._tried(node.body, tried)
        own = {name for name, _ in scope.sharing.entries}
        paths = []
        for failure in trial.failures:
            handler = try_except.handler_of(failure, node.handlers, scope)
            if handler is not None:
                condition = scope.small_expr(tried.sharing.expanded(failure.condition, own), BOOL)
                paths.append((condition, handler))
                for each in trial.before(failure):
                    here = conjunction(condition, tried.sharing.expanded(each.condition, own))
                    expr = tried.sharing.expanded(each.expr, own)
                    scope.sharing.strict.append(StrictExpr(here, expr, each.type))
        if not paths:
            refuse(node, "no operation in this try is known to raise a caught exception", translate.STAGE)
        fails = scope.small_expr(try_except.any_of([condition for condition, _ in paths]), BOOL)
        fine = scope.where(fails, False)
        if _returns(node.body[-1]):
            result = self.run(node.body, fine)
        else:
            result = self.run([*node.body, *node.orelse, *rest], fine)
        lost = dict.fromkeys(unpacking.stored(ast.Module(node.body, []))) if len(node.body) > 1 else {}
        for condition, handler in reversed(paths):
            inner = scope.where(condition).having({**lost, **({handler.name: None} if handler.name else {})})
            result = translate.choose_or_refuse(node, condition, self.run([*handler.body, *rest], inner), result)
        return result

    def _tried(self, body: Sequence[ast.stmt], scope: Scope) -> None:
        for statement in body:
            if isinstance(statement, ast.Return) and statement.value is not None:
                translate.value(statement.value, scope)
            else:
                scope = self._step(statement, scope)

    def _match(self, node: ast.Match, rest: Sequence[ast.stmt], scope: Scope) -> Value:
        """The statements after `match` are translated for each case. Names bound by a case are unknown in the next."""
        subject = scope.small(translate.value(node.subject, scope))
        scope.add_strict(subject)
        return self._cases(node, subject, node.cases, rest, scope)

    def _cases(
        self, node: ast.Match, subject: Value, cases: Sequence[ast.match_case], rest: Sequence[ast.stmt], scope: Scope
    ) -> Value:
        if not cases:
            return self.run(rest, scope)
        case, *others = cases
        test, names = match_statement.matched(case.pattern, subject, scope)
        inner = scope.where(test).having(names)
        if case.guard is not None:
            guard = translate.condition(case.guard, inner)
            test, inner = conjunction(test, guard), inner.where(guard)
        test = scope.small_expr(test, BOOL)
        scope.add_strict(Value(BOOL, test))
        then = self.run([*case.body, *rest], inner)
        if test == TRUE:
            return then
        after = scope.where(test, False).having(dict.fromkeys(names))
        return translate.choose_or_refuse(node, test, then, self._cases(node, subject, others, rest, after))

    def _step(self, statement: ast.stmt, scope: Scope) -> Scope:
        """The scope after a statement that does not return."""
        match statement:
            case ast.Pass():
                return scope
            case ast.Expr(ast.Constant()):  # a docstring, or `...`
                return scope
            case ast.FunctionDef():
                return scope.having({statement.name: self._inner(statement, scope)})
            case ast.Assign(targets, node):
                unpacked = any(isinstance(target, ast.Tuple | ast.List) for target in targets)
                found = translate.expression(comprehensions.listed(node) if unpacked else node, scope)
                for target in targets:
                    scope = self._assign(target, found, scope)
                return scope
            case ast.AnnAssign(target, _, ast.expr() as node):
                return self._assign(target, translate.expression(node, scope), scope)
            case ast.AnnAssign():
                return scope
            case ast.AugAssign(ast.Name(name) as target, op, node):
                old = translate.operand(ast.copy_location(ast.Name(name, ast.Load()), target), scope)
                new = operators.binary(statement, op, old, translate.operand(node, scope), scope)
                return self._assign(target, new, scope)
            case ast.If():
                return self._branch(statement, scope)
            case _:
                name = _STATEMENTS.get(type(statement), type(statement).__name__)
                return refuse(statement, f"{name} has no column form", translate.STAGE)

    def _assign(self, target: ast.expr, found: Value | Known, scope: Scope) -> Scope:
        match target:
            case ast.Name(name):
                if isinstance(found, Known) and isinstance(found.object, InnerLambda):
                    self._check_captured(found.object.node, name)
                if isinstance(found, Value):
                    scope.add_strict(found)
                return scope.having({name: self._shared(name, found, scope)})
            case ast.Tuple(targets) | ast.List(targets):
                for one, item in unpacking.parts(target, targets, found, scope):
                    scope = scope.having({one.id: None}) if item is None else self._assign(one, item, scope)
                return scope
            case _:
                return refuse(target, f"assigning to {ast.unparse(target)} has no column form", "use a plain variable")

    def _inner(self, node: ast.FunctionDef, scope: Scope) -> Known:
        spec = node.args
        if spec.vararg or spec.kwarg or spec.kwonlyargs or spec.defaults or node.decorator_list:
            refuse(node, "a function inside has no column form unless its parameters are plain", "define it outside")
        self._check_captured(node, node.name)
        return Known(InnerFunction(node, scope))

    def _check_captured(self, node: ast.FunctionDef | ast.Lambda, name: str) -> None:
        """Refuses an inner function that captures a variable which changes: the column would not see the change."""
        own = {one.arg for one in (*node.args.posonlyargs, *node.args.args)}
        read = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)} - own
        for captured in (*read, name):
            if self.stored[captured] > 1:
                reason = f"{captured}, which a function inside reads, is set more than once"
                refuse(node, reason, f"use another name instead of setting {captured} again")

    def _branch(self, node: ast.If, scope: Scope) -> Scope:
        """Neither branch returns. The condition selects the value of a variable that a branch sets."""
        test = self._test(node.test, scope)
        then, otherwise = scope.where(test), scope.where(test, False)
        for statement in node.body:
            then = self._step(statement, then)
        for statement in node.orelse:
            otherwise = self._step(statement, otherwise)
        changed = {
            name: self._merge(node, name, test, (then.names.get(name), otherwise.names.get(name)))
            for name in {**then.names, **otherwise.names}
            if then.names.get(name) is not otherwise.names.get(name)
        }
        return scope.having({name: self._shared(name, merged, scope) for name, merged in changed.items()})

    def _merge(self, node: ast.If, name: str, test: Expr, paths: tuple[Value | Known | None, ...]) -> Value | None:
        then, otherwise = paths
        if not isinstance(then, Value) or not isinstance(otherwise, Value):
            return None
        merged = choose(test, then, otherwise)
        if merged is None:
            reason = f"{name} is {then.type} after one branch and {otherwise.type} after the other"
            refuse(node, reason, f"give {name} one type")
        return merged

    def _shared(self, name: str, found: Value | Known | None, scope: Scope) -> Value | Known | None:
        """The value of a variable, shared if it is used more than once."""
        return scope.small(found) if isinstance(found, Value) and self.uses[name] > 1 else found


_REPEATED = (ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp, ast.Lambda, ast.FunctionDef)
"""The nodes whose parts may be evaluated several times."""
_STATEMENTS = {
    ast.For: "a for loop",
    ast.While: "a while loop",
    ast.Try: "a try statement",
    ast.With: "a with statement",
    ast.Raise: "a raise statement",
    ast.Assert: "an assert statement",
    ast.Import: "an import statement",
    ast.ImportFrom: "an import statement",
    ast.Global: "a global statement",
    ast.Nonlocal: "a nonlocal statement",
    ast.FunctionDef: "a function inside",
    ast.Delete: "a del statement",
    ast.Match: "a match statement",
    ast.AugAssign: "an augmented assignment to a part",
    ast.Expr: "a statement for its effect",
}


def _returns(node: ast.AST) -> bool:
    """Whether some path through the statement returns or raises."""
    ends = ast.Return | ast.Raise | ast.Assert | ast.Try
    return any(isinstance(inner, ends) for inner in ast.walk(node))


def _asserted(node: ast.Assert) -> ast.If:
    """`assert test` as an `if` statement."""
    fails = ast.copy_location(ast.Raise(), node)
    return ast.copy_location(ast.If(node.test, [ast.copy_location(ast.Pass(), node)], [fails]), node)

"""Function bodies: straight-line code, branches and early returns become one value."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import types
from collections import Counter
from collections.abc import Iterable, Sequence

from morisot.compile.exact import dicts, formats, regex, sets, sorting
from morisot.compile.ir.common_subexpressions import reusing
from morisot.compile.ir.expressions import Expr, Literal, Raise
from morisot.compile.ir.values import DELTA, NEVER, TRUE, Known, Match, Set, choose, conjunction, parameter
from morisot.compile.syntax import (
    access,
    calls,
    comparisons,
    comprehensions,
    match_statement,
    translate,
    try_except,
    unpacking,
)
from morisot.compile.syntax.reader import FunctionNode, read
from morisot.compile.syntax.scope import Refused, Scope, Sharing, refuse
from morisot.compile.syntax.scope import known as from_object
from morisot.compile.table import date_methods, special_functions, str_methods
from morisot.compile.verdict import ColumnForm, Refusal, Value
from morisot.types.element import BOOL, NONE, Dict, List, Optional, Type, holds

RULES = (
    translate, comparisons, access, comprehensions, calls, formats, special_functions, dicts, sorting, sets,
    date_methods, regex, str_methods,
)  # fmt: skip
"""Where the rules for each kind of expression are; importing these registers them."""

_GENERATOR = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
_NOTHING = Value(NONE, Literal(None, NONE))
_RAISED = Value(NEVER, Raise("the function raises"))


def compile_function(function: object, parameters: Sequence[Type]) -> ColumnForm | Refusal:
    """The whole function as expressions over the columns of its parameters, or why that cannot be."""
    sharing = Sharing()
    arguments = [parameter(index, type_) for index, type_ in enumerate(parameters)]
    try:
        if isinstance(function, types.FunctionType):
            result = _body(function, arguments, {}, Scope(function, sharing))
        else:
            result = calls.apply(ast.Pass(), function, arguments, {}, Scope(_nameless, sharing))
        _check_result(result)
    except Refused as refused:
        return refused.refusal
    except RecursionError:
        return Refusal("the function is nested too deeply", advice="split it into several operators")
    return reusing(ColumnForm(result, tuple(sharing.entries)))


_nameless = types.FunctionType(compile("0", "<nothing>", "eval"), {})
"""Stands for the function around a builtin that is used as a closure."""


def _check_result(result: Value) -> None:
    if result.type == NONE:
        refuse(None, "the function returns only None", "return a value")
    if result.type == NEVER:
        refuse(None, "the function raises on every way", "return a value")
    if holds(result.type, DELTA):
        refuse(None, "a timedelta has no column form", "return its .total_seconds() or its .days")
    if _has_unheld(result.type):
        refuse(None, f"{result.type} is no value that a column can hold", "return a sorted list, or a text")
    if _has_unknown(result.type):
        refuse(None, "the type of the items of an empty list is not known", "annotate the return type")


def _has_unknown(type_: Type) -> bool:
    if isinstance(type_, List):
        return type_.item == NONE or _has_unknown(type_.item)
    return type_ == NONE or any(_has_unknown(child) for _, child in type_.children)


def _has_unheld(type_: Type) -> bool:
    match type_:
        case Set() | Match():
            return True
        case List(inner) | Optional(inner) | Dict(inner):
            return _has_unheld(inner)
    return any(_has_unheld(child) for _, child in type_.children)


Argument = Value | Known


def inline(
    function: types.FunctionType, arguments: Sequence[Argument], keywords: dict[str, Argument], scope: Scope
) -> Value:
    """The result of a call of the user's own function, read where it is called."""
    inner = dataclasses.replace(scope.forked({}), function=function, names={}, depth=scope.depth + 1)
    small = [scope.small(argument) if isinstance(argument, Value) else argument for argument in arguments]
    result = _body(function, small, keywords, inner)
    if result.type == NEVER:
        refuse(None, f"{function.__name__} raises on every way", translate.STAGE)
    return result


@calls.callable_class(unpacking.InnerFunction)
def _call_inner(
    node: ast.AST,
    function: unpacking.InnerFunction,
    arguments: Sequence[Argument],
    keywords: dict[str, Argument],
    scope: Scope,
) -> Value:
    """A function defined inside, called: what it reads around it is set once, so it does not matter when."""
    places = [one.arg for one in (*function.node.args.posonlyargs, *function.node.args.args)]
    given = dict(zip(places, arguments, strict=False)) | keywords
    if len(given) != len(places) or len(arguments) + len(keywords) != len(places) or set(given) != set(places):
        refuse(node, f"{function.node.name} does not get its {len(places)} arguments", translate.STAGE)
    if scope.depth >= calls.DEEPEST:
        refuse(node, f"{function.node.name} calls itself, or goes too deep", translate.STAGE)
    small = {name: scope.small(one) if isinstance(one, Value) else one for name, one in given.items()}
    names = {**function.scope.names, **dict.fromkeys(unpacking.stored(function.node)), **small}
    inner = dataclasses.replace(scope.forked({}), function=function.scope.function, names=names, depth=scope.depth + 1)
    _check_walrus(function.node, given)
    owed = len(scope.sharing.debts)
    for one in small.values():
        if isinstance(one, Value):
            inner.owe(one)
    result = inner.settle(_Block(function.node).run(function.node.body, inner), owed)
    if result.type == NEVER:
        refuse(node, f"{function.node.name} raises on every way", translate.STAGE)
    return result


def _body(
    function: types.FunctionType, arguments: Sequence[Argument], keywords: dict[str, Argument], scope: Scope
) -> Value:
    if function.__code__.co_flags & _GENERATOR:
        refuse(None, f"{function.__name__} is a generator or a coroutine", translate.STAGE)
    source = read(function)
    if isinstance(source, Refusal):
        raise Refused(source)
    names = _bind_parameters(source.node, function, arguments, keywords)
    _check_walrus(source.node, names)
    owed = len(scope.sharing.debts)
    for argument in (*arguments, *keywords.values()):
        if isinstance(argument, Value):
            scope.owe(argument)
    scope = scope.having(names)
    if isinstance(source.node, ast.Lambda):
        result = translate.value(source.node.body, scope)
    else:
        result = _Block(source.node).run(source.node.body, scope)
    return scope.settle(result, owed)


def _bind_parameters(
    node: FunctionNode, function: types.FunctionType, arguments: Sequence[Argument], keywords: dict[str, Argument]
) -> dict[str, Value | Known | None]:
    spec = node.args
    if spec.vararg or spec.kwarg:
        refuse(node, "a function with *args or **kwargs has no column form", "name the parameters")
    places = [argument.arg for argument in (*spec.posonlyargs, *spec.args)]
    if len(arguments) > len(places):
        refuse(node, f"the function takes {len(places)} arguments and gets {len(arguments)}")
    defaults = function.__defaults__ or ()
    last = places[len(places) - len(defaults) :]
    bound: dict[str, Value | Known | None] = {
        name: from_object(default) for name, default in zip(last, defaults, strict=True)
    }
    bound |= {name: from_object(default) for name, default in (function.__kwdefaults__ or {}).items()}
    bound |= dict(zip(places, arguments, strict=False))
    bound |= keywords
    everything = [*places, *(argument.arg for argument in spec.kwonlyargs)]
    for name in everything:
        if name not in bound:
            refuse(node, f"the function gets no argument {name}")
    if set(keywords) - set(everything):
        refuse(node, f"the function has no parameter {min(set(keywords) - set(everything))}")
    return bound


def _check_walrus(node: FunctionNode, parameters: Iterable[str]) -> None:
    """A name set by := may be set nowhere else: then to know whether it is set is to know its value."""
    stored = [inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store)]
    captured = [inner.name for inner in ast.walk(node) if isinstance(inner, ast.MatchAs) and inner.name]
    times = Counter((*stored, *captured, *parameters))
    for inner in ast.walk(node):
        if isinstance(inner, ast.NamedExpr) and times[inner.target.id] > 1:
            refuse(inner, f"{inner.target.id} is set by := and again elsewhere", "use another name")


class _Block:
    """Runs a function's statements on symbolic values."""

    def __init__(self, node: ast.FunctionDef) -> None:
        names = [inner for inner in ast.walk(node) if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Load)]
        added_to = [inner.target for inner in ast.walk(node) if isinstance(inner, ast.AugAssign)]
        self.uses = Counter(name.id for name in (*names, *added_to) if isinstance(name, ast.Name))
        self.stored = unpacking.stored(node)

    def run(self, statements: Sequence[ast.stmt], scope: Scope) -> Value:
        """The value returned."""
        for place, statement in enumerate(statements):
            scope.sharing.step(statement)
            match statement:
                case ast.Return(None):
                    return _NOTHING
                case ast.Return(ast.expr() as result):
                    return translate.value(result, scope)
                case ast.Raise():
                    return _RAISED
                case ast.Assert():
                    return self._return_from(_asserted(statement), statements[place + 1 :], scope)
                case ast.If() if _returns(statement):
                    return self._return_from(statement, statements[place + 1 :], scope)
                case ast.Try():
                    return self._try(statement, statements[place + 1 :], scope)
                case ast.Match():
                    return self._match(statement, statements[place + 1 :], scope)
                case _:
                    scope = self._step(statement, scope)
        return _NOTHING

    def _return_from(self, node: ast.If, rest: Sequence[ast.stmt], scope: Scope) -> Value:
        """A branch that may return: what follows belongs to the ways that go on."""
        test = self._test(node.test, scope)
        then = self.run([*node.body, *rest], scope.where(test))
        otherwise = self.run([*node.orelse, *rest], scope.where(test, False))
        return translate.choose_or_refuse(node, test, then, otherwise)

    def _test(self, node: ast.expr, scope: Scope) -> Expr:
        test = scope.small_expr(translate.condition(node, scope), BOOL)
        scope.owe(Value(BOOL, test))
        return test

    def _try(self, node: ast.Try, rest: Sequence[ast.stmt], scope: Scope) -> Value:
        """Read twice: first to learn when the body surely fails, then where it does not."""
        if node.finalbody or any(_returns(one) for one in node.body[:-1]):
            refuse(node, "this kind of try has no column form", "let the try hold one statement, and no finally")
        trial: list[try_except.Failure] = []
        tried = dataclasses.replace(scope.forked(), trial=trial, sharing=scope.sharing.copy())
        self._tried(node.body, tried)
        own = {name for name, _ in scope.sharing.entries}
        ways = []
        for failure in trial:
            handler = try_except.handler_of(failure, node.handlers, scope)
            if handler is not None:
                condition = tried.sharing.expanded(failure.condition, own)
                ways.append((scope.small_expr(condition, BOOL), handler))
        if not ways:
            refuse(node, "nothing in this try is known to raise what it catches", translate.STAGE)
        fails = scope.small_expr(try_except.any_of([condition for condition, _ in ways]), BOOL)
        fine = scope.where(fails, False)
        if _returns(node.body[-1]):
            result = self.run(node.body, fine)
        else:
            result = self.run([*node.body, *node.orelse, *rest], fine)
        lost = dict.fromkeys(unpacking.stored(ast.Module(node.body, []))) if len(node.body) > 1 else {}
        for condition, handler in reversed(ways):
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
        """What follows belongs to each case; a name that a case sets is not known in the next ones."""
        subject = scope.small(translate.value(node.subject, scope))
        scope.owe(subject)
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
        scope.owe(Value(BOOL, test))
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
                new = translate.binary(statement, op, old, translate.operand(node, scope), scope)
                return self._assign(target, new, scope)
            case ast.If():
                return self._branch(statement, scope)
            case _:
                name = _STATEMENTS.get(type(statement), type(statement).__name__)
                return refuse(statement, f"{name} has no column form", translate.STAGE)

    def _assign(self, target: ast.expr, found: Value | Known, scope: Scope) -> Scope:
        match target:
            case ast.Name(name):
                if isinstance(found, Known) and isinstance(found.object, calls.Inner):
                    self._check_captured(found.object.node, name)
                if isinstance(found, Value):
                    scope.owe(found)
                return scope.having({name: self._kept(name, found, scope)})
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
        return Known(unpacking.InnerFunction(node, scope))

    def _check_captured(self, node: ast.FunctionDef | ast.Lambda, name: str) -> None:
        """What a function inside reads around it must not change: it would see the change, the column would not."""
        own = {one.arg for one in (*node.args.posonlyargs, *node.args.args)}
        read = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)} - own
        for captured in (*read, name):
            if self.stored[captured] > 1:
                reason = f"{captured}, which a function inside reads, is set more than once"
                refuse(node, reason, f"use another name instead of setting {captured} again")

    def _branch(self, node: ast.If, scope: Scope) -> Scope:
        """Both branches go on: a variable set in one of them is chosen by the condition."""
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
        return scope.having({name: self._kept(name, merged, scope) for name, merged in changed.items()})

    def _merge(self, node: ast.If, name: str, test: Expr, ways: tuple[Value | Known | None, ...]) -> Value | None:
        then, otherwise = ways
        if not isinstance(then, Value) or not isinstance(otherwise, Value):
            return None
        merged = choose(test, then, otherwise)
        if merged is None:
            reason = f"{name} is {then.type} after one branch and {otherwise.type} after the other"
            refuse(node, reason, f"give {name} one type")
        return merged

    def _kept(self, name: str, found: Value | Known | None, scope: Scope) -> Value | Known | None:
        """The value of a variable, cheap to repeat if it is used more than once."""
        return scope.small(found) if isinstance(found, Value) and self.uses[name] > 1 else found


_STATEMENTS = {
    ast.For: "a for loop",
    ast.While: "a while loop",
    ast.Try: "try",
    ast.With: "with",
    ast.Raise: "raise",
    ast.Assert: "assert",
    ast.Import: "import",
    ast.ImportFrom: "import",
    ast.Global: "global",
    ast.Nonlocal: "nonlocal",
    ast.FunctionDef: "a function inside",
    ast.Delete: "del",
    ast.Match: "match",
    ast.AugAssign: "an augmented assignment to a part",
    ast.Expr: "a statement for its effect",
}


def _returns(node: ast.AST) -> bool:
    """Whether some way through the statement returns or raises."""
    ends = ast.Return | ast.Raise | ast.Assert | ast.Try
    return any(isinstance(inner, ends) for inner in ast.walk(node))


def _asserted(node: ast.Assert) -> ast.If:
    """`assert test` as the branch that it is."""
    fails = ast.copy_location(ast.Raise(), node)
    return ast.copy_location(ast.If(node.test, [ast.copy_location(ast.Pass(), node)], [fails]), node)

"""The types of variables after statements, and of what they return."""

from __future__ import annotations

import ast
import functools
import importlib
import sys
from collections.abc import Callable
from typing import Any

from morisot.compile.ir.values import Known
from morisot.compile.result_types.domain import Found, Mapping, hidden, is_plain, type_of
from morisot.compile.result_types.expressions import ExpressionTypes
from morisot.compile.result_types.frames import CallFrame, GiveUp, Inner, Variables, joined, same
from morisot.types.element import ANY, NONE, List, Type

_ROUNDS = 8
"""The most rounds of a loop until the types of its variables are stable."""


class _Loop:
    """The variables at each `break` and `continue` of a loop."""

    def __init__(self) -> None:
        self.breaks: list[Variables] = []
        self.continues: list[Variables] = []


class StatementTypes(ExpressionTypes):
    """Interprets statements. A statement returns the variables after it; None if it does not end normally."""

    def __init__(self, opaque: bool) -> None:
        super().__init__(opaque)
        self._loops: list[_Loop] = []

    def block(self, body: list[ast.stmt], frame: CallFrame, variables: Variables | None) -> Variables | None:
        """The variables after some statements."""
        for statement in body:
            if variables is None:
                return None
            self.count()
            rule: Callable[..., Variables | None] | None = getattr(self, f"on_{type(statement).__name__.lower()}", None)
            if rule is None:
                raise GiveUp
            variables = rule(statement, frame, dict(variables))
        return variables

    def on_pass(self, _node: ast.Pass, _frame: CallFrame, variables: Variables) -> Variables:
        return variables

    def on_expr(self, node: ast.Expr, frame: CallFrame, variables: Variables) -> Variables:
        self.found(node.value, frame, variables)
        return variables

    def on_return(self, node: ast.Return, frame: CallFrame, variables: Variables) -> None:
        frame.returned.append(NONE if node.value is None else self.type(node.value, frame, variables))

    def on_raise(self, node: ast.Raise, frame: CallFrame, variables: Variables) -> None:
        for each in (node.exc, node.cause):
            if each is not None:
                self.found(each, frame, variables)

    def on_assert(self, node: ast.Assert, frame: CallFrame, variables: Variables) -> Variables:
        """It tests nothing with `python -O`, so the condition is not known to hold after it."""
        self.truth(self.type(node.test, frame, variables))
        return variables

    def on_assign(self, node: ast.Assign, frame: CallFrame, variables: Variables) -> Variables:
        found = self._created(node.targets[0], node.value, frame, variables)
        for target in node.targets:
            self.assign(target, found, frame, variables)
        return variables

    def _created(self, target: ast.expr, value: ast.expr, frame: CallFrame, variables: Variables) -> Found:
        """The value of an assignment. A list or dict that only this call can change has a type in any case."""
        if isinstance(target, ast.Name) and target.id in frame.local:
            assert isinstance(value, ast.List | ast.Dict)
            rule: Callable[..., Found] = self.on_list if isinstance(value, ast.List) else self.on_dict
            return rule(value, frame, variables)
        return self.found(value, frame, variables)

    def on_annassign(self, node: ast.AnnAssign, frame: CallFrame, variables: Variables) -> Variables:
        if node.value is not None:
            self.assign(node.target, self._created(node.target, node.value, frame, variables), frame, variables)
        return variables

    def assign(self, target: ast.expr, found: Found, frame: CallFrame, variables: Variables) -> None:
        """Sets variables. Setting an item or an attribute changes an object in place."""
        if self._is_local(target, frame):
            self._store(target, type_of(found), frame, variables)
        elif isinstance(target, ast.Attribute | ast.Subscript):
            self.found(target.value, frame, variables)
            self.impure = True
        else:
            self.unpack(target, found, variables, frame)

    def _is_local(self, target: ast.expr, frame: CallFrame) -> bool:
        """Whether the target is an item of a list or dict that only this call can change."""
        is_item = isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name)
        return is_item and target.value.id in frame.local  # type: ignore[attr-defined]

    def _store(self, target: ast.expr, value: Type, frame: CallFrame, variables: Variables) -> None:
        """`d[key] = value`, or `xs[index] = value`."""
        assert isinstance(target, ast.Subscript)
        assert isinstance(target.value, ast.Name)
        key = self.type(target.slice, frame, variables)
        if isinstance(frame.lookup(target.value.id, variables), Mapping):
            frame.fill(target.value.id, Mapping(key, value))
        else:
            frame.fill(target.value.id, List(value) if not isinstance(target.slice, ast.Slice) else List(ANY))

    def item(self, target: ast.expr, frame: CallFrame, variables: Variables) -> Type:
        """The type of the item that a target names."""
        assert isinstance(target, ast.Subscript)
        return self.type(ast.Subscript(target.value, target.slice, ast.Load()), frame, variables)

    def on_augassign(self, node: ast.AugAssign, frame: CallFrame, variables: Variables) -> Variables:
        value = self.found(node.value, frame, variables)
        if self._is_local(node.target, frame):
            item = self.item(node.target, frame, variables)
            self.impure |= hidden(item) != item
            self._store(node.target, self.operated(node.op, item, value), frame, variables)
            return variables
        if not isinstance(node.target, ast.Name):
            self.impure = True
            return variables
        before = frame.lookup(node.target.id, variables)
        if hidden(type_of(before)) != type_of(before) or not is_plain(type_of(before)):
            self.impure = True
        frame.bind(node.target.id, self.operated(node.op, before, value), variables)
        return variables

    def on_delete(self, node: ast.Delete, _frame: CallFrame, variables: Variables) -> Variables:
        for target in node.targets:
            if isinstance(target, ast.Name):
                variables.pop(target.id, None)
            else:
                self.impure = True
        return variables

    def on_functiondef(self, node: ast.FunctionDef, frame: CallFrame, variables: Variables) -> Variables:
        defaults = self.defaults(node.args, frame, variables)
        inner = Inner(node, frame, defaults, frame.unstored(variables))
        frame.bind(node.name, self.unknown() if node.decorator_list else Known(inner), variables)
        return variables

    def on_import(self, node: ast.Import, frame: CallFrame, variables: Variables) -> Variables:
        for each in node.names:
            name = each.name if each.asname else each.name.partition(".")[0]
            module = sys.modules.get(name)
            found: Found = ANY if module is None else Known(module)
            frame.bind(each.asname or name, found, variables)
        return variables

    def on_importfrom(self, node: ast.ImportFrom, frame: CallFrame, variables: Variables) -> Variables:
        module = sys.modules.get(node.module or "") if not node.level else None
        if module is None and node.module in sys.stdlib_module_names and not node.level:
            module = importlib.import_module(str(node.module))
        for each in node.names:
            known = module is not None and hasattr(module, each.name)
            frame.bind(each.asname or each.name, Known(getattr(module, each.name)) if known else ANY, variables)
        return variables

    def on_if(self, node: ast.If, frame: CallFrame, variables: Variables) -> Variables | None:
        self.truth(self.type(node.test, frame, variables))
        then = self.block(node.body, frame, self.narrowed(node.test, True, frame, variables))
        otherwise = self.block(node.orelse, frame, self.narrowed(node.test, False, frame, variables))
        return joined(then, otherwise)

    def on_while(self, node: ast.While, frame: CallFrame, variables: Variables) -> Variables | None:
        def before(current: Variables) -> Variables:
            self.truth(self.type(node.test, frame, current))
            return self.narrowed(node.test, True, frame, current)

        endless = isinstance(node.test, ast.Constant) and bool(node.test.value)
        return self._repeated(node, frame, variables, before, endless)

    def on_for(self, node: ast.For, frame: CallFrame, variables: Variables) -> Variables | None:
        """The items are looked at in each round: the body may add some."""

        def before(current: Variables) -> Variables:
            current = dict(current)
            item = self.iterated(self.type(node.iter, frame, current))
            self.assign(node.target, item, frame, current)
            return current

        return self._repeated(node, frame, variables, before, False)

    def _repeated(
        self,
        node: ast.For | ast.While,
        frame: CallFrame,
        variables: Variables,
        before: Callable[[Variables], Variables],
        endless: bool,
    ) -> Variables | None:
        """The variables after a loop: rounds are interpreted until they change nothing."""
        for _ in range(_ROUNDS):
            loop, bound = _Loop(), dict(frame.bound)
            self._loops.append(loop)
            after = self.block(node.body, frame, before(variables))
            self._loops.pop()
            again = functools.reduce(joined, loop.continues, joined(dict(variables), after))
            assert again is not None
            if same(again, variables) and bound == frame.bound:
                ended = None if endless else self.block(node.orelse, frame, dict(variables))
                return functools.reduce(joined, loop.breaks, ended)
            variables = again
        raise GiveUp

    def on_break(self, _node: ast.Break, _frame: CallFrame, variables: Variables) -> None:
        self._loops[-1].breaks.append(variables)

    def on_continue(self, _node: ast.Continue, _frame: CallFrame, variables: Variables) -> None:
        self._loops[-1].continues.append(variables)

    def _recorded(
        self, body: list[ast.stmt], frame: CallFrame, variables: Variables
    ) -> tuple[Variables | None, Variables]:
        """The variables after a block, and those where an exception may leave it."""
        recorder: list[Variables] = [dict(variables)]
        frame.recorders.append(recorder)
        after = self.block(body, frame, variables)
        frame.recorders.pop()
        left = functools.reduce(joined, recorder, None)
        assert left is not None
        return after, _variables_only(left)

    def on_try(self, node: ast.Try, frame: CallFrame, variables: Variables) -> Variables | None:
        after, failed = self._recorded(node.body, frame, variables)
        anywhere: Variables | None = failed
        if after is not None:
            after, left = self._recorded(node.orelse, frame, after)
            anywhere = joined(anywhere, left)
        for handler in node.handlers:
            inner = dict(failed)
            if handler.name:
                frame.bind(handler.name, ANY, inner)
            ended, left = self._recorded(handler.body, frame, inner)
            after, anywhere = joined(after, ended), joined(anywhere, left)
        if not node.finalbody:
            return after
        return self._finally(node.finalbody, frame, after, joined(anywhere, after))

    def _finally(
        self, body: list[ast.stmt], frame: CallFrame, after: Variables | None, anywhere: Variables | None
    ) -> Variables | None:
        """It runs after every path. Where it ends normally, so did what was before it."""
        assert anywhere is not None
        ended = self.block(body, frame, anywhere)
        return None if after is None else ended

    def on_with(self, node: ast.With, frame: CallFrame, variables: Variables) -> Variables | None:
        """A context manager may suppress an exception."""
        for item in node.items:
            self.found(item.context_expr, frame, variables)
            self.impure = True
            if item.optional_vars is not None:
                self.assign(item.optional_vars, ANY, frame, variables)
        after, failed = self._recorded(node.body, frame, variables)
        return joined(after, failed)

    def on_match(self, node: ast.Match, frame: CallFrame, variables: Variables) -> Variables | None:
        subject = self.type(node.subject, frame, variables)
        if not is_plain(subject):
            self.impure = True
        # A pattern that fails may have set some of its names.
        for name in (name for case in node.cases for name in _captured(case.pattern)):
            frame.bind(name, ANY, variables)
        ended: Variables | None = None
        for case in node.cases:
            inner = dict(variables)
            if case.guard is not None:
                self.truth(self.type(case.guard, frame, inner))
            ended = joined(ended, self.block(case.body, frame, inner))
        last = node.cases[-1]
        if isinstance(last.pattern, ast.MatchAs) and last.pattern.pattern is None and last.guard is None:
            return ended
        return joined(ended, variables)


def _variables_only(variables: Variables) -> Variables:
    return {name: found for name, found in variables.items() if name.isidentifier()}


def _captured(pattern: ast.pattern) -> list[str]:
    names: list[str] = []
    for each in ast.walk(pattern):
        name: Any = getattr(each, "name", None) or getattr(each, "rest", None)
        if isinstance(name, str):
            names.append(name)
    return names

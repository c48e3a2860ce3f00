"""Function bodies as kernels: statements, branches and loops. The type of each variable is tracked on every path."""

from __future__ import annotations

import ast
import types
from collections.abc import Mapping, Sequence

from morisot.compile.kernel import loops
from morisot.compile.kernel.arithmetic import binary
from morisot.compile.kernel.loops import OpenLoop
from morisot.compile.kernel.states import State, merge
from morisot.compile.kernel.terms import BAD, Program, Term, describe, literal
from morisot.compile.kernel.values import Expressions
from morisot.compile.syntax.reader import FunctionNode, read
from morisot.compile.syntax.scope import Refused, refuse
from morisot.compile.syntax.translate import STAGE
from morisot.compile.verdict import Refusal
from morisot.types.element import NONE, Product, Record, Tuple


class FunctionWriter(Expressions):
    """Writes one of the user's functions as one generated function."""

    def __init__(self, program: Program, function: types.FunctionType, caller: ast.AST) -> None:
        super().__init__(program, function, caller)
        self.result: Term | None = None
        self.loops: list[OpenLoop] = []
        """The loops around the current statement, the innermost last."""

    def run(self, name: str, arguments: Sequence[Term], keywords: Mapping[str, Term]) -> Term:
        """Writes the function under a name. Returns a term with the shape of its result."""
        source = read(self.function)
        if isinstance(source, Refusal):
            raise Refused(source)
        self.program.active.append(self.function)
        node = source.node
        self.state = dict(self._bind(node, arguments, keywords))
        result = self._returned(node)
        self.program.active.pop()
        self.program.functions.append(self.out.finish(name, self.texts((*arguments, *keywords.values())), result))
        return result

    def _returned(self, node: FunctionNode) -> Term:
        """Writes the body. Returns a term with the shape that every path returns."""
        if isinstance(node, ast.Lambda):
            self.careful = _sets_inside(node.body)
            self._return(node.body)
        else:
            self.statements(node.body)
            if self.state is not None:
                refuse(node, "the function returns None on some path", "return a number on every path")
        return self.result or refuse(node, "the function never returns a value", STAGE)

    def _bind(self, node: FunctionNode, arguments: Sequence[Term], keywords: Mapping[str, Term]) -> dict[str, Term]:
        spec, function = node.args, self.function
        if spec.vararg or spec.kwarg:
            refuse(node, "a function with *args or **kwargs has no kernel form", "name the parameters")
        positional = [argument.arg for argument in (*spec.posonlyargs, *spec.args)]
        defaults = function.__defaults__ or ()
        given = dict(zip(positional[len(positional) - len(defaults) :], defaults, strict=True))
        given |= function.__kwdefaults__ or {}
        bound = dict(zip(positional, arguments, strict=False)) | dict(keywords)
        everything = [*positional, *(argument.arg for argument in spec.kwonlyargs)]
        if len(bound) < len(arguments) + len(keywords) or set(bound) - set(everything):
            refuse(node, f"{function.__name__} gets arguments it does not take")
        for name in everything:
            if name not in bound:
                found = literal(given[name]) if name in given else None
                if not isinstance(found, Term):
                    refuse(node, f"the parameter {name} has no number", STAGE)
                bound[name] = found
        # copied to variables of their own, because a parameter may be assigned to
        return {name: self.out.store(name, term) for name, term in bound.items()}

    # -- statements ---------------------------------------------------------------------------------------------------

    def statements(self, statements: Sequence[ast.stmt]) -> None:
        for statement in statements:
            if self.state is None:
                return  # unreachable code
            self._statement(statement)

    def _statement(self, statement: ast.stmt) -> None:
        self.program.step(statement)
        self.careful = _sets_inside(statement)
        match statement:
            case ast.Pass() | ast.Expr(ast.Constant()) | ast.AnnAssign(value=None):
                pass
            case ast.Assign() | ast.AnnAssign() | ast.AugAssign(ast.Name()):
                self._assignment(statement)
            case ast.If(test, body, orelse):
                self._if(self.condition(test), body, orelse)
            case ast.While():
                loops.write_while(self, statement)
            case ast.For():
                loops.write_for(self, statement)
            case ast.Break() | ast.Continue():
                loops.leave(self, statement)
            case ast.Return(ast.expr() as value):
                self._return(value)
            case ast.Raise():
                self.out.line(BAD)  # Python raises the exception
                self.state = None
            case ast.Assert(test, _):
                self.out.bad_if(f"not {self.condition(test).text}")
            case _:
                refuse(statement, f"{describe(statement)} has no kernel form", STAGE)

    def _assignment(self, statement: ast.Assign | ast.AnnAssign | ast.AugAssign) -> None:
        match statement:
            case ast.Assign([ast.Tuple() as target], ast.Call(ast.Name("map"), [_, _], []) as value):
                self._assign_all([target], self._mapped(value))
            case ast.Assign(targets, value):
                self._assign_all(targets, self.term(value))
            case ast.AnnAssign(target, _, ast.expr() as value):
                self._assign_all([target], self.term(value))
            case ast.AugAssign(ast.Name(name) as target, op, value):
                old = self.term(ast.copy_location(ast.Name(name, ast.Load()), target))
                self.assign(target, binary(self.out, statement, op, old, self.term(value)))

    def _return(self, value: ast.expr) -> None:
        term = self.term(value)
        for leaf in term.leaves():
            if leaf.type == NONE:
                refuse(value, "the result is None on some path", "return a number on every path")
        if self.result is not None and self.result.type != term.type:
            refuse(
                value,
                f"the result is {self.result.type} on one path and {term.type} on another",
                "give all of them one type, such as 0.0 for 0",
            )
        if self.result is not None and self.result.shape != term.shape:
            refuse(value, "the paths return different texts or objects: a kernel can only pass on one", STAGE)
        self.result = term
        numbers = (leaf.text for leaf in term.leaves() if leaf.is_number)
        self.out.line(f"return ({', '.join(['True', *numbers])},)")
        self.state = None

    def _assign_all(self, targets: Sequence[ast.expr], term: Term) -> None:
        plain = len(targets) == 1 and isinstance(targets[0], ast.Name) and not isinstance(term.type, Product)
        current = term if plain else self.out.snapshot(term)
        for target in targets:
            self.assign(target, current)

    def assign(self, target: ast.expr, term: Term) -> None:
        match target:
            case ast.Name(name):
                if term.type == NONE:
                    refuse(target, f"{name} is None", f"give {name} a number")
                self.state = {**self.here(), name: self.out.store(name, term)}
            case ast.Tuple(targets) | ast.List(targets):
                if not isinstance(term.type, Product) or (isinstance(term.type, Record) and not term.type.is_tuple):
                    refuse(target, f"{term.type} does not unpack into {len(targets)} names")
                if len(targets) != len(term.items) or any(isinstance(one, ast.Starred) for one in targets):
                    refuse(target, f"{term.type} does not unpack into {len(targets)} names")
                for one, item in zip(targets, term.items, strict=True):
                    self.assign(one, item)
            case _:
                refuse(target, f"assigning to {ast.unparse(target)} has no kernel form", "use a plain variable")

    def _mapped(self, node: ast.Call) -> Term:
        """`a, b = map(f, pair)`: the function applied to each part."""
        assert isinstance(node.func, ast.Name)
        source = self.term(node.args[1])
        if self.object(node.func) is not map or not isinstance(source.type, Tuple):
            refuse(node, "map has no kernel form but over a tuple", STAGE)
        items = tuple(self.called(node, node.args[0], [item]) for item in source.items)
        return Term(Tuple(tuple(item.type for item in items)), items=items)

    def _if(self, test: Term, body: Sequence[ast.stmt], orelse: Sequence[ast.stmt]) -> None:
        if test.constant is not None:
            self.statements(body if test.constant else orelse)
            return
        before = self.here()
        with self.out.block(f"if {test.text}:"):
            self.statements(body)
        after_body, self.state = self.state, before
        if orelse:
            with self.out.block("else:"):
                self.statements(orelse)
        paths: list[State] = [state for state in (after_body, self.state) if state is not None]
        self.state = merge(paths)


def _sets_inside(node: ast.AST) -> bool:
    """Whether a := sets a variable in the node's own expressions. Statements inside the node are not looked at."""
    return any(
        isinstance(each, ast.NamedExpr)
        for child in ast.iter_child_nodes(node)
        if not isinstance(child, ast.stmt)
        for each in ast.walk(child)
    ) or isinstance(node, ast.NamedExpr)

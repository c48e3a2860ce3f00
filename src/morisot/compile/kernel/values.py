"""Expressions inside kernels: each becomes a term, preceded by lines for the checks that it needs."""

from __future__ import annotations

import ast
import types
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from morisot.compile.ir.values import Known
from morisot.compile.kernel import calls, lists
from morisot.compile.kernel.arithmetic import binary, compare, integer, truth, unary
from morisot.compile.kernel.branchless import branchless
from morisot.compile.kernel.states import State, Unclear, merge
from morisot.compile.kernel.terms import Program, Term, Writer, describe, literal, rebuilt, renamed, texts
from morisot.compile.syntax.scope import Scope, Sharing, refuse
from morisot.compile.syntax.translate import STAGE, comes_with_python, shown
from morisot.compile.table import records
from morisot.types.element import BOOL, INT, NONE, List, Record, Tuple
from morisot.types.records import is_record_class


class Expressions(ABC):
    """Translates the expressions of one function to terms."""

    def __init__(self, program: Program, function: types.FunctionType, caller: ast.AST) -> None:
        if function in program.active:
            refuse(caller, f"{function.__name__} calls itself", "write it as a loop")
        self.program = program
        self.function = function
        self.scope = Scope(function, Sharing())
        self.out = Writer(program)
        self.state: State | None = {}
        """The variables here; None in unreachable code."""
        self.careful = False
        """Whether a := may change a variable after it was read and before its value is used."""

    def here(self) -> State:
        assert self.state is not None
        return self.state

    def texts(self, terms: Iterable[Term]) -> list[str]:
        """The arguments of a generated function."""
        return texts(terms)

    @contextmanager
    def one_path(self) -> Iterator[None]:
        """Translates code that runs on one of two paths only: a variable set by := there may be unset afterwards."""
        before = self.here()
        yield
        self.state = merge([before, self.here()])

    def term(self, node: ast.expr) -> Term:
        """The value of an expression."""
        found = self._expression(node)
        if isinstance(found, Known):
            refuse(node, f"{ast.unparse(node)} is not a number", STAGE)
        return found

    def condition(self, node: ast.expr) -> Term:
        """The truth value of an expression."""
        match node:
            case ast.BoolOp(op, values):
                return self._connect(isinstance(op, ast.And), values)
            case ast.UnaryOp(ast.Not(), inner):
                held = self.condition(inner)
                if held.constant is not None:
                    return Term(BOOL, str(not held.constant), constant=not held.constant)
                return Term(BOOL, f"(not {held.text})")
        return truth(node, self.term(node))

    def _connect(self, is_and: bool, values: Sequence[ast.expr]) -> Term:
        """`and` and `or` of truth values. The right side is evaluated only if the left does not decide."""
        first = self.condition(values[0])
        if len(values) == 1:
            return first
        if first.constant is not None:
            return self._connect(is_and, values[1:]) if first.constant is is_and else first
        result = self.out.bound(BOOL, first.text)
        with self.out.block(f"if {'' if is_and else 'not '}{result.text}:"), self.one_path():
            self.out.line(f"{result.text} = {self._connect(is_and, values[1:]).text}")
        return result

    def integer(self, node: ast.expr) -> Term:
        term = self.term(node)
        if term.type not in (INT, BOOL):
            refuse(node, f"{ast.unparse(node)} is {term.type} and not an int")
        return integer(term)

    def _expression(self, node: ast.expr) -> Term | Known:
        self.program.step(node)
        match node:
            case ast.Constant(value):
                return literal(value)
            case ast.Name():
                return self._variable(node)
            case ast.Tuple(elts) if elts:
                items = tuple(self.term(item) for item in elts)
                return Term(Tuple(tuple(item.type for item in items)), items=items)
            case ast.BinOp(left, op, right):
                # the operands may be plain variables, because nothing is assigned before they are used
                return binary(self.out, node, op, self.term(left), self.term(right))
            case ast.UnaryOp():
                return self._unary(node)
            case ast.BoolOp(op, values):
                return self._operands(node, isinstance(op, ast.And), values)
            case ast.Compare(left, ops, comparators):
                return self._chain(node, self.term(left), ops, comparators)
            case ast.IfExp(test, body, orelse):
                return self._conditional(node, self.condition(test), body, orelse)
            case ast.Call():
                return self._call(node)
            case ast.NamedExpr(target, value):
                return self._walrus(target, self.term(value))
            case ast.Attribute() | ast.Subscript():
                return self._access(node)
            case _:
                return refuse(node, f"{describe(node)} has no kernel form", STAGE)

    def _walrus(self, target: ast.Name, term: Term) -> Term:
        if term.type == NONE:
            refuse(target, f"{target.id} is None", f"give {target.id} a number")
        current = self.out.snapshot(term)
        self.state = {**self.here(), target.id: self.out.store(target.id, current)}
        return current

    def _unary(self, node: ast.UnaryOp) -> Term:
        if isinstance(node.op, ast.Not):
            return self.condition(node)
        return unary(self.out, node, node.op, self.term(node.operand))

    def _access(self, node: ast.Attribute | ast.Subscript) -> Term | Known:
        if isinstance(node, ast.Attribute):
            return self._attribute(node)
        owner = self.term(node.value)
        if isinstance(node.slice, ast.Slice):
            return self._slice(node, owner, node.slice)
        return self._item(node, owner, self.term(node.slice))

    def _slice(self, node: ast.AST, owner: Term, bounds: ast.Slice) -> Term:
        if bounds.step is not None or not isinstance(owner.type, List):
            refuse(node, f"{ast.unparse(node)} has no kernel form", "slice a list without a step")
        ends = (None if bound is None else self.out.atom(self.integer(bound)) for bound in (bounds.lower, bounds.upper))
        return lists.part(self.out, owner, *ends)

    def _variable(self, node: ast.Name) -> Term | Known:
        found = self.here().get(node.id)
        if isinstance(found, Unclear):
            then, otherwise = found.types
            refuse(
                node, f"{node.id} is {then} on one path to here and {otherwise} on another", f"give {node.id} one type"
            )
        if found is not None:
            return self.out.snapshot(found) if self.careful else found
        if node.id in self.function.__code__.co_varnames or node.id in self.function.__code__.co_cellvars:
            refuse(node, f"{node.id} is not set on every path to here", f"give {node.id} a value before")
        return literal(self.object(node))

    def object(self, node: ast.Name) -> Any:
        if node.id.startswith("__") and not node.id.endswith("__"):
            refuse(node, f"{node.id} is private to a class and has another name there")
        return self.scope.outside(node)

    def _attribute(self, node: ast.Attribute) -> Term | Known:
        owner = self._expression(node.value)
        if isinstance(owner, Known):
            if isinstance(owner.object, types.ModuleType | type) and hasattr(owner.object, node.attr):
                return literal(getattr(owner.object, node.attr))
            refuse(node, f"{ast.unparse(node)} is read from an object", "put it in a variable before")
        type_ = owner.type
        if isinstance(type_, Record) and node.attr in type_.names and records.is_plain_field(type_.cls, node.attr):
            return owner.items[type_.names.index(node.attr)]
        return refuse(node, f"the attribute {node.attr} of {type_} has no kernel form", STAGE)

    def _item(self, node: ast.AST, owner: Term, index: Term) -> Term:
        if isinstance(owner.type, List):
            return lists.item(self.out, node, owner, index)
        is_tuple = isinstance(owner.type, Tuple) or (isinstance(owner.type, Record) and owner.type.is_tuple)
        if isinstance(owner.type, Record) and getattr(owner.type.cls, "__getitem__", None) is not tuple.__getitem__:
            is_tuple = False
        position = index.constant
        if not is_tuple or type(position) is not int or not -len(owner.items) <= position < len(owner.items):
            advice = "index a tuple with a number that is written out" if is_tuple else STAGE
            refuse(node, f"{ast.unparse(node)} has no kernel form", advice)
        return owner.items[position]

    def _chain(self, node: ast.AST, left: Term, ops: Sequence[ast.cmpop], nodes: Sequence[ast.expr]) -> Term:
        """`a < b < c`: b is evaluated once, and c only if the first comparison holds."""
        right = self.term(nodes[0])
        if len(ops) == 1:
            return compare(self.out, node, ops[0], left, right)
        right = self.out.atom(right)
        first = compare(self.out, node, ops[0], left, right)
        result = self.out.bound(BOOL, first.text)
        with self.out.block(f"if {result.text}:"), self.one_path():
            self.out.line(f"{result.text} = {self._chain(node, right, ops[1:], nodes[1:]).text}")
        return result

    def _operands(self, node: ast.BoolOp, is_and: bool, values: Sequence[ast.expr]) -> Term:
        """`a and b` gives one of its operands, so both must have one type."""
        first = self.term(values[0])
        if len(values) == 1:
            return first
        if first.constant is not None:
            return self._operands(node, is_and, values[1:]) if bool(first.constant) is is_and else first
        if not first.is_number:
            refuse(node, f"{ast.unparse(node)} has no kernel form", STAGE)
        result = self.out.bound(first.type, first.text)
        held = truth(node, result)
        with self.out.block(f"if {'' if is_and else 'not '}{held.text}:"), self.one_path():
            second = self._operands(node, is_and, values[1:])
            if second.type != first.type:
                refuse(node, f"{ast.unparse(node)} is {first.type} or {second.type}", "give both sides one type")
            self.out.line(f"{result.text} = {second.text}")
        return result

    def _conditional(self, node: ast.AST, test: Term, body: ast.expr, orelse: ast.expr) -> Term:
        if test.constant is not None:
            return self.term(body if test.constant else orelse)
        began = len(self.out.lines)
        found = self._chosen(node, test, body, orelse)
        self.out.lines[began:] = branchless(self.out.lines[began:])
        return found

    def _chosen(self, node: ast.AST, test: Term, body: ast.expr, orelse: ast.expr) -> Term:
        before = self.here()
        with self.out.block(f"if {test.text}:"):
            then = self.term(body)
            names = [self.out.new() for leaf in then.leaves() if leaf.is_number]
            self.out.assign(names, then)
        after, self.state = self.here(), before
        with self.out.block("else:"):
            otherwise = self.term(orelse)
            self.out.assign(names, otherwise)
        self.state = merge([after, self.here()])
        if then.type == otherwise.type and then.shape != otherwise.shape:
            refuse(node, f"one {then.type} or another: a kernel computes with numbers only", STAGE)
        if then.type != otherwise.type:
            refuse(
                node,
                f"the result is {then.type} in one branch and {otherwise.type} in the other",
                "give both branches one type, such as 0.0 for 0",
            )
        return rebuilt(then, iter(names))

    def _call(self, node: ast.Call) -> Term:
        if any(isinstance(argument, ast.Starred) for argument in node.args) or any(not k.arg for k in node.keywords):
            refuse(node, "a call with * has no kernel form", "write the arguments out")
        function = self._callee(node.func)  # refused before its arguments are translated: they may be of any kind
        arguments = [self.out.short(self.term(argument)) for argument in node.args]
        keywords = {str(keyword.arg): self.term(keyword.value) for keyword in node.keywords}
        return self._applied(node, function, arguments, keywords)

    def called(self, node: ast.AST, function: ast.expr, arguments: Sequence[Term]) -> Term:
        """A call of the function that an expression gives, with terms as arguments."""
        return self._applied(node, self._callee(function), arguments, {})

    def _callee(self, node: ast.expr) -> Any:
        found = self._expression(node)
        if isinstance(found, Term):
            refuse(node, f"{ast.unparse(node)} is not a function known while compiling", STAGE)
        if not (_is_record(found.object) or _is_users(found.object) or calls.understood(found.object)):
            refuse(node, f"{shown(found.object)} has no kernel form", STAGE)
        return found.object

    def _applied(self, node: ast.AST, function: Any, arguments: Sequence[Term], keywords: dict[str, Term]) -> Term:
        if _is_record(function):
            return calls.construct(node, function, arguments, keywords)
        if _is_users(function):
            return self._helper(node, function, arguments, keywords)
        if keywords:
            refuse(node, f"{shown(function)}({min(keywords)}=…) has no kernel form", STAGE)
        return calls.call(self.out, node, function, arguments)

    def _helper(
        self, node: ast.AST, function: types.FunctionType, arguments: Sequence[Term], keywords: Mapping[str, Term]
    ) -> Term:
        """A call of another user's function. It is generated once for each combination of argument types."""
        shapes = (tuple(term.shape for term in arguments), tuple((name, term.shape) for name, term in keywords.items()))
        key = (function, *shapes)
        if key not in self.program.helpers:
            name = f"helper{len(self.program.helpers) + len(self.program.active)}"
            inner = [renamed(term, f"p{index}") for index, term in enumerate(arguments)]
            named = {each: renamed(term, f"k{index}") for index, (each, term) in enumerate(keywords.items())}
            body = type(self)(self.program, function, node)
            self.program.helpers[key] = name, body.run(name, inner, named)
        name, result = self.program.helpers[key]
        if not all(leaf.is_number for leaf in result.leaves()):
            refuse(node, f"{function.__name__} returns something other than numbers", STAGE)
        done = self.out.new()
        names = [self.out.new() for _ in result.leaves()]
        given = self.texts((*arguments, *keywords.values()))
        self.out.line(f"({', '.join([done, *names])},) = {name}({', '.join(given)})")
        self.out.bad_if(f"not {done}")
        return rebuilt(result, iter(names))

    @abstractmethod
    def run(self, name: str, arguments: Sequence[Term], keywords: Mapping[str, Term]) -> Term:
        """Writes the function under a name. Returns a term with the shape of its result."""


def _is_record(function: Any) -> bool:
    return isinstance(function, type) and is_record_class(function)


def _is_users(function: Any) -> bool:
    return isinstance(function, types.FunctionType) and not comes_with_python(function)

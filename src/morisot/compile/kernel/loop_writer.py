"""Writes the functions of a loop, which may read the state of the round and write to its arrays."""

from __future__ import annotations

import ast
import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from morisot.compile.ir.values import Known
from morisot.compile.kernel import calls
from morisot.compile.kernel.arithmetic import binary, floating, integer
from morisot.compile.kernel.body import FunctionWriter
from morisot.compile.kernel.terms import Program, Term, Writer, term_of
from morisot.compile.syntax.scope import refuse
from morisot.compile.syntax.translate import STAGE, shown
from morisot.types.array import Array
from morisot.types.element import BOOL, FLOAT, INT, NUMBERS, Product, Tuple, Type
from morisot.worker.loops.state import LoopState


@dataclass
class LoopProgram(Program):
    """All functions generated for one loop."""

    handle: LoopState | None = None
    state: Term | None = None
    writes: bool = False
    """Whether the kernel writes to an array."""

    constants: list[tuple[Any, Term]] = field(default_factory=list)
    """The arrays that the functions captured, each with its name in the kernel."""

    @property
    def state_names(self) -> list[str]:
        """The parameters that every generated function has besides its arguments."""
        state = [] if self.state is None else [leaf.text for leaf in self.state.leaves()]
        return [*state, *(term.text for _, term in self.constants)]


class LoopWriter(FunctionWriter):
    """Writes one of the user's functions, which may read the loop's state and arrays."""

    program: LoopProgram

    def __init__(self, program: LoopProgram, function: types.FunctionType, caller: ast.AST) -> None:
        super().__init__(program, function, caller)
        self.writable: frozenset[str] = frozenset()
        """The names of the arrays that may be written to."""
        self.arrays: list[str] | None = None
        """The names of the arrays among the results."""
        self.aliases: dict[str, list[str]] = {}
        """The array that each variable refers to."""

    @classmethod
    def written(
        cls, program: LoopProgram, function: Any, name: str, inner: Sequence[Term], writable: frozenset[str]
    ) -> Type:
        """Writes a function under a name. Returns the type of its result, whose arrays are the first argument's."""
        if isinstance(function, types.FunctionType):
            writer = cls(program, function, ast.Pass())
            writer.writable = writable
            result = writer.run(name, inner, {}).type
            if writer.arrays != [leaf.text for leaf in inner[0].leaves() if leaf.text in writable]:
                refuse(None, "the local fold does not return the arrays it got", "change the delta's arrays in place")
            return result
        if not calls.understood(function):
            refuse(None, f"{shown(function)} has no kernel form", STAGE)
        out = Writer(program)
        called = calls.call(out, ast.Pass(), function, inner)
        out.line(f"return (True, {''.join(f'{leaf.text}, ' for leaf in called.leaves())})")
        names = [leaf.text for term in inner for leaf in term.leaves() if is_passed(leaf)]
        program.functions.append(out.finish(name, [*names, *program.state_names], called))
        return called.type

    def texts(self, terms: Iterable[Term]) -> list[str]:
        found = [leaf.text for term in terms for leaf in term.leaves() if is_passed(leaf)]
        return [*found, *self.program.state_names]

    # -- results ----------------------------------------------------------------------------------------------------

    def _return(self, value: ast.expr) -> None:
        term = self.term(value)
        for leaf in term.leaves():
            if not is_passed(leaf):
                refuse(value, f"the result has a part of type {leaf.type}: a kernel returns numbers", STAGE)
        if self.result is not None and self.result.type != term.type:
            refuse(
                value,
                f"the result is {self.result.type} on one path and {term.type} on another",
                "give all of them one type, such as 0.0 for 0",
            )
        arrays = [leaf.text for leaf in term.leaves() if isinstance(leaf.type, Array)]
        if self.arrays not in (None, arrays):
            refuse(value, "the result has one array on one path and another on another", STAGE)
        self.result, self.arrays = term, arrays
        numbers = "".join(f"{leaf.text}, " for leaf in term.leaves() if leaf.is_number)
        self.out.line(f"return (True, {numbers})")
        self.state = None

    def assign(self, target: ast.expr, term: Term) -> None:
        arrays = [leaf.text for leaf in term.leaves() if isinstance(leaf.type, Array)]
        if isinstance(target, ast.Name):
            known = self.here().get(target.id)
            if isinstance(known, Term) and target.id not in self.aliases:
                self.aliases[target.id] = [leaf.text for leaf in known.leaves() if isinstance(leaf.type, Array)]
            if self.aliases.setdefault(target.id, arrays) != arrays:
                refuse(target, f"{target.id} refers to one array and later to another", "use two variables")
        super().assign(target, term)

    def _helper(
        self, node: ast.AST, function: types.FunctionType, arguments: Sequence[Term], keywords: Mapping[str, Term]
    ) -> Term:
        """A call of another user's function. The arrays that it returns are among those that it got."""
        given = [*arguments, *keywords.values()]
        if not any(isinstance(leaf.type, Array) for term in given for leaf in term.leaves()):
            return super()._helper(node, function, arguments, keywords)
        positional = [term_of(term.type, f"p{index}") for index, term in enumerate(arguments)]
        named = {each: term_of(term.type, f"k{index}") for index, (each, term) in enumerate(keywords.items())}
        theirs = [leaf for term in (*positional, *named.values()) for leaf in term.leaves()]
        mine = [leaf for term in given for leaf in term.leaves()]
        inside = dict(zip((leaf.text for leaf in theirs), mine, strict=True))
        writer = type(self)(self.program, function, node)
        writer.writable = frozenset(text for text, leaf in inside.items() if leaf.text in self.writable)
        name = f"helper{len(self.program.functions)}_{len(self.program.active)}"
        result = writer.run(name, positional, named).type
        if any(text not in inside for text in writer.arrays or ()):
            refuse(node, f"{function.__name__} returns an array that it did not get", STAGE)
        names = [self.out.new() for _ in numbers_in(result)]
        done = self.out.new()
        self.out.line(f"{', '.join([done, *names])}, = {name}({', '.join(self.texts(given))})")
        self.out.bad_if(f"not {done}")
        return rebuilt(result, iter(names), iter([inside[text] for text in writer.arrays or ()]))

    # -- the state and arrays ---------------------------------------------------------------------------------------

    def _variable(self, node: ast.Name) -> Term | Known:
        found = super()._variable(node)
        if isinstance(found, Known):
            return next((term for array, term in self.program.constants if array is found.object), found)
        return found

    def _attribute(self, node: ast.Attribute) -> Term | Known:
        owner = self._expression(node.value)
        if isinstance(owner, Known) and owner.object is self.program.handle and node.attr == "value":
            return self.program.state or refuse(
                node,
                "the state of the loop is not made of numbers and arrays",
                "use numbers, tuples, records or arrays",
            )
        if isinstance(owner, Term) and isinstance(owner.type, Array):
            if node.attr == "shape":
                sizes = tuple(Term(INT, f"{owner.text}.shape[{axis}]") for axis in range(owner.type.dims))
                return Term(Tuple((INT,) * owner.type.dims), items=sizes)
            if node.attr == "size":
                return Term(INT, f"{owner.text}.size")
            refuse(node, f"the attribute {node.attr} of an array has no kernel form", STAGE)
        return super()._attribute(node)

    def _item(self, node: ast.AST, owner: Term, index: Term) -> Term:
        if not isinstance(owner.type, Array):
            return super()._item(node, owner, index)
        indexes = self._checked_indexes(node, owner, index)
        given = len(index.items) if isinstance(index.type, Tuple) else 1
        if given == owner.type.dims:
            return self.out.bound(owner.type.item, f"{owner.text}[{indexes}]")
        return Term(Array(owner.type.item, owner.type.dims - given), f"{owner.text}[{indexes}]")

    def _checked_indexes(self, node: ast.AST, owner: Term, index: Term) -> str:
        """The checked indexes of an item. Negative indexes count from the end."""
        assert isinstance(owner.type, Array)
        indexes = index.items if isinstance(index.type, Tuple) else (index,)
        if len(indexes) > owner.type.dims:
            refuse(node, f"{len(indexes)} indexes for an array of {owner.type.dims} dimensions always fail")
        return ", ".join(self._checked_index(node, owner, axis, each) for axis, each in enumerate(indexes))

    def _checked_index(self, node: ast.AST, owner: Term, axis: int, index: Term) -> str:
        if index.type not in (INT, BOOL) or index.type == BOOL:
            refuse(node, f"an array cannot be indexed with {index.type} in a kernel", "index it with an int")
        size = f"{owner.text}.shape[{axis}]"
        if index.constant is not None and index.constant >= 0:
            self.out.bad_if(f"{index.text} >= {size}")
            return index.text
        checked = self.out.bound(INT, index.text).text
        self.out.line(f"if {checked} < 0: {checked} += {size}")
        self.out.bad_if(f"{checked} < 0 or {checked} >= {size}")
        return checked

    def _call(self, node: ast.Call) -> Term:
        if len(node.args) == 1 and not node.keywords and isinstance(node.func, ast.Name):
            function = self._expression(node.func)
            if isinstance(function, Known) and function.object is len:
                term = self.term(node.args[0])
                if isinstance(term.type, Array):
                    return Term(INT, f"{term.text}.shape[0]")
        return super()._call(node)

    def _statement(self, statement: ast.stmt) -> None:
        match statement:
            case ast.AugAssign(ast.Subscript(owner, index), op, value) if self._is_array(owner):
                array, at = self.term(owner), self._evaluated_once(self.term(index))
                old = self._item(statement, array, at)
                self._write(statement, array, at, binary(self.out, statement, op, old, self.term(value)))
            case ast.Assign([ast.Subscript(owner, index)], value) if self._is_array(owner):
                term = self.out.snapshot(self.term(value))
                self._write(statement, self.term(owner), self._evaluated_once(self.term(index)), term)
            case _:
                super()._statement(statement)

    def _evaluated_once(self, index: Term) -> Term:
        """The index, evaluated once."""
        if isinstance(index.type, Tuple):
            return Term(index.type, items=tuple(self.out.atom(item) for item in index.items))
        return self.out.atom(index)

    def _is_array(self, node: ast.expr) -> bool:
        found = self._expression(node)
        return isinstance(found, Term) and isinstance(found.type, Array)

    def _write(self, node: ast.AST, owner: Term, index: Term, value: Term) -> None:
        assert isinstance(owner.type, Array)
        if owner.text.partition("[")[0] not in self.writable:
            refuse(node, "only the delta's own arrays can be written to in a kernel", STAGE)
        given = len(index.items) if isinstance(index.type, Tuple) else 1
        if given != owner.type.dims:
            refuse(node, "whole rows of an array cannot be written in a kernel", "write item by item")
        item = owner.type.item
        if item == FLOAT and value.type in NUMBERS:
            value = floating(value)
        elif item == INT and value.type in (INT, BOOL):
            value = integer(value)
        elif value.type != item:
            refuse(node, f"{value.type} does not fit into an array of {item}", "convert it first")
        indexes = self._checked_indexes(node, owner, index)
        self.out.line(f"{owner.text}[{indexes}] = {value.text}")
        self.program.writes = True


def is_passed(leaf: Term) -> bool:
    """Whether generated functions pass this leaf: a number or an array."""
    return leaf.is_number or isinstance(leaf.type, Array)


def numbers_in(type_: Type) -> Iterable[Type]:
    """The types of the numbers among the leaves."""
    if isinstance(type_, Product):
        for _, child in type_.children:
            yield from numbers_in(child)
    elif type_ in NUMBERS:
        yield type_


def rebuilt(type_: Type, names: Iterator[str], arrays: Iterator[Term]) -> Term:
    """The result of a call: its numbers have new names, its arrays are those of the arguments."""
    if isinstance(type_, Product):
        return Term(type_, items=tuple(rebuilt(child, names, arrays) for _, child in type_.children))
    return next(arrays) if isinstance(type_, Array) else Term(type_, next(names))

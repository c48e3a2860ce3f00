"""The body and the fold of a loop as one kernel. The round's state is a parameter, and may hold arrays.

Array items are read and written with checked indexes. An element that the kernel cannot process, such as one with an
index out of bounds or a sum beyond 64 bits, is left to Python.
"""

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
from morisot.compile.kernel.branchless import early_checks
from morisot.compile.kernel.terms import Program, Term, Writer, is_list, term_of
from morisot.compile.syntax.scope import Refused, refuse
from morisot.compile.syntax.translate import STAGE, shown
from morisot.compile.verdict import Refusal
from morisot.types.array import Array, of_numbers
from morisot.types.element import ANY, BOOL, FLOAT, INT, NUMBERS, Keyed, Product, Tuple, Type, arguments, leaves
from morisot.worker.loops.kernel import LoopKernel
from morisot.worker.loops.state import LoopState
from morisot.worker.rowwise.stage import Step


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


@dataclass(frozen=True)
class LoopFunctions:
    """The parts of a loop that its kernel is generated from."""

    steps: tuple[Step, ...]
    fold: Any
    input: Type
    state: Type | None
    delta: Type
    handle: LoopState
    feedback: bool = field(default=False)


def compile_loop(loop: LoopFunctions) -> LoopKernel | Refusal:
    """The loop as one kernel, or the reason why it has none."""
    state = None if loop.state is None else term_of(loop.state, "S")
    arrays = captured_arrays([*(step.function for step in loop.steps), loop.fold])
    constants = [(array, Term(of_array(array), f"C{index}")) for index, array in enumerate(arrays)]
    program = LoopProgram(handle=loop.handle, state=state, constants=constants)
    try:
        return _Loop(program, loop).kernel()
    except Refused as refused:
        return refused.refusal
    except RecursionError:
        return Refusal("the functions are nested too deeply", advice="split them into several operators")


def captured_arrays(functions: Iterable[Any]) -> list[Any]:
    """The arrays of numbers that the functions, and the functions that they call, captured."""
    found: dict[int, Any] = {}
    seen: set[int] = set()
    pending = list(functions)
    while pending:
        value = pending.pop(0)
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, types.FunctionType):
            cells = [cell for cell in value.__closure__ or () if cell != types.CellType()]
            pending += [cell.cell_contents for cell in cells]
            pending += [value.__globals__[name] for name in value.__code__.co_names if name in value.__globals__]
        elif isinstance(of_numbers(value), Array):
            found[id(value)] = value
    return list(found.values())


def of_array(array: Any) -> Type:
    type_ = of_numbers(array)
    assert isinstance(type_, Array)
    return type_


class _Loop:
    """Writes the loop over the rows around the steps and the fold."""

    def __init__(self, program: LoopProgram, loop: LoopFunctions) -> None:
        self.program = program
        self.loop = loop
        self.lines: list[str] = []
        self.element = term_of(loop.input, "a<>")

    def kernel(self) -> LoopKernel:
        inputs = leaves(self.loop.input)
        texts = [f"a{index}[i]" for index in range(len(inputs))]
        self.element = _built(self.loop.input, iter(texts), iter(()))
        for number, step in enumerate(self.loop.steps):
            self._step(f"step{number}", step)
        leaving = self.element
        result = self._fold()
        if self.loop.feedback:
            self._output(leaving)
        self.lines.append("n += 1")
        text = "\n".join(self.lines)
        columns = tuple(index for index in range(len(inputs)) if f"a{index}[i]" in text)
        for index in columns:
            if inputs[index].type not in NUMBERS:
                refuse(None, f"the elements have a part of type {inputs[index].type}: a kernel works on numbers", STAGE)
        return LoopKernel(
            early_checks("\n".join(self.program.functions)),
            self._loop_text(text, columns, result),
            columns,
            self.loop.state,
            self.loop.delta,
            len(leaves(self.loop.input)) if self.loop.feedback else 0,
            self.program.writes,
            tuple(array for array, _ in self.program.constants),
        )

    def _step(self, name: str, step: Step) -> None:
        parts = self.element.items if step.keyed else (self.element,)
        match step.kind:
            case "map":
                value = self._call(name, step.function, parts, 1)
                self._become(Term(Keyed(parts[0].type, value.type), items=(parts[0], value)) if step.keyed else value)
            case "filter":
                test = self._call(name, step.function, parts, 1)
                if test.type not in NUMBERS:
                    refuse(None, f"the predicate returns {test.type}: a kernel filters by a number", STAGE)
                self.lines.append(f"if not {test.text}: continue")
            case "key_by":
                key = self._call(name, step.function, parts[-1:], 1)
                self._become(Term(Keyed(key.type, parts[-1].type), items=(key, parts[-1])))
            case "same":
                pass
            case "unkey":
                self._become(Term(Tuple(arguments(self.element.type)), items=parts))
            case "drop_key" | "keys":
                self._become(parts[1] if step.kind == "drop_key" else parts[0])
            case _:
                refuse(None, f"{step.operator} has no kernel form inside a loop", STAGE)

    def _become(self, element: Term) -> None:
        self.element = element

    def _call(
        self, name: str, function: Any, given: Sequence[Term], code: int, writable: frozenset[str] = frozenset()
    ) -> Term:
        """Writes the call of a function on terms. If the call cannot process the row, the row is left to Python."""
        inner = [_without_lists(term_of(term.type, f"p{index}")) for index, term in enumerate(given)]
        result = _LoopWriter.written(self.program, function, name, inner, writable)
        texts = [leaf.text for term in given for leaf in term.leaves() if _passed(leaf)]
        names = [f"{name}_{index}" for index, _ in enumerate(_numbers(result))]
        called = f"{name}({', '.join([*texts, *self.program.state_names])})"
        self.lines.append(f"{', '.join([f'{name}_ok', *names])}, = {called}")
        self.lines.append(f"if not {name}_ok: return (i, n, {code}, {{deltas}})")
        return _built(result, iter(names), iter([leaf for leaf in given[0].leaves() if isinstance(leaf.type, Array)]))

    def _fold(self) -> list[str]:
        """Writes the fold. Returns the names of the delta's numbers."""
        delta = term_of(self.loop.delta, "D")
        plain = Tuple(arguments(self.element.type)) if isinstance(self.element.type, Keyed) else self.element.type
        element = Term(plain, self.element.text, self.element.items, self.element.constant)
        names = [leaf.text for leaf in delta.leaves() if leaf.type in NUMBERS]
        own = frozenset(f"p0{leaf.text[1:]}" for leaf in delta.leaves() if isinstance(leaf.type, Array))
        result = self._call("fold", self.loop.fold, (delta, element), 2, own)
        if result.type != self.loop.delta:
            refuse(
                None,
                f"the local fold makes {result.type} of {self.loop.delta}",
                "give delta= the type that the fold returns, such as 0.0 for 0",
            )
        found = [leaf.text for leaf in result.leaves() if leaf.type in NUMBERS]
        if names:
            self.lines.append(f"{', '.join(names)}, = {', '.join(found)},")
        return names

    def _output(self, leaving: Term) -> None:
        if leaving.type != self.loop.input:
            refuse(
                None,
                f"the output of the body is {leaving.type}, and its input is {self.loop.input}",
                "give both one type, such as 0.0 for 0",
            )
        for index, leaf in enumerate(leaving.leaves()):
            self.lines.append(f"o{index}[n] = {leaf.text}")

    def _loop_text(self, text: str, columns: Sequence[int], deltas: Sequence[str]) -> str:
        arrays = [f"a{index}" for index in columns]
        outputs = [f"o{index}" for index in range(len(leaves(self.loop.input)) if self.loop.feedback else 0)]
        every = [leaf.text for leaf in term_of(self.loop.delta, "D").leaves()]
        head = f"def loop({', '.join(['start', 'rows', 'n', *arrays, *outputs, *self.program.state_names, *every])}):"
        given = ", ".join(deltas)
        body = [f"        {line}" for line in text.replace("{deltas}", given).split("\n")]
        return "\n".join([head, "    for i in range(start, rows):", *body, f"    return (rows, n, 0, {given})"]) + "\n"


def _without_lists(term: Term) -> Term:
    """The parameter with its lists made opaque: the elements of a loop are passed as arrays of numbers."""
    if isinstance(term.type, Product):
        return Term(term.type, items=tuple(map(_without_lists, term.items)))
    return Term(ANY, term.text) if is_list(term) else term


def _passed(leaf: Term) -> bool:
    return leaf.is_number or isinstance(leaf.type, Array)


def _numbers(type_: Type) -> Iterable[Type]:
    """The types of the numbers among the leaves."""
    if isinstance(type_, Product):
        for _, child in type_.children:
            yield from _numbers(child)
    elif type_ in NUMBERS:
        yield type_


def _built(type_: Type, names: Iterator[str], arrays: Iterator[Term]) -> Term:
    """The result of a call: its numbers have new names, its arrays are those of the arguments."""
    if isinstance(type_, Product):
        return Term(type_, items=tuple(_built(child, names, arrays) for _, child in type_.children))
    return next(arrays) if isinstance(type_, Array) else Term(type_, next(names))


class _LoopWriter(FunctionWriter):
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
        names = [leaf.text for term in inner for leaf in term.leaves() if _passed(leaf)]
        program.functions.append(out.finish(name, [*names, *program.state_names], called))
        return called.type

    def texts(self, terms: Iterable[Term]) -> list[str]:
        found = [leaf.text for term in terms for leaf in term.leaves() if _passed(leaf)]
        return [*found, *self.program.state_names]

    # -- results ----------------------------------------------------------------------------------------------------

    def _return(self, value: ast.expr) -> None:
        term = self.term(value)
        for leaf in term.leaves():
            if not _passed(leaf):
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
        names = [self.out.new() for _ in _numbers(result)]
        done = self.out.new()
        self.out.line(f"{', '.join([done, *names])}, = {name}({', '.join(self.texts(given))})")
        self.out.bad_if(f"not {done}")
        return _built(result, iter(names), iter([inside[text] for text in writer.arrays or ()]))

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

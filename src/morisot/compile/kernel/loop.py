"""The body and the fold of a loop as one kernel. The round's state is a parameter, and may hold arrays.

Array items are read and written with checked indexes. An element that the kernel cannot process, such as one with an
index out of bounds or a sum beyond 64 bits, is left to Python.
"""

from __future__ import annotations

import types
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from morisot.compile.kernel.branchless import early_checks
from morisot.compile.kernel.loop_writer import LoopProgram, LoopWriter, is_passed, numbers_in, rebuilt
from morisot.compile.kernel.terms import Term, is_list, term_of
from morisot.compile.syntax.scope import Refused, refuse
from morisot.compile.syntax.translate import STAGE
from morisot.compile.verdict import Refusal
from morisot.types.array import Array, of_numbers
from morisot.types.element import ANY, NUMBERS, Keyed, Product, Tuple, Type, arguments, leaves
from morisot.worker.loops.kernel import LoopKernel
from morisot.worker.loops.state import LoopState
from morisot.worker.rowwise.steps import Step


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
        self.element = rebuilt(self.loop.input, iter(texts), iter(()))
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
        result = LoopWriter.written(self.program, function, name, inner, writable)
        texts = [leaf.text for term in given for leaf in term.leaves() if is_passed(leaf)]
        names = [f"{name}_{index}" for index, _ in enumerate(numbers_in(result))]
        called = f"{name}({', '.join([*texts, *self.program.state_names])})"
        self.lines.append(f"{', '.join([f'{name}_ok', *names])}, = {called}")
        self.lines.append(f"if not {name}_ok: return (i, n, {code}, {{deltas}})")
        return rebuilt(result, iter(names), iter([leaf for leaf in given[0].leaves() if isinstance(leaf.type, Array)]))

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

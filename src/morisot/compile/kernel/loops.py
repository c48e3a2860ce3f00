"""Loops inside kernels: `while`, and `for` over ranges and lists of numbers, with break, continue and else."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from morisot.compile.kernel import lists as kernel_lists
from morisot.compile.kernel.states import State, merge
from morisot.compile.kernel.terms import Term, is_list
from morisot.compile.syntax.scope import refuse
from morisot.compile.syntax.translate import STAGE
from morisot.types.element import INT, Tuple

if TYPE_CHECKING:
    from morisot.compile.kernel.body import FunctionWriter

_FAR = 2**62
_Found = Callable[[str], Term]
"""Gives the value of the loop's variable for a counter."""


@dataclass
class OpenLoop:
    """A loop that is being written."""

    flag: str
    """The variable that holds whether a break ended the loop; none if the loop has no else."""
    breaks: list[State] = field(default_factory=list)
    continues: list[State] = field(default_factory=list)


def leave(body: FunctionWriter, statement: ast.Break | ast.Continue) -> None:
    loop = body.loops[-1]
    if isinstance(statement, ast.Break):
        loop.breaks.append(body.here())
        if loop.flag:
            body.out.line(f"{loop.flag} = True")
        body.out.line("break")
    else:
        loop.continues.append(body.here())
        body.out.line("continue")
    body.state = None


def write_while(body: FunctionWriter, node: ast.While) -> None:
    before = body.here()
    ends: list[State] = []
    _begin(body, node.orelse)
    with body.out.block("while True:"):
        held = body.condition(node.test)
        if held.constant is False:
            body.out.line("break")
        elif held.constant is None:
            body.out.line(f"if not {held.text}: break")
        if held.constant is not True:
            ends.append(body.here())
        body.statements(node.body)
    _end(body, node, before, ends)


def write_for(body: FunctionWriter, node: ast.For) -> None:
    match node.iter:
        case ast.Call(ast.Name("range") as function, arguments, []) if body.object(function) is range:
            head = _range(body, node, arguments)
            _write_for(body, node, head, lambda counter: Term(INT, counter))
        case ast.Call(ast.Name("enumerate") as function, [source], []) if body.object(function) is enumerate:
            items = body.term(source)
            _over_list(body, node, items, counted=True)
        case ast.Call(ast.Name("zip") as function, [*sources], []) if len(sources) > 1 and body.object(function) is zip:
            _over_lists(body, node, [body.term(source) for source in sources])
        case _:
            found = body.term(node.iter)
            if not is_list(found):
                refuse(node, "a loop over anything but range(…) or a list of numbers has no kernel form", STAGE)
            _over_list(body, node, found, counted=False)


def _over_list(body: FunctionWriter, node: ast.For, items: Term, *, counted: bool) -> None:
    type_ = kernel_lists.item_type(node, items)

    def found(counter: str) -> Term:
        value = Term(type_, f"{items.text}_items[{counter}]")
        count = Term(INT, f"({counter} - {items.text}_start)")
        return Term(Tuple((INT, type_)), items=(count, value)) if counted else value

    _write_for(body, node, f"range({items.text}_start, {items.text}_stop)", found)


def _over_lists(body: FunctionWriter, node: ast.For, lists: Sequence[Term]) -> None:
    """A loop over several lists in parallel, up to the end of the shortest."""
    types = tuple(kernel_lists.item_type(node, items) for items in lists)
    shortest = body.out.bound(INT, f"min({', '.join(kernel_lists.length(items).text for items in lists)})")

    def found(counter: str) -> Term:
        pairs = zip(types, lists, strict=True)
        values = (Term(type_, f"{items.text}_items[{items.text}_start + {counter}]") for type_, items in pairs)
        return Term(Tuple(types), items=tuple(values))

    _write_for(body, node, f"range({shortest.text})", found)


def _write_for(body: FunctionWriter, node: ast.For, head: str, found: _Found) -> None:
    before = body.here()
    _begin(body, node.orelse)
    counter = body.out.new()
    with body.out.block(f"for {counter} in {head}:"):
        body.assign(node.target, body.out.snapshot(found(counter)))
        body.statements(node.body)
    _end(body, node, before, [before])


def _range(body: FunctionWriter, node: ast.For, arguments: list[ast.expr]) -> str:
    bounds = [body.out.atom(body.integer(argument)) for argument in arguments]
    if not 1 <= len(bounds) <= 3:
        refuse(node, f"range with {len(bounds)} arguments always fails")
    for bound in bounds:
        if bound.constant is None:  # so that the counter cannot overflow
            body.out.bad_if(f"{bound.text} > {_FAR} or {bound.text} < -{_FAR}")
        elif abs(bound.constant) > _FAR:
            refuse(node, f"{bound.constant} is too far for a kernel", STAGE)
    if len(bounds) == 3:
        if bounds[2].constant == 0:
            refuse(node, "range with step 0 always fails")
        if bounds[2].constant is None:
            body.out.bad_if(f"{bounds[2].text} == 0")
    return f"range({', '.join(bound.text for bound in bounds)})"


def _begin(body: FunctionWriter, orelse: Sequence[ast.stmt]) -> None:
    flag = body.out.new() if orelse else ""
    if flag:
        body.out.line(f"{flag} = False")
    body.loops.append(OpenLoop(flag))


def _end(body: FunctionWriter, node: ast.For | ast.While, before: State, ends: list[State]) -> None:
    """Checks that every round finds variables of the same types. Sets the state after the loop and its else."""
    loop = body.loops.pop()
    for state in (*loop.continues, *([] if body.state is None else [body.state])):
        _check_round(node, before, state)
    body.state = merge(ends)
    if loop.flag and body.state is not None:
        with body.out.block(f"if not {loop.flag}:"):
            body.statements(node.orelse)
    body.state = merge([*([] if body.state is None else [body.state]), *loop.breaks])


def _check_round(node: ast.AST, before: State, after: State) -> None:
    for name, term in before.items():
        other = after.get(name)
        if isinstance(term, Term) and (not isinstance(other, Term) or other.shape != term.shape):
            what = other.type if isinstance(other, Term) else "of another type"
            if isinstance(other, Term) and other.type == term.type:
                refuse(node, f"{name} is another list, text or object after a round of the loop", STAGE)
            refuse(
                node,
                f"{name} is {term.type} before the loop and {what} after a round of it",
                f"give {name} one type, such as 0.0 for 0",
            )

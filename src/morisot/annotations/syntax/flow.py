"""Data flow of statements: which names they may read before they set them, and which they set.

Names are those of one function. A name that a nested function or a comprehension binds is its own.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@dataclass(frozen=True)
class Flow:
    """The data flow of a sequence of statements."""

    reads: dict[str, int]
    """The names that may be read before they are set, with the line of the first read."""
    sets: dict[str, int]
    """The names that may be set or deleted, with the line of the first time."""
    certain: frozenset[str]
    """The names that are set whenever the statements end normally."""
    ends: bool
    """Whether the statements may end normally."""
    drops: bool
    """Whether a `continue` of the enclosing loop may end them."""


def flow_of(statements: Sequence[ast.stmt], defined: Iterable[str] = ()) -> Flow:
    """The data flow of statements, if the names in `defined` are set before them."""
    walk = _Walk(set(defined))
    walk.block(statements)
    certain = frozenset() if walk.defined is None else frozenset(walk.defined)
    return Flow(walk.reads, walk.sets, certain, walk.defined is not None, walk.drops)


def names_in(node: ast.AST) -> set[str]:
    """The names that an expression reads, without those that it binds itself."""
    statement = node if isinstance(node, ast.stmt) else ast.Expr(node)  # type: ignore[arg-type]
    return set(flow_of([statement]).reads)


def own_nodes(statements: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """All nodes below, without the bodies of nested functions and classes."""
    for node in statements:
        yield node
        if not isinstance(node, _SCOPES):
            yield from own_nodes(ast.iter_child_nodes(node))


@dataclass
class _Breaks:
    """The names that are set at each `break` of a loop."""

    defined: list[set[str]] = field(default_factory=list)


class _Walk(ast.NodeVisitor):
    """Visits statements in the order in which they run. `defined` is None where no statement can run."""

    def __init__(self, defined: set[str]) -> None:
        self.defined: set[str] | None = defined
        self.reads: dict[str, int] = {}
        self.sets: dict[str, int] = {}
        self.drops = False
        self._loops: list[_Breaks] = []

    def block(self, statements: Iterable[ast.stmt]) -> None:
        for statement in statements:
            if self.defined is None:
                return
            self.visit(statement)

    # -- names --------------------------------------------------------------------------------------------------------

    def _read(self, name: str, line: int) -> None:
        if self.defined is not None and name not in self.defined:
            self.reads.setdefault(name, line)

    def _set(self, name: str, line: int) -> None:
        self.sets.setdefault(name, line)
        if self.defined is not None:
            self.defined.add(name)

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load):
            self._read(node.id, node.lineno)
        elif isinstance(node.ctx, ast.Store):
            self._set(node.id, node.lineno)
        else:
            self._read(node.id, node.lineno)
            self._set(node.id, node.lineno)
            if self.defined is not None:
                self.defined.discard(node.id)

    def visit_Import(self, node: ast.Import | ast.ImportFrom) -> None:
        for alias in node.names:
            self._set((alias.asname or alias.name).partition(".")[0], node.lineno)

    visit_ImportFrom = visit_Import

    # -- expressions --------------------------------------------------------------------------------------------------

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        self.visit(node.value)
        self.visit(node.target)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        self.visit(node.values[0])
        for value in node.values[1:]:
            self._perhaps(value)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self.visit(node.test)
        self._branches([[node.body], [node.orelse]])

    def _perhaps(self, *nodes: ast.AST) -> None:
        self._branches([list(nodes), []])

    def _branches(self, branches: Sequence[Sequence[ast.AST]]) -> None:
        """Visits alternatives. Afterwards the names are set that all of them set."""
        before = self.defined
        ends: list[set[str]] = []
        for branch in branches:
            self.defined = None if before is None else set(before)
            for node in branch:
                if self.defined is not None:
                    self.visit(node)
            if self.defined is not None:
                ends.append(self.defined)
        self.defined = set.intersection(*ends) if ends else None

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp) -> None:
        first, before = node.generators[0], self.defined
        self.visit(first.iter)
        inner = _Walk(set(self.defined or ()))
        inner.visit(first.target)
        for generator in node.generators:
            if generator is not first:
                inner.visit(generator.iter)
                inner.visit(generator.target)
            for test in generator.ifs:
                inner.visit(test)
        for each in [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]:
            inner.visit(each)
        if before is not None:
            self._take_reads(inner.reads)

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension

    def _take_reads(self, reads: dict[str, int]) -> None:
        for name, line in reads.items():
            self._read(name, line)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self._defaults(node.args)
        self._take_reads(_free(node))

    def _defaults(self, arguments: ast.arguments) -> None:
        for default in (*arguments.defaults, *arguments.kw_defaults):
            if default is not None:
                self.visit(default)

    # -- definitions --------------------------------------------------------------------------------------------------

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        for decorator in node.decorator_list:
            self.visit(decorator)
        self._defaults(node.args)
        self._set(node.name, node.lineno)
        self._take_reads(_free(node))

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        for expression in (*node.decorator_list, *node.bases, *(keyword.value for keyword in node.keywords)):
            self.visit(expression)
        inner = _Walk(set(self.defined or ()))
        inner.block(node.body)
        self._take_reads(inner.reads)
        self._set(node.name, node.lineno)

    # -- statements ---------------------------------------------------------------------------------------------------

    def visit_Assign(self, node: ast.Assign) -> None:
        self.visit(node.value)
        for target in node.targets:
            self.visit(target)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Name):
            self._read(node.target.id, node.target.lineno)
        self.visit(node.value)
        self.visit(node.target)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)
            self.visit(node.target)

    def visit_Return(self, node: ast.Return | ast.Raise) -> None:
        self.generic_visit(node)
        self.defined = None

    visit_Raise = visit_Return

    def visit_Break(self, _: ast.Break) -> None:
        if self._loops and self.defined is not None:
            self._loops[-1].defined.append(set(self.defined))
        self.defined = None

    def visit_Continue(self, _: ast.Continue) -> None:
        self.drops |= not self._loops
        self.defined = None

    def visit_If(self, node: ast.If) -> None:
        self.visit(node.test)
        self._branches([node.body, node.orelse])

    def visit_For(self, node: ast.For | ast.AsyncFor) -> None:
        self.visit(node.iter)
        before = None if self.defined is None else set(self.defined)
        breaks = self._loop_body([node.target, *node.body])
        self.defined = before
        self.block(node.orelse)
        self._join(breaks)

    visit_AsyncFor = visit_For

    def visit_While(self, node: ast.While) -> None:
        self.visit(node.test)
        before = None if self.defined is None else set(self.defined)
        breaks = self._loop_body(node.body)
        self.defined = None if _is_true(node.test) else before
        self.block(node.orelse)
        self._join(breaks)

    def _loop_body(self, nodes: Iterable[ast.AST]) -> _Breaks:
        breaks = _Breaks()
        self._loops.append(breaks)
        for node in nodes:
            if self.defined is not None:
                self.visit(node)
        self._loops.pop()
        return breaks

    def _join(self, breaks: _Breaks) -> None:
        ends = [*breaks.defined, *([] if self.defined is None else [self.defined])]
        self.defined = set.intersection(*ends) if ends else None

    def visit_With(self, node: ast.With | ast.AsyncWith) -> None:
        suppresses = False
        for item in node.items:
            self.visit(item)
            suppresses |= "suppress" in ast.dump(item.context_expr)
        if suppresses:
            self._perhaps(*node.body)
        else:
            self.block(node.body)

    visit_AsyncWith = visit_With

    def visit_Try(self, node: ast.Try) -> None:
        before = None if self.defined is None else set(self.defined)
        self.block(node.body)
        self.block(node.orelse)
        ends = [] if self.defined is None else [self.defined]
        for handler in node.handlers:
            self.defined = None if before is None else set(before)
            if handler.type is not None:
                self.visit(handler.type)
            if handler.name is not None:
                self._set(handler.name, handler.lineno)
            self.block(handler.body)
            if self.defined is not None:
                ends.append(self.defined - {handler.name or ""})
        self.defined = None if before is None else set(before)
        self.block(node.finalbody)
        after = self.defined
        self.defined = set.intersection(*ends) | (after or set()) if ends and after is not None else None

    visit_TryStar = visit_Try  # type: ignore[assignment]

    def visit_Match(self, node: ast.Match) -> None:
        self.visit(node.subject)
        branches = [[case.pattern, *([case.guard] if case.guard else []), *case.body] for case in node.cases]
        last = node.cases[-1]
        catches_all = last.guard is None and isinstance(last.pattern, ast.MatchAs) and last.pattern.pattern is None
        self._branches([*branches, *([] if catches_all else [[]])])

    def visit_MatchAs(self, node: ast.MatchAs | ast.MatchStar) -> None:
        self.generic_visit(node)
        if node.name is not None:
            self._set(node.name, node.lineno)

    visit_MatchStar = visit_MatchAs

    def visit_MatchMapping(self, node: ast.MatchMapping) -> None:
        self.generic_visit(node)
        if node.rest is not None:
            self._set(node.rest, node.lineno)


def _free(node: ast.Lambda | ast.FunctionDef | ast.AsyncFunctionDef) -> dict[str, int]:
    """The names that a nested function reads from around it."""
    arguments = node.args
    own = {each.arg for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
    own |= {each.arg for each in (arguments.vararg, arguments.kwarg) if each is not None}
    body: list[ast.stmt] = [ast.Expr(node.body)] if isinstance(node, ast.Lambda) else node.body
    outer = {name for each in own_nodes(body) if isinstance(each, ast.Nonlocal | ast.Global) for name in each.names}
    own |= {each for each in flow_of(body).sets if each not in outer}
    inner = _Walk(set(own))
    inner.block(body)
    # a nested function may run later and more than once: its own names never come from around it
    return {name: line for name, line in inner.reads.items() if name not in own}


def _is_true(test: ast.expr) -> bool:
    return isinstance(test, ast.Constant) and bool(test.value)

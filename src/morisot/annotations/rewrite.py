"""New functions from the syntax tree of a decorated one: its sections, and the function around its stream loops.

They are compiled with the file and the lines of the user's text, so tracebacks and debuggers show it. Names from around
a section are free variables: it shares the cells of the function that runs.
"""

from __future__ import annotations
import __future__

import ast
import copy
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

from morisot.annotations.syntax.flow import names_in, own_nodes
from morisot.annotations.syntax.sections import AnalysedLoop, Section
from morisot.annotations.syntax.structure import FunctionText
from morisot.compile.syntax.reader import FunctionSource, note_generated

N = TypeVar("N", bound=ast.AST)

Kind = Literal["row", "fold", "driver"]
RUN = "__mo_run__"
"""The name of the runner in a rewritten function."""
_FUTURES = sum(getattr(__future__, name).compiler_flag for name in __future__.all_feature_names[2:])
_ITEM, _STATE, _ELEMENT, _VALUES = "__mo_item__", "__mo_state__", "__mo_element__", "__mo_values__"


@dataclass(frozen=True)
class SectionCode:
    """A compiled section, which is bound to cells when the loop runs."""

    code: types.CodeType
    globals: dict[str, Any] = field(repr=False)

    def bound(self, cells: Mapping[str, types.CellType]) -> types.FunctionType:
        """The function, whose free variables are these cells."""
        closure = tuple(cells[name] for name in self.code.co_freevars)
        return types.FunctionType(self.code, self.globals, self.code.co_name, None, closure)


def section_code(source: FunctionText, loop: AnalysedLoop, section: Section, kind: Kind) -> SectionCode:
    """The function of a section.

    A `row` takes an element and returns the next one, None if it is dropped. A `fold` takes the kept values as well,
    and returns them. A `driver` function also updates names from before the loop.
    """
    is_head = section is loop.head
    kept = sorted(section.keeps)
    dropped: ast.expr = ast.Constant(None)
    result = _element(section.outputs, packed=section.drops)
    parameters = [_ELEMENT]
    statements: list[ast.stmt] = []
    if kind == "fold":
        parameters = [_STATE, _ELEMENT]
        result = dropped = _element(kept, packed=len(kept) != 1)
        statements += _unpack(kept, _STATE, packed=len(kept) != 1)
    if is_head:
        assert isinstance(loop.loop.node, ast.For)
        statements.append(ast.Assign([copy.deepcopy(loop.loop.node.target)], _load(_ELEMENT)))
        body = loop.loop.head
    else:
        before = loop.sections[loop.sections.index(section) - 1]
        statements += _unpack(section.inputs, _ELEMENT, packed=before.drops)
        body = section.statements
    statements += [_Drops(dropped).visit(copy.deepcopy(each)) for each in body]
    if kind == "fold":
        statements, result = _with_last_values(statements, kept, result)
    statements.append(ast.Return(result))
    if kind == "driver":
        updated = loop.head_updates if is_head else {name for name in section.keeps if name in section.flow.sets}
        statements[:0] = _nonlocal(updated)
    return _compiled(source, loop, _function("head" if is_head else "stage", parameters, statements, section.line))


def _with_last_values(
    statements: list[ast.stmt], kept: Sequence[str], result: ast.expr
) -> tuple[list[ast.stmt], ast.expr]:
    """The last assignments of kept names as parts of the result: then a native aggregate is recognised in it."""
    values: dict[str, ast.expr] = {}
    while statements:
        match statements[-1]:
            case ast.AugAssign(target=ast.Name(name), op=op, value=given):
                value: ast.expr = ast.BinOp(_load(name), op, given)
            case ast.Assign(targets=[ast.Name(name)], value=given):
                value = given
            case _:
                break
        if name not in kept or name in values or any(name in names_in(each) for each in values.values()):
            break
        values[name] = value
        statements = statements[:-1]
    parts = [values.get(name, _load(name)) for name in kept]
    return statements, parts[0] if len(parts) == 1 else ast.Tuple(parts, ast.Load()) if values else result


def key_code(source: FunctionText, loop: AnalysedLoop, section: Section) -> SectionCode:
    """The function of the key of `send="affinity"`, which takes the element before the stage."""
    assert section.block is not None
    key = section.block.arguments["key"]
    assert isinstance(key, ast.Constant)
    parsed = ast.parse(str(key.value), mode="eval")
    before = loop.sections[loop.sections.index(section) - 1]
    body = _unpack(section.inputs, _ELEMENT, packed=before.drops)
    body.append(ast.Return(parsed.body))
    return _compiled(source, loop, _function("key", [_ELEMENT], body, key.lineno))


def head_generator(source: FunctionText, loop: AnalysedLoop) -> SectionCode:
    """The head as a generator of elements, for the driver."""
    node = loop.loop.node
    body = [*copy.deepcopy(loop.loop.head), ast.Expr(ast.Yield(_element(loop.head.outputs, packed=loop.head.drops)))]
    around: ast.stmt
    if isinstance(node, ast.For):
        around = ast.For(copy.deepcopy(node.target), _load(_ITEM), body, [])
    else:
        around = ast.While(ast.Constant(value=True), body, [])
    statements = [*_nonlocal(loop.head_updates), around]
    return _compiled(source, loop, _function("head", [_ITEM], statements, node.lineno))


def around_loops(
    source: FunctionText, loops: Sequence[AnalysedLoop]
) -> Callable[[Callable[..., Any]], types.FunctionType]:
    """The decorated function, in which each stream loop is a call of the runner."""
    return _with_runner(source, {id(loop.loop.node): _call(number, loop) for number, loop in enumerate(loops)})


def with_events(
    source: FunctionText, loops: Sequence[AnalysedLoop]
) -> Callable[[Callable[..., Any]], types.FunctionType]:
    """The sequential function, in which a context manager around each loop calls the events of the stages."""
    return _with_runner(source, {id(loop.loop.node): _under_events(loop) for loop in loops})


def _under_events(loop: AnalysedLoop) -> ast.stmt:
    """A loop without marks, under the runner of its events."""
    node = copy.deepcopy(loop.loop.node)
    node.body = copy.deepcopy(loop.loop.head)
    for number, stage in enumerate(loop.loop.stages):
        if stage.alias is not None:
            value = ast.Subscript(_load(_VALUES), ast.Constant(number), ast.Load())
            node.body.append(ast.Assign([ast.Name(stage.alias, ast.Store())], value))
        node.body += copy.deepcopy(stage.body)
    events = ast.List([_arguments(stage.arguments) for stage in loop.loop.stages], ast.Load())
    item = ast.withitem(ast.Call(_load(RUN), [events], []), ast.Name(_VALUES, ast.Store()))
    return _located(ast.With([item], [node]), loop.loop.node.lineno)


def _with_runner(
    source: FunctionText, replaced: Mapping[int, ast.stmt]
) -> Callable[[Callable[..., Any]], types.FunctionType]:
    """The function with other statements, which call a runner."""
    node = copy.copy(source.node)
    node.decorator_list = []
    node.body = [_Replace(replaced).visit(each) for each in _copied(source.node.body, replaced)]
    code = _code(source, node, [RUN, *source.function.__code__.co_freevars])

    def bound(run: Callable[..., Any]) -> types.FunctionType:
        function = source.function
        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        cells[RUN] = types.CellType(run)
        closure = tuple(cells[name] for name in code.co_freevars)
        made = types.FunctionType(code, function.__globals__, function.__name__, function.__defaults__, closure)
        made.__kwdefaults__ = function.__kwdefaults__
        return made

    return bound


def _call(number: int, loop: AnalysedLoop) -> ast.stmt:
    """The call of the runner: the loop's number, what it iterates over, the cells, and the arguments of the marks."""
    iterable = loop.loop.iterable
    items = ast.Constant(None) if iterable is None else iterable
    stages = [_arguments(stage.block.arguments) for stage in loop.stages if stage.block is not None]
    names = sorted(shared_names(loop))
    cells = ast.Lambda(_no_arguments(), ast.Tuple([_load(name) for name in names], ast.Load()))
    call = ast.Call(_load(RUN), [ast.Constant(number), items, cells, ast.List(stages, ast.Load())], [])
    return _located(ast.Expr(call), loop.loop.node.lineno)


def shared_names(loop: AnalysedLoop) -> frozenset[str]:
    """The names of the function whose cells the sections share."""
    names = loop.head_updates
    for section in loop.sections:
        names |= section.constants | frozenset(section.keeps)
        used = {each.id for each in own_nodes(section.statements) if isinstance(each, ast.Name)}
        names |= (used | set(section.flow.reads)) & loop.outer
    return names


def _arguments(given: Mapping[str, ast.expr]) -> ast.expr:
    kept = {name: value for name, value in given.items() if name not in ("inputs", "outputs")}
    return ast.Dict([ast.Constant(name) for name in kept], list(kept.values()))


# -- syntax -----------------------------------------------------------------------------------------------------------


class _Drops(ast.NodeTransformer):
    """Makes `continue` of the stream loop a return."""

    def __init__(self, dropped: ast.expr) -> None:
        self._dropped = dropped

    def visit_Continue(self, node: ast.Continue) -> ast.stmt:
        return ast.copy_location(ast.Return(copy.deepcopy(self._dropped)), node)

    def visit_For(self, node: ast.For | ast.While | ast.AsyncFor) -> ast.stmt:
        node.orelse = [self.visit(each) for each in node.orelse]
        return node

    visit_While = visit_AsyncFor = visit_For

    def visit_FunctionDef(self, node: ast.stmt) -> ast.stmt:
        return node

    visit_AsyncFunctionDef = visit_ClassDef = visit_FunctionDef

    def visit_Lambda(self, node: ast.Lambda) -> ast.Lambda:
        return node


class _Replace(ast.NodeTransformer):
    """Replaces marked statements."""

    def __init__(self, replaced: Mapping[int, ast.stmt]) -> None:
        self._replaced = replaced

    def visit_Pass(self, node: ast.Pass) -> ast.stmt:
        number = getattr(node, "mo_loop", None)
        return node if number is None else self._replaced[number]


def _copied(statements: Sequence[ast.stmt], replaced: Mapping[int, ast.stmt]) -> list[ast.stmt]:
    """A copy of statements, with a placeholder for each of the replaced ones."""
    memo: dict[int, Any] = {}
    for statement in statements:
        for node in ast.walk(statement):
            if id(node) in replaced:
                placeholder = ast.Pass()
                placeholder.mo_loop = id(node)  # type: ignore[attr-defined]
                memo[id(node)] = placeholder
    return [copy.deepcopy(each, memo) for each in statements]


class _Mangled(ast.NodeTransformer):
    """Renames private names as in the body of a class."""

    def __init__(self, owner: str) -> None:
        self._prefix = f"_{owner.lstrip('_')}"

    def _name(self, name: str) -> str:
        private = name.startswith("__") and not name.endswith("__") and "." not in name
        return f"{self._prefix}{name}" if private else name

    def visit_Name(self, node: ast.Name) -> ast.Name:
        node.id = self._name(node.id)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.Attribute:
        self.generic_visit(node)
        node.attr = self._name(node.attr)
        return node


def _element(names: Sequence[str], *, packed: bool) -> ast.expr:
    """The element of some names: the value of one, or a tuple."""
    if len(names) == 1 and not packed:
        return _load(names[0])
    if not names and not packed:
        return ast.Constant(0)
    return ast.Tuple([_load(name) for name in names] or [ast.Constant(0)], ast.Load())


def _unpack(names: Sequence[str], parameter: str, *, packed: bool) -> list[ast.stmt]:
    """Binds the names of an element."""
    if not names:
        return []
    targets = [ast.Name(name, ast.Store()) for name in names]
    target: ast.expr = targets[0] if len(names) == 1 and not packed else ast.Tuple(list(targets), ast.Store())
    return [ast.Assign([target], _load(parameter))]


def _load(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def _nonlocal(names: Iterable[str]) -> list[ast.stmt]:
    return [ast.Nonlocal(sorted(names))] if names else []


def _no_arguments(names: Sequence[str] = ()) -> ast.arguments:
    return ast.arguments([], [ast.arg(name) for name in names], None, [], [], None, [])


def _function(name: str, parameters: Sequence[str], body: list[ast.stmt], line: int) -> ast.FunctionDef:
    made = ast.FunctionDef(name, _no_arguments(parameters), body, [], None)
    return _located(made, line)


def _located(node: N, line: int) -> N:
    """Gives a line to what has none, each node that of its parent."""
    for name, value in (("lineno", line), ("end_lineno", line), ("col_offset", 0), ("end_col_offset", 0)):
        setattr(node, name, value)
    return ast.fix_missing_locations(node)


# -- code -------------------------------------------------------------------------------------------------------------


def _compiled(source: FunctionText, loop: AnalysedLoop, node: ast.FunctionDef) -> SectionCode:
    aliases = {stage.alias for stage in loop.loop.stages if stage.alias is not None}
    code = _code(source, node, sorted(shared_names(loop) | aliases))
    note_generated(code, FunctionSource(node, source.file))
    return SectionCode(code, source.function.__globals__)


def _code(source: FunctionText, node: ast.FunctionDef, around: Sequence[str]) -> types.CodeType:
    """The code object of a function inside one that has some variables."""
    owner = source.function.__qualname__.split(".")[-2:-1]
    if owner and owner[0] != "<locals>":
        node = _Mangled(owner[0]).visit(node)
    outer = ast.FunctionDef("__mo_around__", _no_arguments(around), [node], [], None)
    module = ast.Module([_located(outer, node.lineno)], [])
    futures = source.function.__code__.co_flags & _FUTURES
    compiled = compile(module, source.file, "exec", futures, dont_inherit=True)
    return _inner(_inner(compiled, "__mo_around__"), node.name)


def _inner(code: types.CodeType, name: str) -> types.CodeType:
    return next(each for each in code.co_consts if isinstance(each, types.CodeType) and each.co_name == name)

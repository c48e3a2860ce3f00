"""The stream loops of a function: the head and the stages, as syntax trees."""

from __future__ import annotations

import ast
import builtins
import types
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from morisot.annotations import marks
from morisot.annotations.syntax.flow import own_nodes
from morisot.errors import Location, PlanError

Loop = ast.For | ast.While


@dataclass(frozen=True)
class FunctionText:
    """The text of a decorated function."""

    function: types.FunctionType
    node: ast.FunctionDef
    file: str

    def refuse(self, what: str, node: ast.AST | int, advice: str) -> PlanError:
        """The error for a line of the function."""
        line = node if isinstance(node, int) else getattr(node, "lineno", self.node.lineno)
        return PlanError(what, location=Location(self.file, line), advice=advice)


@dataclass(frozen=True)
class StageBlock:
    """A stage: its mark and its statements."""

    node: ast.With
    call: ast.Call
    body: list[ast.stmt]
    alias: str | None
    """The name that is bound to what `on_init` returns."""

    @property
    def arguments(self) -> dict[str, ast.expr]:
        return {each.arg: each.value for each in self.call.keywords if each.arg is not None}

    @property
    def replicated(self) -> bool:
        value = self.arguments.get("replicate")
        return value is not None and not (isinstance(value, ast.Constant) and value.value is None)

    @property
    def events(self) -> dict[str, ast.expr]:
        names = ("on_init", "on_exit", "on_snapshot", "on_error", "last_committed")
        return {name: value for name, value in self.arguments.items() if name in names}


@dataclass(frozen=True)
class StreamLoop:
    """A loop with its head and its stages."""

    node: Loop
    call: ast.Call
    head: list[ast.stmt]
    stages: tuple[StageBlock, ...]
    parents: tuple[ast.stmt, ...]
    """The statements of the function that contain it, the outermost first."""

    @property
    def iterable(self) -> ast.expr | None:
        """What the loop iterates over; None for `while mo.to_stream()`."""
        return self.call.args[0] if self.call.args else None

    @property
    def target(self) -> ast.expr | None:
        return self.node.target if isinstance(self.node, ast.For) else None

    @property
    def arguments(self) -> dict[str, ast.expr]:
        return {each.arg: each.value for each in self.call.keywords if each.arg is not None}


class Marks:
    """Finds the calls of marks in a function, by the objects that its names refer to."""

    def __init__(self, source: FunctionText) -> None:
        self._function = source.function
        self._imported: dict[str, Any] = {}
        for node in own_nodes(source.node.body):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    if alias.name == "morisot":
                        self._imported[alias.asname or alias.name] = "morisot"
            elif isinstance(node, ast.ImportFrom) and node.module == "morisot":
                for alias in node.names:
                    self._imported[alias.asname or alias.name] = getattr(marks, alias.name, None)

    def is_mark(self, node: ast.AST, mark: Any) -> bool:
        """Whether an expression is a call of a mark."""
        return isinstance(node, ast.Call) and self._found(node.func) is mark

    def calls(self, nodes: Iterable[ast.AST], mark: Any) -> Iterator[ast.Call]:
        """The calls of a mark below some nodes."""
        for node in nodes:
            for each in ast.walk(node):
                if isinstance(each, ast.Call) and self.is_mark(each, mark):
                    yield each

    def _found(self, expression: ast.expr) -> Any:
        if isinstance(expression, ast.Name):
            return self._named(expression.id)
        if isinstance(expression, ast.Attribute) and isinstance(expression.value, ast.Name):
            module = self._named(expression.value.id)
            if module == "morisot":
                return getattr(marks, expression.attr, None)
            return getattr(module, expression.attr, None) if isinstance(module, types.ModuleType) else None
        return None

    def _named(self, name: str) -> Any:
        if name in self._imported:
            return self._imported[name]
        code = self._function.__code__
        if name in code.co_varnames:
            return None
        if name in code.co_freevars:
            cell = (self._function.__closure__ or ())[code.co_freevars.index(name)]
            return None if cell == types.CellType() else cell.cell_contents
        return self._function.__globals__.get(name, getattr(builtins, name, None))


def stream_loops(source: FunctionText) -> list[StreamLoop]:
    """The stream loops of a function. Raises an error for marks that stand elsewhere."""
    found = Marks(source)
    nodes = list(_with_parents(source.node.body, ()))
    loops = [_loop(source, found, node, parents) for node, parents in nodes if _is_stream_loop(found, node)]
    in_heads = {id(loop.call) for loop in loops}
    for call in found.calls(source.node.body, marks.to_stream):
        if id(call) not in in_heads:
            raise source.refuse(
                "to_stream does not stand in the head of a loop",
                call,
                "write `for x in mo.to_stream(xs):` or `while mo.to_stream():`, with nothing around the call",
            )
    if not loops:
        raise source.refuse(
            f"{source.node.name} is decorated with @mo.pipeline and has no stream loop",
            source.node,
            "mark the loop that becomes the source: `for x in mo.to_stream(xs):`",
        )
    _refuse_other_stages(source, found, loops)
    return loops


def _with_parents(
    statements: Iterable[ast.stmt], parents: tuple[ast.stmt, ...]
) -> Iterator[tuple[ast.stmt, tuple[ast.stmt, ...]]]:
    for statement in statements:
        yield statement, parents
        if not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield from _with_parents(_inner(statement), (*parents, statement))


def _inner(statement: ast.stmt) -> Iterator[ast.stmt]:
    for each in ast.iter_child_nodes(statement):
        if isinstance(each, ast.stmt):
            yield each
        elif isinstance(each, ast.ExceptHandler | ast.match_case):
            yield from each.body


def _is_stream_loop(found: Marks, node: ast.stmt) -> bool:
    head = node.iter if isinstance(node, ast.For) else node.test if isinstance(node, ast.While) else None
    return head is not None and found.is_mark(head, marks.to_stream)


def _loop(source: FunctionText, found: Marks, node: ast.stmt, parents: tuple[ast.stmt, ...]) -> StreamLoop:
    assert isinstance(node, Loop)
    call = node.iter if isinstance(node, ast.For) else node.test
    assert isinstance(call, ast.Call)
    if node.orelse:
        raise source.refuse(
            "a stream loop has no `else`", node.orelse[0], "move these statements behind the loop: it always ends"
        )
    if isinstance(node, ast.For) != bool(call.args):
        raise source.refuse(
            "`for` needs something to iterate over, and `while` reads for itself",
            call,
            "write `for x in mo.to_stream(xs):` or `while mo.to_stream():`",
        )
    inner = next(iter(found.calls(node.body, marks.to_stream)), None)
    if inner is not None:
        raise source.refuse(
            "a stream loop is nested in another one",
            inner,
            "make one loop of them, or read the inner items with an ordinary loop in the head or in a stage",
        )
    position = next((n for n, each in enumerate(node.body) if _stage_call(found, each) is not None), None)
    if position is None:
        nested = next(iter(found.calls(node.body, marks.stage)), None)
        if nested is not None:
            raise _misplaced(source, nested)
        raise source.refuse(
            "a stream loop has no stage", node, "mark at least one block: `with mo.stage(): …`, or remove to_stream"
        )
    stages = [_stage(source, found, each) for each in node.body[position:]]
    return StreamLoop(node, call, node.body[:position], tuple(stages), parents)


def _stage_call(found: Marks, statement: ast.stmt) -> ast.Call | None:
    """The mark of a stage, if the statement is one."""
    if not isinstance(statement, ast.With):
        return None
    return next(
        (
            item.context_expr
            for item in statement.items
            if isinstance(item.context_expr, ast.Call) and found.is_mark(item.context_expr, marks.stage)
        ),
        None,
    )


def _stage(source: FunctionText, found: Marks, statement: ast.stmt) -> StageBlock:
    call = _stage_call(found, statement)
    if call is None:
        raise source.refuse(
            "there is code between stages",
            statement,
            "move it into a stage, or before the first stage: then it is a part of the head",
        )
    assert isinstance(statement, ast.With)
    if len(statement.items) > 1:
        raise source.refuse(
            "a stage has another context manager beside its mark",
            statement,
            "write it as a `with` statement inside the stage, or before the loop",
        )
    if call.args:
        raise source.refuse("the arguments of a stage have names", call, "write `mo.stage(replicate=4)`")
    alias = statement.items[0].optional_vars
    if alias is not None and not isinstance(alias, ast.Name):
        raise source.refuse("a stage binds what on_init returns to one name", alias, "write `as model`")
    stage = StageBlock(statement, call, statement.body, None if alias is None else alias.id)
    if stage.alias is not None and "on_init" not in stage.arguments:
        raise source.refuse(
            f"the stage binds {stage.alias}, and no on_init returns a value",
            statement,
            "write `with mo.stage(on_init=load) as model:`, or remove `as`",
        )
    return stage


def _misplaced(source: FunctionText, call: ast.Call) -> PlanError:
    return source.refuse(
        "a stage does not stand directly in a stream loop",
        call,
        "move the `if`, `try`, `with` or loop around it into the stage",
    )


def _refuse_other_stages(source: FunctionText, found: Marks, loops: Iterable[StreamLoop]) -> None:
    own = {id(stage.call) for loop in loops for stage in loop.stages}
    for call in found.calls(source.node.body, marks.stage):
        if id(call) not in own:
            raise _misplaced(source, call)

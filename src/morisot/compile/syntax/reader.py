"""Finds the syntax tree that a function object was compiled from, and verifies it by recompiling.

`inspect.getsource` guesses: it returns the wrong text for the second lambda on a line and for a file edited after its
import. Here a node is accepted only if the code compiled from it equals the function's own code, down to the column
of every instruction.
"""

from __future__ import annotations
import __future__

import ast
import functools
import itertools
import threading
import types
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from morisot.compile.syntax.source_text import has_file, texts_of
from morisot.compile.verdict import Refusal

FunctionNode = ast.Lambda | ast.FunctionDef

_FUTURES = sum(getattr(__future__, name).compiler_flag for name in __future__.all_feature_names[2:])
"""The flags of `from __future__ import …`, which a notebook passes from cell to cell."""


@dataclass(frozen=True)
class FunctionSource:
    """The syntax tree of a function, and its file."""

    node: FunctionNode
    file: str


@dataclass(frozen=True)
class _Candidate:
    """A function of a module, the statement of the module's body that it is part of, and its index there."""

    node: FunctionNode
    statement: int
    index: int


@dataclass(frozen=True)
class _Module:
    """A module's text, parsed and compiled once."""

    file: str
    text: str
    futures: int
    functions: dict[int, tuple[_Candidate, ...]]
    codes: dict[int, tuple[types.CodeType, ...]]
    codes_of_line: dict[int, tuple[types.CodeType | None, ...]] = field(default_factory=dict)
    """The code objects of functions that share a line, compiled on demand."""
    moving: threading.Lock = field(default_factory=threading.Lock)

    @functools.cached_property
    def movable(self) -> list[ast.stmt]:
        """A second copy of the tree, in which a thread that holds the lock moves a node temporarily."""
        return ast.parse(self.text, self.file).body

    @functools.cached_property
    def importing(self) -> list[ast.stmt]:
        """The statements of that tree that import names for the whole module."""
        return [statement for statement in self.movable if _imports(statement)]


_generated: dict[types.CodeType, FunctionSource] = {}
"""The functions that were made from syntax trees, which therefore need no proof."""


def note_generated(code: types.CodeType, source: FunctionSource) -> None:
    """Records the syntax tree of a function that was compiled from it."""
    _generated[code] = source


def read(function: types.FunctionType) -> FunctionSource | Refusal:
    """The syntax tree that `function` was compiled from, or the reason why it is unknown.

    >>> read(eval("lambda x: x + 1")).reason
    'there is no source text for <lambda>'
    """
    code, known = function.__code__, False
    if code in _generated:
        return _generated[code]
    for text in texts_of(function):
        known = True
        node = _found(code, text)
        if node is not None:
            return FunctionSource(node, code.co_filename)
    return _changed(code) if known and has_file(code) else _without_text(code)


def _found(code: types.CodeType, text: str) -> FunctionNode | None:
    """The syntax tree in the text whose code equals `code`."""
    module = _module(code.co_filename, text, code.co_flags & _FUTURES)
    if module is None:
        return None
    candidates = module.functions.get(code.co_firstlineno, ())
    compiled = module.codes.get(code.co_firstlineno, ())
    if not any(_same(code, other) for other in compiled):
        return None
    if len(candidates) == 1:
        return candidates[0].node
    for candidate, alone in zip(candidates, _codes_of_line(module, code.co_firstlineno), strict=True):
        if alone is not None and _same(code, alone):
            return candidate.node
    return None


def _without_text(code: types.CodeType) -> Refusal:
    return Refusal(
        f"there is no source text for {code.co_name}",
        advice="pass returns=, or write the function in a file or a notebook cell",
    )


def _changed(code: types.CodeType) -> Refusal:
    return Refusal(
        f"the text of {code.co_filename} is not what {code.co_name} was compiled from",
        line=code.co_firstlineno,
        advice="restart the program if the file was edited while it ran",
    )


@functools.lru_cache(maxsize=64)
def _module(file: str, text: str, futures: int) -> _Module | None:
    try:
        tree = ast.parse(text, file)
        compiled = _quietly_compiled(text, file, futures)
    except (SyntaxError, ValueError):
        return None
    functions: dict[int, tuple[_Candidate, ...]] = {}
    for number, statement in enumerate(tree.body):
        for index, node in enumerate(_functions(statement)):
            line = _first_line(node)
            functions[line] = (*functions.get(line, ()), _Candidate(node, number, index))
    codes: dict[int, tuple[types.CodeType, ...]] = {}
    for code in _codes(compiled):
        codes[code.co_firstlineno] = (*codes.get(code.co_firstlineno, ()), code)
    return _Module(file, text, futures, functions, codes)


def _quietly_compiled(source: str | ast.Module, file: str, futures: int) -> types.CodeType:
    """Compiles without warnings: Python has shown them when it compiled the user's file."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compiled: types.CodeType = compile(source, file, "exec", futures, dont_inherit=True)
    return compiled


def _functions(tree: ast.AST) -> Iterator[FunctionNode]:
    return (node for node in ast.walk(tree) if isinstance(node, FunctionNode))


def _first_line(node: FunctionNode) -> int:
    """The line that CPython records for a function: that of its first decorator, if there is one."""
    return _first_node(node).lineno


def _first_node(node: FunctionNode) -> ast.Lambda | ast.FunctionDef | ast.expr:
    decorators = [] if isinstance(node, ast.Lambda) else node.decorator_list
    return decorators[0] if decorators else node


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield constant
            yield from _codes(constant)


def _imports(statement: ast.stmt) -> bool:
    """Whether a statement imports a name for the whole module, perhaps under a condition."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return False
    return any(isinstance(node, ast.Import | ast.ImportFrom) for node in ast.walk(statement))


def _codes_of_line(module: _Module, line: int) -> tuple[types.CodeType | None, ...]:
    """The code objects of several functions on a line, compiled when they are first needed."""
    with module.moving:
        if line not in module.codes_of_line:
            module.codes_of_line[line] = tuple(_compile_moved(module, each) for each in module.functions[line])
        return module.codes_of_line[line]


def _compile_moved(module: _Module, candidate: _Candidate) -> types.CodeType | None:
    """The code object of one of several functions on a line. It is moved to a line of its own to distinguish it.

    Only one statement of the module is compiled, and the imports. A function's code does not depend on other
    statements, but CPython compiles `math.sin(x)` differently if `math` is the name of a module.
    """
    statement = module.movable[candidate.statement]
    function = next(itertools.islice(_functions(statement), candidate.index, None))
    first = _first_node(function)
    lines = first.lineno, first.end_lineno or first.lineno
    moved = module.text.count("\n") + 10
    first.lineno, first.end_lineno = moved, moved + lines[1] - lines[0]
    others = [each for each in module.importing if each is not statement]
    try:
        compiled = _quietly_compiled(ast.Module([*others, statement], []), module.file, module.futures)
    finally:
        first.lineno, first.end_lineno = lines
    name = "<lambda>" if isinstance(function, ast.Lambda) else function.name
    # Also by name: from Python 3.14 on the annotations of a function have a code object of their own on its line.
    found = [code for code in _codes(compiled) if code.co_firstlineno == moved and code.co_name == name]
    return found[0] if len(found) == 1 else None


_FIELDS = (
    "co_name",
    "co_argcount",
    "co_posonlyargcount",
    "co_kwonlyargcount",
    "co_flags",
    "co_names",
    "co_varnames",
    "co_freevars",
    "co_cellvars",
    "co_code",
    "co_exceptiontable",
)


def _same(left: types.CodeType, right: types.CodeType) -> bool:
    """Whether two code objects were compiled from the same text at the same location."""
    return (
        all(getattr(left, field, None) == getattr(right, field, None) for field in _FIELDS)
        and _positions(left, left.co_firstlineno) == _positions(right, left.co_firstlineno)
        and _same_constant(left.co_consts, right.co_consts)
    )


def _positions(code: types.CodeType, line: int) -> list[tuple[int | None, ...]]:
    """The source position of each instruction, as if the function began on `line`: it may have been moved."""
    own = code.co_firstlineno
    return [
        (line if start == own else start, line if end == own else end, *columns)
        for start, end, *columns in code.co_positions()
    ]


def _same_constant(left: Any, right: Any) -> bool:
    """Equality that distinguishes 1 from True and 0.0 from -0.0."""
    if type(left) is not type(right):
        return False
    if isinstance(left, types.CodeType):
        return _same(left, right)
    if isinstance(left, tuple):
        return len(left) == len(right) and all(map(_same_constant, left, right))
    if isinstance(left, frozenset):
        return sorted(map(repr, left)) == sorted(map(repr, right))
    return bool(left == right) and repr(left) == repr(right)

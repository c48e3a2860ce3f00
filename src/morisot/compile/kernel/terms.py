"""The parts of generated kernels: typed terms, and the function that is being written."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from morisot.compile.ir.values import Known
from morisot.compile.syntax.scope import refuse
from morisot.types.element import BOOL, FLOAT, INT, NONE, NUMBERS, List, Optional, Product, Tuple, Type

BAD = "return BAD"
"""Leaves the row to Python. It is replaced by a real return once the function's result type is known."""

_ATOM = re.compile(r"\w+|\d+\.\d+|-?\d+")
_LETTERS: dict[Type, str] = {INT: "i", FLOAT: "f", BOOL: "b"}
_ZEROS: dict[Type, str] = {INT: "0", FLOAT: "0.0", BOOL: "False"}
_LONGEST = 160
_LARGEST = 3_000
"""The most expressions that are translated: numba would compile a larger function for longer than the kernel saves."""


@dataclass(frozen=True)
class Term:
    """A value inside a kernel: the text of an expression for a leaf, or a product of terms."""

    type: Type
    text: str = ""
    items: tuple[Term, ...] = ()
    constant: int | float | bool | None = None

    def leaves(self) -> Iterator[Term]:
        if isinstance(self.type, Product):
            for item in self.items:
                yield from item.leaves()
        else:
            yield self

    @property
    def is_number(self) -> bool:
        return self.type in NUMBERS

    @property
    def shape(self) -> tuple[Any, ...]:
        """Terms of equal shape are interchangeable: they have equal types, and equal leaves that are no numbers."""
        return (self.type, *(leaf.text for leaf in self.leaves() if not leaf.is_number))


def literal(value: Any) -> Term | Known:
    """A constant inside a kernel. A value that is not made of numbers stays a Python object."""
    if value is None:
        return Term(NONE)
    if type(value) is bool:
        return Term(BOOL, str(value), constant=value)
    if type(value) is int and -(2**63) <= value < 2**63:
        text = str(value) if value > -(2**63) else "(-9223372036854775807 - 1)"
        return Term(INT, text if value >= 0 else f"({text})", constant=value)
    if type(value) is float:
        return Term(FLOAT, _float_text(value), constant=value)
    if type(value) is tuple and value:
        items = [literal(item) for item in value]
        terms = tuple(item for item in items if isinstance(item, Term))
        if len(terms) == len(items):
            return Term(Tuple(tuple(item.type for item in terms)), items=terms)
    return Known(value)


def _float_text(value: float) -> str:
    if math.isnan(value):
        return "NAN"
    if value in (float("inf"), float("-inf")):
        return "INF" if value > 0 else "(-INF)"
    return f"({value!r})"


@dataclass
class Program:
    """All functions generated for one closure."""

    functions: list[str] = field(default_factory=list)
    helpers: dict[tuple[Any, ...], tuple[str, Term]] = field(default_factory=dict)
    active: list[Any] = field(default_factory=list)
    """The user's functions that are being translated, outermost first."""
    may_differ: str = ""
    """Why a row that Python processes may give another type. It does not matter if the user declares the type."""
    steps: int = 0

    def step(self, node: ast.AST) -> None:
        self.steps += 1
        if self.steps > _LARGEST:
            refuse(node, "the function is too large for a kernel", "split it into several operators")


class Writer:
    """Collects the lines of one generated function."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.lines: list[str] = []
        self._depth = 1
        self._temporaries = 0

    def line(self, text: str) -> None:
        self.lines.append("    " * self._depth + text)

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """A block under a head line. An empty block gets a `pass`."""
        self.line(head)
        before = len(self.lines)
        self._depth += 1
        try:
            yield
            if len(self.lines) == before:
                self.line("pass")
        finally:
            self._depth -= 1

    def new(self) -> str:
        self._temporaries += 1
        return f"t{self._temporaries}"

    def bad_if(self, condition: str) -> None:
        """Leaves the row to Python under a condition."""
        self.line(f"if {condition}: {BAD}")

    def bound(self, type_: Type, text: str) -> Term:
        """Assigns the value of the text to a new variable."""
        name = self.new()
        self.line(f"{name} = {text}")
        return Term(type_, name)

    def atom(self, term: Term) -> Term:
        """The same value as a name or a constant, which is cheap to repeat."""
        if term.constant is not None or not term.is_number or _ATOM.fullmatch(term.text):
            return term
        return self.bound(term.type, term.text)

    def short(self, term: Term) -> Term:
        """The same value, in a variable if its text is long."""
        return self.atom(term) if len(term.text) > _LONGEST else term

    def snapshot(self, term: Term) -> Term:
        """The current value. Later assignments to its variables do not change it."""
        if isinstance(term.type, Product):
            return Term(term.type, items=tuple(map(self.snapshot, term.items)))
        return self.bound(term.type, term.text) if term.is_number and term.constant is None else term

    def assign(self, names: Sequence[str], term: Term) -> None:
        """Assigns the leaves of a term to variables."""
        # the lengths differ only if the function is refused afterwards
        for name, leaf in zip(names, term.leaves(), strict=False):
            if leaf.is_number:
                self.line(f"{name} = {leaf.text}")

    def store(self, name: str, term: Term, path: str = "") -> Term:
        """Stores the term in variables named after the user's. A name has the type and the path of a part in it."""
        if isinstance(term.type, Product):
            items = (self.store(name, item, f"{path}_{index}".strip("_")) for index, item in enumerate(term.items))
            return Term(term.type, items=tuple(items))
        if not term.is_number:
            return term
        variable = f"{name}_{_LETTERS[term.type]}{path}"
        if variable != term.text:
            self.line(f"{variable} = {term.text}")
        return Term(term.type, variable)

    def finish(self, name: str, parameters: list[str], result: Term) -> str:
        """The text of the function. It returns whether it processed the row, and the numbers of its result."""
        zeros = (_ZEROS[leaf.type] for leaf in result.leaves() if leaf.is_number)
        gives_up = f"return ({', '.join(['False', *zeros])},)"
        body = [line.replace(BAD, gives_up) for line in self.lines]
        return "\n".join([f"def {name}({', '.join(parameters)}):", *body]) + "\n"


def rebuilt(like: Term, names: Iterator[str]) -> Term:
    """A term of the same shape, with its numbers in the given variables."""
    if isinstance(like.type, Product):
        return Term(like.type, items=tuple(rebuilt(item, names) for item in like.items))
    return Term(like.type, next(names)) if like.is_number else like


def renamed(term: Term, root: str) -> Term:
    """The parameter of a function that is called with a term. Only its numbers and lists are passed to the function."""
    if isinstance(term.type, Product):
        return Term(term.type, items=tuple(renamed(item, f"{root}_{n}") for n, item in enumerate(term.items)))
    return Term(term.type, root) if term.is_number or isinstance(term.type, List) else term


def texts(terms: Iterable[Term]) -> list[str]:
    """The arguments of a generated function: the leaves of the terms that are numbers or lists of numbers."""
    return [text for term in terms for leaf in term.leaves() for text in _leaf_texts(leaf)]


def _leaf_texts(leaf: Term) -> list[str]:
    if is_list(leaf):
        return [f"{leaf.text}_{part}" for part in LIST_PARTS]
    return [leaf.text] if leaf.is_number else []


LIST_PARTS = ("items", "start", "stop")
"""A list is an array with the items of all rows, the index of its first item, and the index after its last."""


def is_list(term: Term) -> bool:
    """Whether a term is a list of numbers."""
    return isinstance(term.type, List) and term.type.item in NUMBERS


def term_of(type_: Type, root: str) -> Term:
    """A parameter: a name for each leaf. A leaf that is no number and no list of numbers can only be passed on."""
    if isinstance(type_, Product):
        children = (child for _, child in type_.children)
        return Term(type_, items=tuple(term_of(child, f"{root}_{n}") for n, child in enumerate(children)))
    inner = type_.inner if isinstance(type_, Optional) and type_.inner in NUMBERS else type_
    return Term(inner, root)


def describe(node: ast.AST) -> str:
    """The name of a kind of node in a refusal."""
    return {
        ast.Try: "try",
        ast.With: "with",
        ast.Return: "return without a value",
        ast.Expr: "a statement for its effect",
        ast.AugAssign: "an augmented assignment to a part",
        ast.FunctionDef: "a function inside",
        ast.Lambda: "a lambda inside",
        ast.JoinedStr: "text",
        ast.ListComp: "a list",
        ast.List: "a list",
        ast.GeneratorExp: "a generator",
    }.get(type(node), type(node).__name__)

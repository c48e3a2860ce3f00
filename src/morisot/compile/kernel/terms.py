"""What kernels are made of: typed pieces of generated text, and the function that is being written."""

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
"""Gives the row back to Python; becomes a real return once the function's result type is known."""

_ATOM = re.compile(r"\w+|\d+\.\d+|-?\d+")
_LETTERS: dict[Type, str] = {INT: "i", FLOAT: "f", BOOL: "b"}
_ZEROS: dict[Type, str] = {INT: "0", FLOAT: "0.0", BOOL: "False"}
_LONGEST = 160
_LARGEST = 3_000
"""So many expressions are translated; a larger function would take numba longer than it saves."""


@dataclass(frozen=True)
class Term:
    """A value inside a kernel: one piece of text for a leaf, or a product of terms."""

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
        """What two terms have in common that can take each other's place: types, and what is no number as it is."""
        return (self.type, *(leaf.text for leaf in self.leaves() if not leaf.is_number))


def literal(value: Any) -> Term | Known:
    """A constant inside a kernel; what is no number stays the object it is."""
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
    """Why a row done in Python may give another type; harmless where the user declares the type."""
    steps: int = 0

    def step(self, node: ast.AST) -> None:
        self.steps += 1
        if self.steps > _LARGEST:
            refuse(node, "the function is too large for a kernel", "split it into several operators")


class Writer:
    """The text of one function as it grows."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.lines: list[str] = []
        self._depth = 1
        self._temporaries = 0

    def line(self, text: str) -> None:
        self.lines.append("    " * self._depth + text)

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """Lines that belong under a head; at least one."""
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
        """Give the row back to Python under a condition."""
        self.line(f"if {condition}: {BAD}")

    def bound(self, type_: Type, text: str) -> Term:
        """The value of the text in a variable of its own."""
        name = self.new()
        self.line(f"{name} = {text}")
        return Term(type_, name)

    def atom(self, term: Term) -> Term:
        """The same value, cheap to repeat."""
        if term.constant is not None or not term.is_number or _ATOM.fullmatch(term.text):
            return term
        return self.bound(term.type, term.text)

    def short(self, term: Term) -> Term:
        """The same value in not too long a text."""
        return self.atom(term) if len(term.text) > _LONGEST else term

    def snapshot(self, term: Term) -> Term:
        """The value of now, whatever is assigned to its variables next."""
        if isinstance(term.type, Product):
            return Term(term.type, items=tuple(map(self.snapshot, term.items)))
        return self.bound(term.type, term.text) if term.is_number and term.constant is None else term

    def assign(self, names: Sequence[str], term: Term) -> None:
        """Put the leaves of a term into variables."""
        for name, leaf in zip(names, term.leaves(), strict=False):  # of other lengths only where it will be refused
            if leaf.is_number:
                self.line(f"{name} = {leaf.text}")

    def store(self, name: str, term: Term, path: str = "") -> Term:
        """The term in variables named after the user's; a name tells the type and the place of a part."""
        if isinstance(term.type, Product):
            items = (self.store(name, item, f"{path}_{index}".strip("_")) for index, item in enumerate(term.items))
            return Term(term.type, items=tuple(items))
        if not term.is_number:
            return term
        kept = f"{name}_{_LETTERS[term.type]}{path}"
        if kept != term.text:
            self.line(f"{kept} = {term.text}")
        return Term(term.type, kept)

    def finish(self, name: str, parameters: list[str], result: Term) -> str:
        """The whole function, returning whether it could and the numbers of its result."""
        zeros = (_ZEROS[leaf.type] for leaf in result.leaves() if leaf.is_number)
        gives_up = f"return ({', '.join(['False', *zeros])},)"
        body = [line.replace(BAD, gives_up) for line in self.lines]
        return "\n".join([f"def {name}({', '.join(parameters)}):", *body]) + "\n"


def rebuilt(like: Term, names: Iterator[str]) -> Term:
    """A term like another one whose numbers are in variables."""
    if isinstance(like.type, Product):
        return Term(like.type, items=tuple(rebuilt(item, names) for item in like.items))
    return Term(like.type, next(names)) if like.is_number else like


def renamed(term: Term, root: str) -> Term:
    """The parameter of a function that gets a term; what is neither a number nor a list passes by the function."""
    if isinstance(term.type, Product):
        return Term(term.type, items=tuple(renamed(item, f"{root}_{n}") for n, item in enumerate(term.items)))
    return Term(term.type, root) if term.is_number or isinstance(term.type, List) else term


def texts(terms: Iterable[Term]) -> list[str]:
    """What is passed to a function: the numbers among the leaves of its arguments, and the lists of numbers."""
    return [text for term in terms for leaf in term.leaves() for text in _leaf_texts(leaf)]


def _leaf_texts(leaf: Term) -> list[str]:
    if is_list(leaf):
        return [f"{leaf.text}_{part}" for part in LIST_PARTS]
    return [leaf.text] if leaf.is_number else []


LIST_PARTS = ("items", "start", "stop")
"""A list is an array of all rows' items and the places where its own begin and end."""


def is_list(term: Term) -> bool:
    """Whether a term is a list of numbers."""
    return isinstance(term.type, List) and term.type.item in NUMBERS


def term_of(type_: Type, root: str) -> Term:
    """A parameter: a name for each leaf; a leaf that is no number and no list of numbers can only be passed on."""
    if isinstance(type_, Product):
        children = (child for _, child in type_.children)
        return Term(type_, items=tuple(term_of(child, f"{root}_{n}") for n, child in enumerate(children)))
    inner = type_.inner if isinstance(type_, Optional) and type_.inner in NUMBERS else type_
    return Term(inner, root)


def describe(node: ast.AST) -> str:
    """What a kind of node is called where it is refused."""
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

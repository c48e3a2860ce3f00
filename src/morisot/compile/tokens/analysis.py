"""Proves that a function of a text may be called for each token of the text instead of the whole text.

A function `f` that returns a list is local to tokens if `f(a + s + b) == f(a) + f(b)` for all texts a and b and each
separator s. Then the list of a text is the concatenation of the lists of its tokens, and a token that occurs many times
needs one call. The proof follows the syntax tree: methods of the text that keep separators and change each token by
itself, then a split or a search, then comprehensions over its items.
"""

from __future__ import annotations

import ast
import builtins
import re
import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from morisot.compile.syntax.reader import read
from morisot.compile.tokens.patterns import avoids
from morisot.compile.verdict import Refusal

WHITE_SPACE = " \t\n\r\x0b\x0c"
"""The white space that Arrow splits by: a part of that of `str.split`, which then splits the rest."""
_CASE = frozenset({"lower", "upper", "casefold", "swapcase"})
_STRIP = frozenset({"strip", "lstrip", "rstrip"})
_COPIES = (list, tuple, iter)
_SEARCHES = (re.findall, re.sub)
_PURE = (str.maketrans, re.compile)
_DEEPEST = 5
_OTHERWISE = "it uses the text in another way than by tokens"


@dataclass(frozen=True)
class Tokens:
    """The characters between the tokens of a text."""

    separators: str

    @property
    def pattern(self) -> str | None:
        """The one separator; None: white space of ASCII."""
        return None if self.separators == WHITE_SPACE else self.separators


def tokens_of(function: object) -> Tokens | Refusal:
    r"""The separators by whose tokens a function of a text is local, or the reason why there are none.

    >>> tokens_of(str.split)
    Tokens(separators=' \t\n\r\x0b\x0c')
    """
    if function is str.split:
        return Tokens(WHITE_SPACE)
    if not isinstance(function, types.FunctionType):
        return Refusal("it is not a Python function")
    found = Refusal("it splits no text")
    for separators in (WHITE_SPACE, " ", *_other_separators(function)):
        try:
            result = _Call(function, separators, 0).result()
        except _NotLocal as not_local:
            found = not_local.refusal
            continue
        if result is _WORDS:
            return Tokens(separators)
    return found


def _other_separators(function: types.FunctionType) -> Iterator[str]:
    """The constants of one character, which the function may split by."""
    values = (*function.__code__.co_consts, *_captured(function).values())
    constants = {each for each in values if isinstance(each, str) and len(each) == 1}
    return (each for each in sorted(constants) if each.isascii() and not each.isalnum() and each not in "_ ")


def is_neutral(character: str) -> bool:
    """Whether no method of `_CASE` looks across a character of ASCII that has no case.

    The lower case of a sigma depends on the letters next to it, except for characters that it ignores.
    """
    return f"AΣ{character}A".lower() == f"aς{character}a" and f"A{character}ΣA".lower() == f"a{character}σa"


class _NotLocal(Exception):  # noqa: N818 - it never leaves this file
    def __init__(self, node: ast.AST, reason: str) -> None:
        super().__init__(reason)
        self.refusal = Refusal(reason, getattr(node, "lineno", None))


@dataclass(frozen=True)
class _Text:
    """A text that has the separators of the function's argument, with each token changed by itself."""

    stripped: bool = False
    """Whether white space at its ends may be missing."""


@dataclass(frozen=True)
class _Words:
    """A list that is local to tokens."""


@dataclass(frozen=True)
class _Constant:
    """A value that does not depend on the text."""

    value: Any


_TEXT, _WORDS = _Text(), _Words()
_Found = _Text | _Words | _Constant


@dataclass
class _Call:
    """A call of a function with such a text as its only argument."""

    function: types.FunctionType
    separators: str
    depth: int
    given: _Text = _TEXT
    variables: dict[str, _Found] = field(default_factory=dict)

    def result(self) -> _Found:
        source = read(self.function)
        if isinstance(source, Refusal):
            raise _NotLocal(ast.Pass(), source.reason)
        node = source.node
        arguments = [*node.args.posonlyargs, *node.args.args]
        if len(arguments) != 1 or node.args.vararg or node.args.kwonlyargs or node.args.kwarg:
            raise _NotLocal(node, "it has other parameters than the text")
        self.variables[arguments[0].arg] = self.given
        return self._value(node.body) if isinstance(node, ast.Lambda) else self._returned(node)

    def _returned(self, function: ast.FunctionDef) -> _Found:
        for statement in function.body:
            match statement:
                case ast.Expr(ast.Constant()):
                    continue
                case ast.Assign([ast.Name(id=name)], value):
                    self.variables[name] = self._value(value)
                case ast.Return(ast.expr() as value):
                    return self._value(value)
                case _:
                    raise _NotLocal(statement, "it has statements other than assignments")
        raise _NotLocal(function, "it returns nothing")

    def _value(self, node: ast.expr) -> _Found:
        match node:
            case ast.Name(id=name) if name in self.variables:
                return self.variables[name]
            case ast.Call():
                return self._called(node)
            case ast.ListComp(generators=generators) | ast.GeneratorExp(generators=generators):
                return self._comprehension(node, generators)
        return _Constant(self._constant(node))

    def _comprehension(self, node: ast.expr, generators: list[ast.comprehension]) -> _Found:
        """Each item of a local list becomes some items, by itself."""
        first = generators[0]
        if self._value(first.iter) is not _WORDS:
            raise _NotLocal(first.iter, "it iterates over something else than the tokens of a text")
        parts = [part for part in ast.iter_child_nodes(node) if part not in generators]
        parts += [condition for each in generators for condition in each.ifs]
        parts += [each.iter for each in generators[1:]]
        for inner in (inner for part in parts for inner in ast.walk(part)):
            if isinstance(inner, ast.Name) and self._depends(inner.id):
                raise _NotLocal(inner, "an item depends on the whole text")
            if isinstance(inner, ast.NamedExpr):
                raise _NotLocal(inner, "an item depends on the items before it")
        return _WORDS

    def _depends(self, name: str) -> bool:
        return isinstance(self.variables.get(name), _Text | _Words)

    # -- calls ------------------------------------------------------------------------------------------------------

    def _called(self, node: ast.Call) -> _Found:
        if node.keywords:
            raise _NotLocal(node, _OTHERWISE)
        match node.func:
            case ast.Attribute(value=ast.expr() as receiver, attr=name) if self._mentions(receiver):
                text = self._value(receiver)
                if isinstance(text, _Text):
                    return self._method(node, text, name, [self._constant(each) for each in node.args])
                raise _NotLocal(node, _OTHERWISE)
            case _ if self._mentions(node.func):
                raise _NotLocal(node, _OTHERWISE)
        if not any(self._mentions(each) for each in node.args):
            return _Constant(self._constant(node))
        return self._function(node, self._constant(node.func), [self._value(each) for each in node.args])

    def _function(self, node: ast.Call, function: Any, arguments: list[_Found]) -> _Found:
        match arguments:
            case [_Words()] if any(function is each for each in _COPIES):
                return _WORDS
            case [_Text() as text] if isinstance(function, types.FunctionType) and self.depth < _DEEPEST:
                return _Call(function, self.separators, self.depth + 1, text).result()
            case [_Constant(pattern), *others] if any(function is each for each in _SEARCHES):
                return self._searched(node, function.__name__, pattern, others)
            case others if isinstance(getattr(function, "__self__", None), re.Pattern):
                return self._searched(node, function.__name__, function.__self__, others)
        raise _NotLocal(node, _OTHERWISE)

    def _searched(self, node: ast.Call, name: str, pattern: Any, others: list[_Found]) -> _Found:
        """If no match has a separator, each is in one token, whatever is next to the token."""
        match name, others:
            case "findall", [_Text(stripped=False)]:
                result: _Found = _WORDS
            case "sub", [_Constant(str()), _Text(stripped=False)]:
                result = _TEXT
            case _:
                raise _NotLocal(node, _OTHERWISE)
        if not isinstance(pattern, str | re.Pattern) or not avoids(pattern, self.separators):
            raise _NotLocal(node, "a match may reach across the tokens of a text")
        return result

    def _method(self, node: ast.Call, text: _Text, name: str, arguments: list[Any]) -> _Found:
        match name, arguments:
            case "split", [] | [None]:
                if not self.separators.isspace():
                    raise _NotLocal(node, "it splits by white space")
                return _WORDS
            case "split", [str() as separator] if separator == self.separators and not text.stripped:
                return _WORDS
            case _, [] if name in _CASE and all(map(is_neutral, self.separators)):
                return text
            case _, [] | [None] if name in _STRIP and self.separators.isspace():
                return _Text(stripped=True)
            case "replace", [str() as old, str()] if old and not text.stripped and not set(old) & set(self.separators):
                return text
            case "translate", [dict() as table] if not text.stripped and self._keeps_separators(table):
                return text
        raise _NotLocal(node, _OTHERWISE)

    def _keeps_separators(self, table: Mapping[Any, Any]) -> bool:
        return all(table.get(ord(each), each) in (each, ord(each)) for each in self.separators)

    # -- values that do not depend on the text ------------------------------------------------------------------------

    def _mentions(self, node: ast.expr) -> bool:
        return any(isinstance(each, ast.Name) and self._depends(each.id) for each in ast.walk(node))

    def _constant(self, node: ast.expr) -> Any:
        """The value of an expression of constants, captured values and their attributes."""
        match node:
            case ast.Constant(value):
                return value
            case ast.Name(id=name):
                found = self.variables.get(name)
                if isinstance(found, _Constant):
                    return found.value
                if found is None:
                    return self._outside(node, name)
            case ast.Attribute(value=value, attr=name):
                holder = self._constant(value)
                if isinstance(holder, types.ModuleType | re.Pattern) or holder is str:
                    return getattr(holder, name, None)
            case ast.Call(func=function, args=arguments, keywords=[]):
                called = self._constant(function)
                if any(called is each for each in _PURE):
                    return self._pure(node, called, [self._constant(each) for each in arguments])
        raise _NotLocal(node, _OTHERWISE)

    def _pure(self, node: ast.expr, function: Callable[..., Any], arguments: list[Any]) -> Any:
        try:
            return function(*arguments)
        except Exception:  # Python will raise it for each element
            raise _NotLocal(node, "it fails on every text") from None

    def _outside(self, node: ast.expr, name: str) -> Any:
        captured = _captured(self.function)
        if name in captured:
            return captured[name]
        if hasattr(builtins, name):
            return getattr(builtins, name)
        raise _NotLocal(node, f"the name {name} is unknown")


def _captured(function: types.FunctionType) -> dict[str, Any]:
    """The values of captured variables and globals."""
    cells = {
        name: cell.cell_contents
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        if cell != types.CellType()
    }
    return {**function.__globals__, **cells}

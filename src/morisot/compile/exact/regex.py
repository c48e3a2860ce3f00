r"""Constant regular expressions, translated to Java's syntax where both engines give the same matches.

Python's parser reads the pattern, and it is written again in Java's syntax, with character classes spelled out. Only
a subset of the language is translated, in which both engines search for the same match in the same order. The rest
runs in Python: flags, look-around, back-references, word boundaries, repetition of anything but a single character
(Java's stack is short), and classes such as \d on text in other scripts than Latin.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

from morisot.compile.exact import texts
from morisot.compile.exact.forms import call, guard, integer, text
from morisot.compile.ir.expressions import Case, Expr, Literal, Raise
from morisot.compile.ir.values import Known, Match, disjunction, pack, when
from morisot.compile.syntax import calls
from morisot.compile.syntax.scope import Scope, refuse
from morisot.compile.syntax.translate import STAGE, expression, operand, value
from morisot.compile.table import rows
from morisot.compile.verdict import Value
from morisot.types.element import INT, STR, List, Optional, Tuple

_ADVICE = "use str methods, or leave it: it runs as Python"


class _Unsure(Exception):  # noqa: N818 - it never leaves this file
    """The two engines may differ here."""


@dataclass
class JavaPattern:
    """A pattern in Java's syntax, and its properties."""

    source: str
    groups: int
    sure: frozenset[int]
    """The groups that take part in every match."""
    latin_only: bool
    """Whether it gives the same matches on Latin text only."""
    shortest: int


_LATIN = "^[\\x00-\\x7fÀ-ÖØ-öø-ÿ]*\\z"
_CLASSES = {
    codes.CATEGORY_DIGIT: [(48, 57)],
    codes.CATEGORY_WORD: [
        (0x41, 0x5A),
        (0x61, 0x7A),
        (0x30, 0x39),
        (0x5F, 0x5F),
        (0xC0, 0xD6),
        (0xD8, 0xF6),
        (0xF8, 0xFF),
    ],
    codes.CATEGORY_SPACE: [(9, 13), (28, 32)],
}
"""The characters of classes, on Latin text."""
_NEGATED = {
    codes.CATEGORY_NOT_DIGIT: codes.CATEGORY_DIGIT,
    codes.CATEGORY_NOT_WORD: codes.CATEGORY_WORD,
    codes.CATEGORY_NOT_SPACE: codes.CATEGORY_SPACE,
}


class _Writer:
    def __init__(self) -> None:
        self.latin_only = False
        self.groups = 0
        self.optional: set[int] = set()

    def sequence(self, items: Any, optional: bool = False) -> str:
        return "".join(self.item(code, argument, optional) for code, argument in items)

    def item(self, code: Any, argument: Any, optional: bool) -> str:
        match code:
            case codes.LITERAL | codes.NOT_LITERAL | codes.IN | codes.ANY:
                return self.single(code, argument)
            case codes.MAX_REPEAT | codes.MIN_REPEAT:
                return self.repeat(code, argument)
            case codes.SUBPATTERN:
                group, added, removed, inner = argument
                if added or removed:
                    raise _Unsure
                if group is None:
                    return f"(?:{self.sequence(inner, optional)})"
                self.groups += 1
                if optional:
                    self.optional.add(group)
                return f"({self.sequence(inner, optional)})"
            case codes.BRANCH:
                return "(?:" + "|".join(self.sequence(branch, True) for branch in argument[1]) + ")"
            case codes.AT if argument in (codes.AT_BEGINNING, codes.AT_BEGINNING_STRING):
                return "\\A"
            case codes.AT if argument is codes.AT_END:
                return "(?=\\n?\\z)"
            case codes.AT if argument is codes.AT_END_STRING:
                return "\\z"
        raise _Unsure

    def repeat(self, code: Any, argument: Any) -> str:
        least, most, inner = argument
        lazy = "?" if code is codes.MIN_REPEAT else ""
        times = _times(least, most)
        if len(inner) == 1 and inner[0][0] in (codes.LITERAL, codes.NOT_LITERAL, codes.IN, codes.ANY):
            return f"{self.single(*inner[0])}{times}{lazy}"
        if (least, most) != (0, 1):
            raise _Unsure
        return f"(?:{self.sequence(inner, True)}){times}{lazy}"

    def single(self, code: Any, argument: Any) -> str:
        match code:
            case codes.LITERAL:
                return _character(argument)
            case codes.NOT_LITERAL:
                return f"[^{_character(argument)}]"
            case codes.ANY:
                return "[^\\n]"
        negative = argument[0][0] is codes.NEGATE
        members = argument[negative:]
        if len(members) == 1 and members[0][1] in _NEGATED:  # a class inside a class is not the same in every Java
            negative, members = not negative, [(codes.CATEGORY, _NEGATED[members[0][1]])]
        ranges = [each for kind, what in members for each in self.member(kind, what)]
        parts = [_range(first, last, alone=len(ranges) == 1) for first, last in ranges]
        return f"[{'^' if negative else ''}{''.join(parts)}]"

    def member(self, kind: Any, what: Any) -> list[tuple[int, int]]:
        """The ranges of characters that a member of a class matches."""
        match kind:
            case codes.LITERAL:
                return [(what, what)]
            case codes.RANGE:
                return [what]
            case codes.CATEGORY if what in _CLASSES:
                self.latin_only = True
                return _CLASSES[what]
        raise _Unsure


def _times(least: int, most: Any) -> str:
    """The quantifier. Java is twice as fast with `*`, `+` or `?` as with the same quantifier in numbers."""
    last = None if most is codes.MAXREPEAT else int(most)
    sign = {(0, None): "*", (1, None): "+", (0, 1): "?"}.get((least, last))
    return sign or (f"{{{least}}}" if last == least else f"{{{least},{'' if last is None else last}}}")


def _range(first: int, last: int, *, alone: bool) -> str:
    """Characters of a class. Java looks single characters up in a table, but tests ranges one by one."""
    if last <= _LAST_IN_TABLE and not alone:
        return "".join(map(_character, range(first, last + 1)))
    return _character(first) if first == last else f"{_character(first)}-{_character(last)}"


_LAST_IN_TABLE = 0xFF


def _character(code: int) -> str:
    if 0xD800 <= code <= 0xDFFF:
        raise _Unsure
    return chr(code) if chr(code).isascii() and chr(code).isalnum() else f"\\x{{{code:x}}}"


def java(pattern: Any) -> JavaPattern | None:
    """A constant pattern, given as text or compiled, in Java's syntax; None where the engines may differ."""
    source, flags = (pattern.pattern, pattern.flags) if isinstance(pattern, re.Pattern) else (pattern, re.UNICODE)
    if type(source) is not str or flags & ~(re.UNICODE | re.DOTALL) or flags & re.DOTALL:
        return None
    try:
        tree = parser.parse(source)
        if tree.state.flags & ~re.UNICODE:
            return None
        writer = _Writer()
        written = writer.sequence(tree)
    except (_Unsure, re.error, RecursionError):
        return None
    sure = frozenset(range(1, writer.groups + 1)) - writer.optional
    return JavaPattern(written, writer.groups, sure, writer.latin_only, int(tree.getwidth()[0]))


# ---- functions and methods


def _searched(node: ast.Call, pattern: Any, name: str, a: Value, scope: Scope) -> Value:
    found = java(pattern)
    if found is None:
        refuse(node, f"the regular expression {_shown(pattern)} may match differently in Java", _ADVICE)
    if a.type != STR:
        refuse(node, f"re.{name} of {a.type} has no column form", STAGE)
    expr = pack(scope.small(a))
    match name:
        case "search" | "match" | "fullmatch":
            before, after = {"search": ("", ""), "match": ("\\A(?:", ")"), "fullmatch": ("\\A(?:", ")\\z")}[name]
            anchored = before + found.source + after
            match = Match(anchored, found.groups, found.sure)
            matches = call("rlike", expr, text(anchored))
            if _is_extracted_at_once(match):
                matches = call("contained", text(_SEPARATOR), scope.small_expr(_all_groups(expr, match), STR))
            searched = when(_sure(found, expr, matches), expr, Literal(None, Optional(STR)))
            return Value(Optional(match), scope.small_expr(searched, Optional(STR)))
        case "findall" if found.groups <= 1 and found.shortest > 0 and len(found.sure) == found.groups:
            every = call("regexp_extract_all", expr, text(found.source), integer(found.groups))
            return Value(List(STR), _sure(found, expr, every))
        case "split" if found.groups == 0 and found.shortest > 0:
            return Value(List(STR), _sure(found, expr, call("split", expr, text(found.source), integer(-1))))
    return refuse(node, f"re.{name} with {_shown(pattern)} has no exact column form", _ADVICE)


def _sure(found: JavaPattern, a: Expr, result: Expr) -> Expr:
    if not found.latin_only:
        return result
    latin = disjunction(texts.is_ascii(a), call("rlike", a, text(_LATIN)))
    return guard(latin, result, "a regular expression on text in another script")


def _shown(pattern: Any) -> str:
    return repr(pattern.pattern if isinstance(pattern, re.Pattern) else pattern)


def _substituted(node: ast.Call, pattern: Any, arguments: list[Value], scope: Scope) -> Value:
    """`re.sub(pattern, replacement, text)`, for patterns that match at least one character."""
    found = java(pattern)
    if len(arguments) != 2 or found is None or found.shortest == 0:
        refuse(node, f"re.sub with {_shown(pattern)} may match differently in Java", _ADVICE)
    known, replacement = rows.constant_of(arguments[0])
    if not known or type(replacement) is not str or "\\" in replacement or arguments[1].type != STR:
        refuse(node, "re.sub with a replacement that is not a constant text without \\ has no column form", _ADVICE)
    a = pack(scope.small(arguments[1]))
    written = replacement.replace("$", "\\$")
    return Value(STR, _sure(found, a, call("regexp_replace", a, text(found.source), text(written))))


_NAMES = ("search", "match", "fullmatch", "findall", "split", "sub")


def _function(name: str) -> Any:
    def rule(node: ast.Call, scope: Scope) -> Value:
        if node.keywords or len(node.args) != (3 if name == "sub" else 2):
            refuse(node, f"re.{name} has no column form with these arguments", _ADVICE)
        known, pattern = _pattern(node.args[0], scope)
        if not known:
            refuse(node, "a regular expression that is not constant has no column form", STAGE)
        arguments = [operand(one, scope) for one in node.args[1:]]
        if name == "sub":
            return _substituted(node, pattern, arguments, scope)
        return _searched(node, pattern, name, arguments[0], scope)

    return rule


def _pattern(node: ast.expr, scope: Scope) -> tuple[bool, Any]:
    found = expression(node, scope)
    if isinstance(found, Known):
        return type(found.object) is re.Pattern, found.object
    return rows.constant_of(found)


for _name in _NAMES:
    calls.UNREAD[getattr(re, _name)] = _function(_name)


def _method(node: ast.Call, pattern: re.Pattern[Any], name: str, scope: Scope) -> Value:
    """`PATTERN.match(text)`."""
    if name not in _NAMES or node.keywords or len(node.args) != (2 if name == "sub" else 1):
        refuse(node, f"the method {name} of a regular expression has no column form", _ADVICE)
    arguments = [operand(one, scope) for one in node.args]
    if name == "sub":
        return _substituted(node, pattern, arguments, scope)
    return _searched(node, pattern, name, arguments[0], scope)


calls.OBJECT_METHODS[re.Pattern] = _method


# ---- matches


_MANY = 3
"""With at least this many groups, one search extracts all of them."""
_SEPARATOR = "\0"


def group(node: ast.AST, owner: Value, index: Value, scope: Scope) -> Value:
    """`found[1]`, `found.group(1)`."""
    assert isinstance(owner.type, Match)
    known, number = rows.constant_of(index)
    if not known or type(number) is not int or not (number == 0 or number in owner.type.sure):
        refuse(node, "a group that may be missing from the match, or that is not constant, has no column form", _ADVICE)
    if number and _is_extracted_at_once(owner.type):
        joined = scope.small_expr(_all_groups(_searched_text(owner, scope), owner.type), STR)
        parts = scope.small_expr(call("split", joined, text(_SEPARATOR), integer(-1)), List(STR))
        return Value(STR, call("get", parts, integer(number - 1)))
    return Value(STR, call("regexp_extract", pack(owner), text(owner.type.pattern), integer(number)))


def _is_extracted_at_once(match: Match) -> bool:
    """Whether one search finds the match, which is at the start of the text, and all its groups."""
    return match.groups >= _MANY and match.pattern.startswith("\\A")


def _searched_text(owner: Value, scope: Scope) -> Expr:
    """The text that was searched. A match is represented by this text."""
    match scope.sharing.written_out(pack(owner)):
        case Case(((_, whole),), Literal(None)):
            return whole
    return pack(owner)


def _all_groups(a: Expr, match: Match) -> Expr:
    """The groups of a match at the start of a text, each followed by a separator. Without a match there is none."""
    written = "".join(f"${index}{_SEPARATOR}" for index in range(1, match.groups + 1))
    replaced = call("regexp_replace", a, text(match.pattern), text(written))
    return when(call("contained", text(_SEPARATOR), a), Raise("a text with the character 0"), replaced)


def _group_method(node: ast.Call, owner: Value, scope: Scope) -> Value:
    if node.keywords or len(node.args) > 1:
        refuse(node, "several groups at once have no column form", "ask for each group")
    index = value(node.args[0], scope) if node.args else Value(INT, integer(0))
    return group(node, owner, index, scope)


def _groups_method(node: ast.Call, owner: Value, scope: Scope) -> Value:
    assert isinstance(owner.type, Match)
    if node.args or node.keywords or not owner.type.groups:
        refuse(node, "groups with a default, or of no groups, have no column form", _ADVICE)
    items = tuple(group(node, owner, Value(INT, integer(index)), scope) for index in range(1, owner.type.groups + 1))
    return Value(Tuple((STR,) * len(items)), items=items)


calls.SPECIAL_METHODS[Match, "group"] = _group_method
calls.SPECIAL_METHODS[Match, "groups"] = _groups_method

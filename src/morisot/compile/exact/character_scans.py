"""Tests of the characters of a text as one pass over the text, without a list of its characters.

`sum(1 for c in text if c in "aeiou")` as a list, a filter and a sum costs more than in Python. Removing the vowels from
the text and comparing lengths costs a tenth.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from morisot.compile.exact.forms import Plain, call, guard, integer, text
from morisot.compile.exact.text_edges import is_plain
from morisot.compile.exact.texts import is_ascii
from morisot.compile.ir.expressions import Call, Case, Each, Expr, Literal, Raise, Variable
from morisot.compile.ir.values import when
from morisot.types.element import STR

_LAST = "\ud7ff"
"""Spark's translate is exact for characters up to this one."""


class Simplified(Plain):
    """A function of a list that can often be computed without the list."""

    def __call__(self, *arguments: Expr) -> Expr:
        return simplified(super().__call__(*arguments))


def simplified(expr: Expr) -> Expr:
    """A function of the characters of a text, computed from the text instead of a list where possible."""
    match expr:
        case Call("sum", (Each("transform", items, _, Literal(1), ""),)):
            return simplified(call("size", items))
        case Call("sum_of_bools", (Each("transform", items, variable, body, ""),)):
            return simplified(call("size", Each("filter", items, variable, body)))
        case Call("size", (Each("filter", items, variable, body, ""),)):
            return _counted(_text_of(items), _condition(body, variable)) or expr
        case Call("size", (items,)) if (whole := _text_of(items)) is not None:
            return call("length", whole)
        case Call("join", (Literal(""), Each("filter", items, variable, body, ""))):
            return _joined(_text_of(items), _condition(body, variable)) or expr
        case Call("join", (Literal(""), items)) if (whole := _text_of(items)) is not None:
            return whole
        case Call(
            "join",
            (Literal(str() as joint), Call("array_remove", (Call("split", (spaced, Literal(" "), _)), Literal("")))),
        ):
            single = _single_spaced(spaced)
            return single if joint == " " else call("replace", single, text(" "), text(joint))
        case Each("exists" | "forall" as function, items, variable, body, ""):
            return _quantified(function, items, variable, body) or expr
    return expr


def of_kind(items: Expr, variable: str, body: Expr) -> Expr | None:
    """The characters of one kind in a text, as a text: `[c for c in text if c.isalnum()]`."""
    whole = _text_of(items)
    match body:
        # see `text_edges.made_of`: characters that Python and Spark classify differently are left to Python
        case Case(((_, Call("rlike", (Variable(name), Literal(str() as pattern)))),), Raise(reason)) if whole:
            kind = _KIND.fullmatch(pattern)
            if kind and name == variable:
                return _without_other_kinds(whole, kind[1], reason)
    return None


def _without_other_kinds(whole: Expr, kind: str, reason: str) -> Expr:
    """The text without characters of other kinds. ASCII texts need no regular expression."""
    searched = re.compile(f"[{kind}]")
    others = "".join(each for each in map(chr, range(128)) if not searched.match(each))
    found = guard(is_plain(whole), call("regexp_replace", whole, text(f"[^{kind}]"), text("")), reason)
    return when(is_ascii(whole), _without(whole, others), found)


def spelled(items: Expr, written_out: Callable[[Expr], Expr]) -> Expr | None:
    """The text that a list of characters, perhaps reversed, was made from. `written_out` resolves shared values."""
    found = written_out(items)
    match found:
        case Call("reverse_list", (inner,)):
            forwards = spelled(inner, written_out)
            return forwards and call("reverse", forwards)
    return _text_of(found)


def _single_spaced(spaced: Expr) -> Expr:
    """`" ".join(text.split())` of a text whose blanks are all spaces: see `texts.text_split_words`."""
    single = call("regexp_replace", spaced, text(" {2,}"), text(" "))
    return call("trim", when(call("contained", text("  "), spaced), single, spaced))


_KIND = re.compile(r"\^\[([^\[\]^]+)\]\+\\z")


_Condition = tuple[str, bool]
"""A condition on a character: some characters, and whether it has to be one of them, or none of them."""


def _text_of(items: Expr) -> Expr | None:
    """The text whose characters the items are: see `text_edges.characters`."""
    match items:
        case Case(((_, Call("no_texts")),), Call("characters", (found,))):
            return found
    return None


def _condition(body: Expr, variable: str) -> _Condition | None:
    """The condition on a character that an expression tests; None if it is another one."""
    match body:
        case Call("not", (inner,)):
            found = _condition(inner, variable)
            return found and (found[0], not found[1])
        case Call("contained", (Variable(name), Literal(str() as some))) if name == variable:
            return _usable(some, True)
        case Call("equal" | "unequal" as how, (Variable(name), Literal(str() as one))) if name == variable:
            return _usable(one if len(one) == 1 else "", how == "equal")
        case Call("in", (Variable(name), *members)) if name == variable:
            texts = [each.value for each in members if isinstance(each, Literal) and each.type == STR]
            return (
                _usable("".join(each for each in texts if len(each) == 1), True) if len(texts) == len(members) else None
            )
        case Call("or", (left, right)):
            first, second = _condition(left, variable), _condition(right, variable)
            if first and second and first[1] and second[1]:
                return first[0] + second[0], True
    return None


def _usable(characters: str, wanted: bool) -> _Condition | None:
    return (characters, wanted) if characters and all(each <= _LAST for each in characters) else None


def _without(whole: Expr, characters: str) -> Expr:
    return call("translate", whole, text("".join(dict.fromkeys(characters))), text(""))


def _counted(whole: Expr | None, asked: _Condition | None) -> Expr | None:
    if whole is None or asked is None:
        return None
    rest = call("length", _without(whole, asked[0]))
    return call("subtract", call("length", whole), rest) if asked[1] else rest


def _joined(whole: Expr | None, asked: _Condition | None) -> Expr | None:
    return None if whole is None or asked is None or asked[1] else _without(whole, asked[0])


def _quantified(function: str, items: Expr, variable: str, body: Expr) -> Expr | None:
    """`any` and `all`: compare the length of the text before and after the characters are removed."""
    whole, asked = _text_of(items), _condition(body, variable)
    if whole is None:
        return None
    if asked is None:
        rest = of_kind(items, variable, body)
        return rest and (call("unequal", rest, text("")) if function == "exists" else call("equal", rest, whole))
    characters, wanted = asked
    length = call("length", _without(whole, characters))
    if wanted == (function == "exists"):  # any in, all not in: whether a character was removed
        return call("unequal" if wanted else "equal", length, call("length", whole))
    return call("equal" if wanted else "unequal", length, integer(0))

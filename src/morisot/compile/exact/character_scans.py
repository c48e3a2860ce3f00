"""Questions about the characters of a text as one pass over it, where a list of its characters is not needed.

`sum(1 for c in text if c in "aeiou")` as a list, a filter and a sum costs more than Python; what is left of the text
once the vowels are gone, and how long that is, costs a tenth.
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
"""Spark's translate is exact for characters up to here, in texts of any characters."""


class Simplified(Plain):
    """A function of a list that may need no list."""

    def __call__(self, *arguments: Expr) -> Expr:
        return simplified(super().__call__(*arguments))


def simplified(expr: Expr) -> Expr:
    """A function of the items of a list, without the list where the text it is made of serves."""
    match expr:
        case Call("sum", (Each("transform", items, _, Literal(1), ""),)):
            return simplified(call("size", items))
        case Call("sum_of_bools", (Each("transform", items, variable, body, ""),)):
            return simplified(call("size", Each("filter", items, variable, body)))
        case Call("size", (Each("filter", items, variable, body, ""),)):
            return _counted(_text_of(items), _asked(body, variable)) or expr
        case Call("size", (items,)) if (whole := _text_of(items)) is not None:
            return call("length", whole)
        case Call("join", (Literal(""), Each("filter", items, variable, body, ""))):
            return _joined(_text_of(items), _asked(body, variable)) or expr
        case Call("join", (Literal(""), items)) if (whole := _text_of(items)) is not None:
            return whole
        case Call(
            "join",
            (Literal(str() as mark), Call("array_remove", (Call("split", (spaced, Literal(" "), _)), Literal("")))),
        ):
            single = _single_spaced(spaced)
            return single if mark == " " else call("replace", single, text(" "), text(mark))
        case Each("exists" | "forall" as function, items, variable, body, ""):
            return _quantified(function, items, variable, body) or expr
    return expr


def kept(items: Expr, variable: str, body: Expr) -> Expr | None:
    """What is left of a text if only its characters of one kind are kept: `[c for c in text if c.isalnum()]`."""
    whole = _text_of(items)
    match body:
        # see `affixes.made_of`: of characters that Python and Spark may know differently, the kind is not asked
        case Case(((_, Call("rlike", (Variable(name), Literal(str() as pattern)))),), Raise(reason)) if whole:
            kind = _KIND.fullmatch(pattern)
            if kind and name == variable:
                return _left_of(whole, kind[1], reason)
    return None


def _left_of(whole: Expr, kind: str, reason: str) -> Expr:
    """What is left of a text if its other characters go: those of ASCII need no regular expression."""
    searched = re.compile(f"[{kind}]")
    others = "".join(each for each in map(chr, range(128)) if not searched.match(each))
    found = guard(is_plain(whole), call("regexp_replace", whole, text(f"[^{kind}]"), text("")), reason)
    return when(is_ascii(whole), _without(whole, others), found)


def spelled(items: Expr, written_out: Callable[[Expr], Expr]) -> Expr | None:
    """The text that a list of characters spells, also backwards; `written_out` knows what shared values stand for."""
    found = written_out(items)
    match found:
        case Call("reverse_list", (inner,)):
            forwards = spelled(inner, written_out)
            return forwards and call("reverse", forwards)
    return _text_of(found)


def _single_spaced(spaced: Expr) -> Expr:
    """`" ".join(text.split())`, of a text whose blanks are all spaces: see `texts.text_split_words`."""
    single = call("regexp_replace", spaced, text(" {2,}"), text(" "))
    return call("trim", when(call("contained", text("  "), spaced), single, spaced))


_KIND = re.compile(r"\^\[([^\[\]^]+)\]\+\\z")


_Asked = tuple[str, bool]
"""Characters, and whether a character is asked to be one of them, or none of them."""


def _text_of(items: Expr) -> Expr | None:
    """The text whose characters the items are: see `affixes.characters`."""
    match items:
        case Case(((_, Call("no_texts")),), Call("characters", (found,))):
            return found
    return None


def _asked(body: Expr, variable: str) -> _Asked | None:
    """What a condition asks of a character, if it is whether that is one of some."""
    match body:
        case Call("not", (inner,)):
            found = _asked(inner, variable)
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
            first, second = _asked(left, variable), _asked(right, variable)
            if first and second and first[1] and second[1]:
                return first[0] + second[0], True
    return None


def _usable(characters: str, wanted: bool) -> _Asked | None:
    return (characters, wanted) if characters and all(each <= _LAST for each in characters) else None


def _without(whole: Expr, characters: str) -> Expr:
    return call("translate", whole, text("".join(dict.fromkeys(characters))), text(""))


def _counted(whole: Expr | None, asked: _Asked | None) -> Expr | None:
    if whole is None or asked is None:
        return None
    rest = call("length", _without(whole, asked[0]))
    return call("subtract", call("length", whole), rest) if asked[1] else rest


def _joined(whole: Expr | None, asked: _Asked | None) -> Expr | None:
    return None if whole is None or asked is None or asked[1] else _without(whole, asked[0])


def _quantified(function: str, items: Expr, variable: str, body: Expr) -> Expr | None:
    """`any` and `all`: whether something goes, or something stays, once the characters are gone."""
    whole, asked = _text_of(items), _asked(body, variable)
    if whole is None:
        return None
    if asked is None:
        rest = kept(items, variable, body)
        return rest and (call("unequal", rest, text("")) if function == "exists" else call("equal", rest, whole))
    characters, wanted = asked
    length = call("length", _without(whole, characters))
    if wanted == (function == "exists"):  # any in, all not in: whether something goes
        return call("unequal" if wanted else "equal", length, call("length", whole))
    return call("equal" if wanted else "unequal", length, integer(0))

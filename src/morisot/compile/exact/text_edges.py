"""Exact forms of str methods that test the characters of a text, pad it, or remove a part of it."""

from __future__ import annotations

from morisot.compile.exact.characters import WHITESPACE
from morisot.compile.exact.forms import Form, call, checked, guard, integer, text
from morisot.compile.exact.texts import is_ascii, text_split
from morisot.compile.ir.expressions import Expr
from morisot.compile.ir.values import conjunction, disjunction, negate, when

LONGEST = 1000
"""The most characters that a text is padded to. Longer ones are left to Python."""


def _spelled(*ranges: str) -> str:
    """Every character of some ranges. Java looks single characters up in a table, but tests ranges one by one."""
    return "".join(chr(code) for ends in ranges for code in range(ord(ends[0]), ord(ends[1]) + 1))


LOWER, UPPER = _spelled("az", "àö", "øÿ"), _spelled("AZ", "ÀÖ", "ØÞ")
"""The letters of western Europe without ß, whose upper case has two letters."""


_PLAIN = f"^[\\x00-\\x7f{LOWER}{UPPER}]*\\z"


def is_plain(a: Expr) -> Expr:
    """Whether a text has only ASCII, LOWER and UPPER: characters of one kind and case in every version of Unicode."""
    return disjunction(is_ascii(a), call("rlike", a, text(_PLAIN)))


def made_of(pattern: str, without: str = "") -> Form:
    """`s.isdigit()` and the like. In other scripts the kind of a character differs between versions of Unicode."""

    def form(a: Expr) -> Expr:
        found: Expr = call("rlike", a, text(pattern))
        if without:
            found = conjunction(found, negate(call("rlike", a, text(without))))
        return guard(is_plain(a), found, "the kind of such a character")

    return form


def is_space(a: Expr) -> Expr:
    return conjunction(call("unequal", a, text("")), call("equal", call("trim_of", a, text(WHITESPACE)), text("")))


def count(a: Expr, part: str) -> Expr:
    """Computed from the length that remains once every occurrence is removed, from left to right, as in Python."""
    gone = call("subtract", call("length", a), call("length", call("replace", a, text(part), text(""))))
    return gone if len(part) == 1 else call("div", gone, integer(len(part)))


def count_varying(a: Expr, part: Expr) -> Expr:
    gone = call("subtract", call("length", a), call("length", call("replace", a, part, text(""))))
    some = call("unequal", part, text(""))
    return guard(some, checked("div", gone, call("length", part)), "the number of empty texts in a text")


def replace_varying(a: Expr, old: Expr, new: Expr) -> Expr:
    return guard(call("unequal", old, text("")), call("replace", a, old, new), "an empty text is replaced")


def partition(a: Expr, separator: str, *, last: bool) -> tuple[Expr, Expr, Expr]:
    """`s.partition(sep)` or `s.rpartition(sep)`. Spark has functions for the first and the last part."""
    there = call("contained", text(separator), a)
    found = when(there, text(separator), text(""))
    if last:
        after = call("substring_index", a, text(separator), integer(-1))
        before = call("subtract", call("subtract", call("length", a), call("length", after)), integer(len(separator)))
        return when(there, call("substring", a, integer(1), before), text("")), found, after
    before = call("substring_index", a, text(separator), integer(1))
    start = call("add", call("length", before), integer(len(separator) + 1))
    return before, found, when(there, call("substring", a, start, call("length", a)), text(""))


def split_last(a: Expr, separator: str, limit: int) -> Expr:
    """`s.rsplit(sep, 1)`; without a limit it is `s.split(sep)`."""
    if limit < 0:
        return text_split(a, separator)
    before, _, after = partition(a, separator, last=True)
    return when(call("contained", text(separator), a), call("array", before, after), call("array", a))


def lines(a: Expr) -> Expr:
    """`s.splitlines()` of texts whose lines end in a newline only."""
    plain = negate(call("rlike", a, text("[\\r\\x0b\\f\\x1c-\\x1e\\x85\\u2028\\u2029]")))
    without_last = call("substring", a, integer(1), call("subtract", call("length", a), integer(1)))
    ended = when(call("endswith", a, text("\n")), without_last, a)
    split = when(call("equal", a, text("")), call("no_texts"), text_split(ended, "\n"))
    return guard(plain, split, "a line that ends in another way")


def find_last(a: Expr, part: str) -> Expr:
    after = call("length", call("substring_index", a, text(part), integer(-1)))
    position = call("subtract", call("subtract", call("length", a), after), integer(len(part)))
    return when(call("contained", text(part), a), position, integer(-1))


def index_last(a: Expr, part: str) -> Expr:
    return guard(call("contained", text(part), a), find_last(a, part), "substring not found")


def find_from(a: Expr, part: str, start: Expr) -> Expr:
    """`s.find(part, start)`: a negative start counts from the end."""
    from_end = call("greatest", call("add", call("length", a), start), integer(0))
    begin = when(call("less", start, integer(0)), from_end, start)
    return call("locate", text(part), a, call("add", begin, integer(1)))


def index_from(a: Expr, part: str, start: Expr) -> Expr:
    found = find_from(a, part, start)
    return guard(call("greater_equal", found, integer(0)), found, "substring not found")


def translated(a: Expr, table: dict[int, int | str | None]) -> Expr | None:
    """`s.translate(table)`, where characters are replaced by one or removed; None where one is replaced by several."""
    pairs = {chr(key): chr(to) if isinstance(to, int) else to or "" for key, to in table.items()}
    beyond = any(ord(character) > 0xD7FF for character in "".join((*pairs, *pairs.values())))
    if beyond or any(len(to) > 1 for to in pairs.values()):
        return None
    ordered = sorted(pairs, key=lambda key: not pairs[key])  # characters to remove come last: they have no counterpart
    return call("translate", a, text("".join(ordered)), text("".join(pairs[key] for key in ordered))) if pairs else a


def index(a: Expr, part: Expr) -> Expr:
    found = call("find", a, part)
    return guard(call("greater_equal", found, integer(0)), found, "substring not found")


def capitalize(a: Expr) -> Expr:
    first, rest = call("substring", a, integer(1), integer(1)), call("substring_from", a, integer(2))
    return guard(is_plain(a), call("concat", call("upper", first), call("lower", rest)), "the capitals of such a text")


_BLANK = "\x01 "
_ASCII = _spelled("AZ", "az")


def title(a: Expr) -> Expr:
    """Letters after any non-letter are capitals, as in "O'Neil". `initcap` splits at blanks, so these are inserted."""
    simple = negate(call("rlike", a, text(f"[^{_ASCII} ]")))
    separated = call("regexp_replace", a, text(f"[^{LOWER}{UPPER}]"), text(f"$0{_BLANK}"))
    shown = call("replace", call("initcap", separated), text(_BLANK), text(""))
    unmarked = negate(call("contained", text("\x01"), a))
    return when(
        simple, call("initcap", a), guard(conjunction(is_plain(a), unmarked), shown, "the title of such a text")
    )


def casefold(a: Expr) -> Expr:
    return guard(is_plain(a), call("lower", a), "the case of such a text")


def padded(function: str) -> Form:
    """`lpad` and `rpad` truncate a longer text; Python does not."""

    def form(a: Expr, width: int, fill: str = " ") -> Expr:
        longer = call("less", call("length", a), integer(width))
        return when(longer, call(function, a, integer(width), text(fill)), a)

    return form


def center(a: Expr, width: int, fill: str = " ") -> Expr:
    """An odd padding character goes to the left if the width is odd, else to the right, as in str.center."""
    length = call("length", a)
    missing = call("subtract", integer(width), length)
    left = call("shift_right", missing, integer(1))
    if width % 2:
        left = call("add", left, call("bit_and", missing, integer(1)))
    widened = call("lpad", a, call("add", length, left), text(fill))
    return when(call("less", length, integer(width)), call("rpad", widened, integer(width), text(fill)), a)


def zero_filled(a: Expr, width: int) -> Expr:
    """Zeros go between the sign and the digits."""
    sign, rest = call("substring", a, integer(1), integer(1)), call("substring_from", a, integer(2))
    signed = call("concat", sign, call("lpad", rest, integer(width - 1), text("0")))
    filled = when(call("in", sign, text("+"), text("-")), signed, call("lpad", a, integer(width), text("0")))
    return when(call("less", call("length", a), integer(width)), filled, a)


def without_prefix(a: Expr, prefix: Expr) -> Expr:
    start = call("add", call("length", prefix), integer(1))
    rest = call("substring", a, start, call("length", a))
    return when(call("startswith", a, prefix), rest, a)


def without_suffix(a: Expr, suffix: Expr) -> Expr:
    length = call("subtract", call("length", a), call("length", suffix))
    return when(call("endswith", a, suffix), call("substring", a, integer(1), length), a)


def code_point(a: Expr) -> Expr:
    """`ord(c)`. Spark takes the first of several characters, where Python raises."""
    return guard(call("equal", call("length", a), integer(1)), call("code_point", a), "ord() of no single character")


def character(a: Expr) -> Expr:
    """`chr(n)`. Spark's function takes n modulo 256."""
    return guard(call("between", a, integer(0), integer(127)), call("character", a), "a character beyond ASCII")


def characters(a: Expr) -> Expr:
    """`list(s)`. The empty text is a case of its own, because Spark's sequence from 1 to 0 counts down."""
    return when(call("equal", a, text("")), call("no_texts"), call("characters", a))

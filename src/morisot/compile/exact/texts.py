"""Exact forms of what Python does with str, and of indexing and slicing, which lists share."""

from __future__ import annotations

from morisot.compile.exact.characters import BEYOND_LATIN, CASED_DIFFERENTLY, WHITESPACE
from morisot.compile.exact.forms import Form, call, checked, guard, integer, number, text
from morisot.compile.ir.expressions import Call, Case, Expr, Literal, Raise
from morisot.compile.ir.values import FALSE, conjunction, disjunction, negate, when
from morisot.types.element import FLOAT

_FAR = 2**31 - 2
"""No text and no list has a place beyond this: Spark counts places in 32 bits."""


def is_ascii(a: Expr) -> Expr:
    return call("equal", call("octet_length", a), call("length", a))


def text_case(function: str) -> Form:
    """`s.lower()`, `s.upper()`: the same tables but for few characters, which need not be looked for in ASCII."""

    def form(a: Expr) -> Expr:
        beyond = conjunction(negate(is_ascii(a)), call("rlike", a, text(BEYOND_LATIN)))
        differs = conjunction(beyond, call("rlike", a, text(CASED_DIFFERENTLY)))
        return when(differs, Raise("a character younger than Python's Unicode"), call(function, a))

    return form


def text_repeat(a: Expr, times: Expr) -> Expr:
    return guard(call("less_equal", times, integer(1_000_000)), call("repeat", a, times), "a very long text")


TRIMS = {"strip": "trim", "lstrip": "trim_left", "rstrip": "trim_right"}
"""Spark's functions that cut spaces off, and nothing else; with other characters they take several times as long."""


def text_strip(name: str, a: Expr, characters: str) -> Expr:
    return call(f"{TRIMS[name]}_of", a, text(characters)) if characters else a


def text_stripped(name: str) -> Form:
    return lambda a: text_strip(name, a, WHITESPACE)


def is_bare(name: str, a: Expr) -> Expr:
    """Whether a text begins and ends, where `name` cuts, with a character of ASCII that is seen."""
    begins = _lies(a, "!", "\x7f")
    ends = _ends_between(a, "!", "~")
    return {"strip": conjunction(begins, ends), "lstrip": begins, "rstrip": ends}[name]


def text_starts(name: str) -> Form:
    def form(a: Expr, affix: str | tuple[str, ...]) -> Expr:
        found: Expr = FALSE
        for one in (affix,) if isinstance(affix, str) else affix:
            found = disjunction(found, call(name, a, text(one)))
        return found

    return form


def text_split_words(a: Expr) -> Expr:
    r"""`s.split()`: every whitespace to a space, split at spaces, drop what is empty.

    Java splits at a single character without a regular expression, which Spark would compile anew for each row. So
    lower().split() on ASCII text takes 0.87 of the CPU of `split(lower(s), '\\s+')`, which is not even exact; the
    exact regular expression, [29 characters]+ between trimmed ends, takes 4.5 of it.
    """
    unusual = call("rlike", a, text("[^ -~]"))
    spaced = when(unusual, call("translate", a, text(WHITESPACE), text(" " * len(WHITESPACE))), a)
    return call("array_remove", call("split", spaced, text(" "), integer(-1)), text(""))


def text_split(a: Expr, separator: str, limit: int = -1) -> Expr:
    """`s.split(sep)`: Java splits by a regular expression, but knows a single character when it sees one."""
    return call("split", a, text(quoted(separator)), integer(limit + 1 if limit >= 0 else -1))


def split_end(a: Expr, place: float | None) -> Expr | None:
    """`s.split(sep)[0]`, and `[-1]`: what is before the first, or after the last, without the list."""
    match a:
        case Call("split", (whole, Literal(str() as pattern), Literal(limit))) if limit != 1:
            separator = pattern[-1]
            if quoted(separator) == pattern and (place == 0 or (place == -1 and limit == -1)):
                return call("substring_index", whole, text(separator), integer(1 if place == 0 else -1))
    return None


def quoted(separator: str) -> str:
    r"""The regular expression that matches just this text.

    >>> quoted("|"), quoted(","), quoted("--")
    ('\\|', ',', '\\Q--\\E')
    """
    if len(separator) == 1:
        return "\\" + separator if separator in ".$|()[{^?*+\\" else separator
    return "\\Q" + separator.replace("\\E", "\\E\\\\E\\Q") + "\\E"


def text_index(a: Expr, index: Expr) -> Expr:
    place = number(index)
    if place is not None and abs(place) > _FAR:
        return Raise("string index out of range")
    if place is not None and place >= 0:
        inside: Expr = call("greater", call("length", a), index)
        start: Expr = integer(int(place) + 1)
    else:
        normal, inside = _normalised(index, call("length", a))
        start = call("add", normal, integer(1))
    return guard(inside, call("substring", a, start, integer(1)), "string index out of range")


def list_index(a: Expr, index: Expr) -> Expr:
    """`element_at` counts from one and takes a missing place for NULL."""
    size = call("size", a)
    place = number(index)
    if place is not None and abs(place) > _FAR:
        # A failure alone has no type, and Spark takes a field of it for NULL without looking.
        return Case(((FALSE, call("get", a, integer(0))),), Raise("list index out of range"))
    if place is not None and place >= 0:
        return guard(call("greater", size, index), call("get", a, index), "list index out of range")
    normal, inside = _normalised(index, size)
    return guard(inside, call("get", a, normal), "list index out of range")


def is_inside(index: Expr, length: Expr) -> Expr:
    """Whether there is an item at a place, counted from the start or, if negative, from the end."""
    return conjunction(call("greater_equal", index, call("negative", length)), call("less", index, length))


def _normalised(index: Expr, length: Expr) -> tuple[Expr, Expr]:
    """A place counted from the start, and the condition that it lies inside."""
    return when(call("less", index, integer(0)), call("add", index, length), index), is_inside(index, length)


def text_slice(a: Expr, start: Expr | None, stop: Expr | None) -> Expr:
    start, stop = (bound if bound is None else _near(bound) for bound in (start, stop))
    first = 0 if start is None else number(start)
    last = None if stop is None else number(stop)
    if first is not None and first >= 0 and stop is None:
        return call("substring_from", a, integer(int(first) + 1))
    if first is not None and first >= 0 and last is not None and last >= 0:
        return call("substring", a, integer(int(first) + 1), integer(max(int(last - first), 0)))
    begin, count = _slice_bounds(call("length", a), start, stop)
    return call("substring", a, begin, count)


def _near(bound: Expr) -> Expr:
    """A constant bound, but not beyond the longest text."""
    place = number(bound)
    return bound if place is None else integer(max(-_FAR, min(_FAR, int(place))))


def list_slice(a: Expr, start: Expr | None, stop: Expr | None) -> Expr:
    start, stop = (bound if bound is None else _near(bound) for bound in (start, stop))
    begin, count = _slice_bounds(call("size", a), start, stop)
    return call("slice", a, begin, count)


def _slice_bounds(length: Expr, start: Expr | None, stop: Expr | None) -> tuple[Expr, Expr]:
    """The first place, from one, and the number of items: PySlice_AdjustIndices."""
    begin = integer(0) if start is None else _clamped(start, length)
    end = length if stop is None else _clamped(stop, length)
    return call("add", begin, integer(1)), call("greatest", call("subtract", end, begin), integer(0))


def _clamped(index: Expr, length: Expr) -> Expr:
    place = number(index)
    from_end = call("greatest", call("add", length, index), integer(0))
    from_start = call("least", index, length)
    if place is not None:
        return from_end if place < 0 else from_start
    return when(call("less", index, integer(0)), from_end, from_start)


_SPACES = "[ \\t\\n\\r\\x0b\\f]*"


def _ends_between(a: Expr, low: str, high: str) -> Expr:
    """Whether the last character of a text is one of some neighbours."""
    return call("between", call("substring", a, integer(-1), integer(1)), text(low), text(high))


def _lies(a: Expr, low: str, high: str) -> Expr:
    """Whether a text sorts from `low` on and before `high`: a test of its first characters that cuts nothing out."""
    return call("and", call("greater_equal", a, text(low)), call("less", a, text(high)))


def text_to_int(a: Expr) -> Expr:
    """A cast accepts a NUL in front, which int() does not, and not '1_000', which int() does.

    From a text that begins with a sign or digit (or , . /, which always fail) and ends in a digit a cast trims nothing:
    it takes [+-]?[0-9]+ and fails on the rest. That costs 70 ns above a plain cast, where the regular expression, which
    is left to texts with spaces around the number, costs 260.
    """
    quick = call("and", _lies(a, "+", ":"), _ends_between(a, "0", "9"))
    plain = call("rlike", a, text(f"^{_SPACES}[+-]?[0-9]+{_SPACES}\\z"))
    slow = guard(plain, checked("bigint", call("trim_of", a, text(" \t\n\r\x0b\f"))), "a text that is not a plain int")
    return when(quick, checked("bigint", a), slow)


def text_to_int_of_base(a: Expr, base: int) -> Expr:
    """`int(text, 16)`: digits only, and so few that 64 bits hold them."""
    digits, most = {2: ("[01]", 62), 8: ("[0-7]", 20), 16: ("[0-9a-fA-F]", 15)}[base]
    plain = call("rlike", a, text(f"^{digits}{{1,{most}}}\\z"))
    return guard(plain, checked("bigint", call("conv", a, integer(base))), "a text that is not a plain number")


def text_to_float(a: Expr) -> Expr:
    """A cast accepts '1d' and '0x1p3', which float() does not; a text like those is not quick."""
    number = "[+-]?([0-9]+\\.?[0-9]*|\\.[0-9]+)([eE][+-]?[0-9]+)?"
    plain = call("rlike", a, text(f"^{_SPACES}{number}{_SPACES}\\z"))
    slow = guard(
        plain, checked("double", call("trim_of", a, text(" \t\n\r\x0b\f"))), "a text that is not a plain float"
    )
    hexadecimal = call("or", _lies(a, "0A", "0z"), _lies(a, "-0A", "-0z"))
    quick = call("and", call("and", _lies(a, "-", ":"), negate(hexadecimal)), _ends_between(a, "0", "9"))
    return when(quick, checked("double", a), slow)


def list_sum(a: Expr) -> Expr:
    """The sum of floats, from left to right; of none it is the int 0."""
    total = call("fold_sum", a, Literal(0.0, FLOAT))
    return guard(call("greater", call("size", a), integer(0)), total, "the sum of an empty list")


def list_extreme(function: str) -> Form:
    """Of an empty list Spark's greatest item is NULL."""

    def form(a: Expr) -> Expr:
        return guard(call("greater", call("size", a), integer(0)), call(function, a), "the extreme of an empty list")

    return form

"""Exact forms of operations on str, and of indexing and slicing of texts and lists."""

from __future__ import annotations

import sys

from morisot.compile.exact.characters import BEYOND_LATIN, CASED_DIFFERENTLY, WHITESPACE
from morisot.compile.exact.forms import Form, call, checked, guard, integer, number, text
from morisot.compile.ir.expressions import Call, Case, Expr, Literal, Raise
from morisot.compile.ir.values import FALSE, conjunction, disjunction, negate, when
from morisot.types.element import FLOAT

_FAR = 2**31 - 2
"""Beyond every index of a text or a list: Spark's indexes have 32 bits."""


def is_ascii(a: Expr) -> Expr:
    return call("equal", call("octet_length", a), call("length", a))


def text_case(function: str) -> Form:
    """`s.lower()`, `s.upper()`. Python and Spark differ on a few characters only, none of them in ASCII."""

    def form(a: Expr) -> Expr:
        beyond = conjunction(negate(is_ascii(a)), call("rlike", a, text(BEYOND_LATIN)))
        differs = conjunction(beyond, call("rlike", a, text(CASED_DIFFERENTLY)))
        return when(differs, Raise("a character younger than Python's Unicode"), call(function, a))

    return form


def text_repeat(a: Expr, times: Expr) -> Expr:
    return guard(call("less_equal", times, integer(1_000_000)), call("repeat", a, times), "a very long text")


TRIMS = {"strip": "trim", "lstrip": "trim_left", "rstrip": "trim_right"}
"""Spark's functions that remove spaces only. Variants for other characters take several times as long."""


def text_strip(name: str, a: Expr, characters: str) -> Expr:
    return call(f"{TRIMS[name]}_of", a, text(characters)) if characters else a


def text_stripped(name: str) -> Form:
    return lambda a: text_strip(name, a, WHITESPACE)


def is_bare(name: str, a: Expr) -> Expr:
    """Whether a text begins and ends, on the sides that `name` strips, with a visible ASCII character."""
    begins = _sorts_between(a, "!", "\x7f")
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
    r"""`s.split()`: replace all whitespace by spaces, split at spaces, drop empty texts.

    Java splits at a single character without a regular expression, which Spark would compile for each row. So
    lower().split() on ASCII text takes 0.87 of the CPU of `split(lower(s), '\\s+')`, which is not even exact; the
    exact regular expression, [29 characters]+ between trimmed ends, takes 4.5 of it.
    """
    unusual = call("rlike", a, text("[^ -~]"))
    spaced = when(unusual, call("translate", a, text(WHITESPACE), text(" " * len(WHITESPACE))), a)
    return call("array_remove", call("split", spaced, text(" "), integer(-1)), text(""))


def text_split(a: Expr, separator: str, limit: int = -1) -> Expr:
    """`s.split(sep)`. Java splits by a regular expression, but has a fast path for a single character."""
    return call("split", a, text(quoted(separator)), integer(limit + 1 if limit >= 0 else -1))


def split_end(a: Expr, index: float | None) -> Expr | None:
    """`s.split(sep)[0]` and `[-1]`: the text before the first separator, or after the last, without a list."""
    match a:
        case Call("split", (whole, Literal(str() as pattern), Literal(limit))) if limit != 1:
            separator = pattern[-1]
            if quoted(separator) == pattern and (index == 0 or (index == -1 and limit == -1)):
                return call("substring_index", whole, text(separator), integer(1 if index == 0 else -1))
    return None


def quoted(separator: str) -> str:
    r"""The regular expression that matches exactly this text.

    >>> quoted("|"), quoted(","), quoted("--")
    ('\\|', ',', '\\Q--\\E')
    """
    if len(separator) == 1:
        return "\\" + separator if separator in ".$|()[{^?*+\\" else separator
    return "\\Q" + separator.replace("\\E", "\\E\\\\E\\Q") + "\\E"


def text_index(a: Expr, index: Expr) -> Expr:
    constant = number(index)
    if constant is not None and abs(constant) > _FAR:
        return Raise("string index out of range")
    if constant is not None and constant >= 0:
        inside: Expr = call("greater", call("length", a), index)
        start: Expr = integer(int(constant) + 1)
    else:
        normal, inside = _normalised(index, call("length", a))
        start = call("add", normal, integer(1))
    return guard(inside, call("substring", a, start, integer(1)), "string index out of range")


def list_index(a: Expr, index: Expr) -> Expr:
    """`element_at` counts from one, and gives NULL for an index out of range."""
    size = call("size", a)
    constant = number(index)
    if constant is not None and abs(constant) > _FAR:
        # A bare failure has no type, and Spark replaces a field of it by NULL without evaluating it.
        return Case(((FALSE, call("get", a, integer(0))),), Raise("list index out of range"))
    if constant is not None and constant >= 0:
        return guard(call("greater", size, index), call("get", a, index), "list index out of range")
    normal, inside = _normalised(index, size)
    return guard(inside, call("get", a, normal), "list index out of range")


def is_inside(index: Expr, length: Expr) -> Expr:
    """Whether an index is in range. A negative index counts from the end."""
    return conjunction(call("greater_equal", index, call("negative", length)), call("less", index, length))


def _normalised(index: Expr, length: Expr) -> tuple[Expr, Expr]:
    """The index counted from the start, and the condition that it is in range."""
    return when(call("less", index, integer(0)), call("add", index, length), index), is_inside(index, length)


def text_slice(a: Expr, start: Expr | None, stop: Expr | None) -> Expr:
    start, stop = (bound if bound is None else _clamped_constant(bound) for bound in (start, stop))
    first = 0 if start is None else number(start)
    last = None if stop is None else number(stop)
    if first is not None and first >= 0 and stop is None:
        return call("substring_from", a, integer(int(first) + 1))
    if first is not None and first >= 0 and last is not None and last >= 0:
        return call("substring", a, integer(int(first) + 1), integer(max(int(last - first), 0)))
    begin, count = _slice_bounds(call("length", a), start, stop)
    return call("substring", a, begin, count)


def _clamped_constant(bound: Expr) -> Expr:
    """A constant bound, clamped to the length of the longest text."""
    constant = number(bound)
    return bound if constant is None else integer(max(-_FAR, min(_FAR, int(constant))))


def list_slice(a: Expr, start: Expr | None, stop: Expr | None) -> Expr:
    start, stop = (bound if bound is None else _clamped_constant(bound) for bound in (start, stop))
    begin, count = _slice_bounds(call("size", a), start, stop)
    return call("slice", a, begin, count)


def _slice_bounds(length: Expr, start: Expr | None, stop: Expr | None) -> tuple[Expr, Expr]:
    """The first index, from one, and the number of items, as in CPython's PySlice_AdjustIndices."""
    begin = integer(0) if start is None else _clamped(start, length)
    end = length if stop is None else _clamped(stop, length)
    return call("add", begin, integer(1)), call("greatest", call("subtract", end, begin), integer(0))


def _clamped(index: Expr, length: Expr) -> Expr:
    constant = number(index)
    from_end = call("greatest", call("add", length, index), integer(0))
    from_start = call("least", index, length)
    if constant is not None:
        return from_end if constant < 0 else from_start
    return when(call("less", index, integer(0)), from_end, from_start)


_SPACES = "[ \\t\\n\\r\\x0b\\f]*"


def _ends_between(a: Expr, low: str, high: str) -> Expr:
    """Whether the last character of a text is in a range."""
    return call("between", call("substring", a, integer(-1), integer(1)), text(low), text(high))


def _sorts_between(a: Expr, low: str, high: str) -> Expr:
    """Whether `low` <= text < `high`: a test of its first characters without a substring."""
    return call("and", call("greater_equal", a, text(low)), call("less", a, text(high)))


def text_to_int(a: Expr) -> Expr:
    """`int(text)`. A cast accepts a leading NUL, which int() does not, and not '1_000', which int() does.

    A cast trims nothing from a text that begins with a sign or digit (or , . /, which always fail) and ends in a digit:
    it accepts [+-]?[0-9]+ and fails on other texts. This test costs 70 ns more than a plain cast. The regular
    expression costs 260 ns, and is used only for texts with spaces around the number.
    """
    quick = call("and", _sorts_between(a, "+", ":"), _ends_between(a, "0", "9"))
    plain = call("rlike", a, text(f"^{_SPACES}[+-]?[0-9]+{_SPACES}\\z"))
    slow = guard(plain, checked("bigint", call("trim_of", a, text(" \t\n\r\x0b\f"))), "a text that is not a plain int")
    return when(quick, checked("bigint", a), slow)


def text_to_int_of_base(a: Expr, base: int) -> Expr:
    """`int(text, 16)`: only texts of digits that fit into 64 bits."""
    digits, most = {2: ("[01]", 62), 8: ("[0-7]", 20), 16: ("[0-9a-fA-F]", 15)}[base]
    plain = call("rlike", a, text(f"^{digits}{{1,{most}}}\\z"))
    return guard(plain, checked("bigint", call("conv", a, integer(base))), "a text that is not a plain number")


def text_to_float(a: Expr) -> Expr:
    """`float(text)`. A cast accepts '1d' and '0x1p3', which float() does not: such texts are tested separately."""
    number = "[+-]?([0-9]+\\.?[0-9]*|\\.[0-9]+)([eE][+-]?[0-9]+)?"
    plain = call("rlike", a, text(f"^{_SPACES}{number}{_SPACES}\\z"))
    slow = guard(
        plain, checked("double", call("trim_of", a, text(" \t\n\r\x0b\f"))), "a text that is not a plain float"
    )
    hexadecimal = call("or", _sorts_between(a, "0A", "0z"), _sorts_between(a, "-0A", "-0z"))
    quick = call("and", call("and", _sorts_between(a, "-", ":"), negate(hexadecimal)), _ends_between(a, "0", "9"))
    return when(quick, checked("double", a), slow)


SUM_OF_FLOATS = "fold_sum" if sys.version_info < (3, 12) else "compensated_sum"
"""How sum() adds floats: from left to right. From Python 3.12 on it compensates for rounding errors."""


def list_sum(a: Expr) -> Expr:
    """The sum of floats. An empty sum is the int 0, so it is left to Python."""
    total = call(SUM_OF_FLOATS, a, Literal(0.0, FLOAT))
    return guard(call("greater", call("size", a), integer(0)), total, "the sum of an empty list")


def list_extreme(function: str) -> Form:
    """`min` and `max` of a list. Spark gives NULL for an empty list, where Python raises."""

    def form(a: Expr) -> Expr:
        return guard(call("greater", call("size", a), integer(0)), call(function, a), "the extreme of an empty list")

    return form

"""The table of methods and attributes, by the type of their owner."""

from __future__ import annotations

from typing import Any

from morisot.compile.exact import arithmetic, dates, texts
from morisot.compile.exact import text_edges as affixes
from morisot.compile.exact.character_scans import Simplified
from morisot.compile.exact.forms import Form, Plain, call, text
from morisot.compile.ir.values import DELTA
from morisot.compile.table.rows import Constant, Row
from morisot.types.element import BOOL, BYTES, DATE, DATETIME, FLOAT, INT, STR, List, Type


def _are_texts(affixes: tuple[Any, ...]) -> bool:
    return all(type(affix) is str for affix in affixes)


def _is_utf8(name: str) -> bool:
    return name.lower() in ("utf-8", "utf8")


def _has_pattern(directives: str) -> bool:
    return dates.directives_of(directives) is not None


_WIDTH = Constant(int, lambda width: 0 <= width <= affixes.LONGEST)
_AT_MOST_ONCE = Constant(int, lambda limit: limit <= 1 and limit != 0)
_PADDING: dict[str, Form] = {
    "ljust": affixes.padded("rpad"),
    "rjust": affixes.padded("lpad"),
    "center": affixes.center,
}
_WEEKDAYS: dict[str, Form] = {"weekday": Plain("weekday"), "isoweekday": dates.iso_weekday}
_FILL = Constant(str, lambda fill: len(fill) == 1)

METHODS: dict[tuple[Type, str], tuple[Row, ...]] = {
    (STR, "lower"): (Row((STR,), STR, texts.text_case("lower")),),
    (STR, "upper"): (Row((STR,), STR, texts.text_case("upper")),),
    **{(STR, name): (Row((STR,), STR, texts.text_stripped(name)),) for name in texts.TRIMS},
    (STR, "split"): (
        Row((STR,), List(STR), texts.text_split_words),
        Row((STR, Constant(type(None))), List(STR), lambda a, _: texts.text_split_words(a)),
        Row((STR, Constant(str, bool)), List(STR), texts.text_split),
        Row((STR, Constant(str, bool), Constant(int)), List(STR), texts.text_split),
    ),
    (STR, "replace"): (
        Row((STR, Constant(str, bool), STR), STR, lambda a, old, new: call("replace", a, text(old), new)),
        Row((STR, STR, STR), STR, affixes.replace_varying),
    ),
    **{
        (STR, name): (
            Row((STR, Constant(tuple, _are_texts)), BOOL, texts.text_starts(name)),
            Row((STR, STR), BOOL, Plain(name)),
        )
        for name in ("startswith", "endswith")
    },
    **{
        (STR, name): (Row((STR,), BOOL, affixes.made_of(*patterns)),)
        for name, patterns in {
            "isdigit": ("^[0-9]+\\z",),
            "isdecimal": ("^[0-9]+\\z",),
            "isnumeric": ("^[0-9]+\\z",),
            "isalpha": (f"^[{affixes.LOWER}{affixes.UPPER}]+\\z",),
            "isalnum": (f"^[0123456789{affixes.LOWER}{affixes.UPPER}]+\\z",),
            "isupper": (f"[{affixes.UPPER}]", f"[{affixes.LOWER}]"),
            "islower": (f"[{affixes.LOWER}]", f"[{affixes.UPPER}]"),
        }.items()
    },
    (STR, "isspace"): (Row((STR,), BOOL, affixes.is_space),),
    (STR, "isascii"): (Row((STR,), BOOL, texts.is_ascii),),
    (STR, "capitalize"): (Row((STR,), STR, affixes.capitalize),),
    (STR, "title"): (Row((STR,), STR, affixes.title),),
    (STR, "casefold"): (Row((STR,), STR, affixes.casefold),),
    (STR, "count"): (
        Row((STR, Constant(str, bool)), INT, affixes.count),
        Row((STR, STR), INT, affixes.count_varying),
    ),
    (STR, "rsplit"): (
        Row((STR,), List(STR), texts.text_split_words),
        Row((STR, Constant(str, bool)), List(STR), texts.text_split),
        Row((STR, Constant(str, bool), _AT_MOST_ONCE), List(STR), affixes.split_last),
    ),
    (STR, "splitlines"): (Row((STR,), List(STR), affixes.lines),),
    (STR, "rfind"): (Row((STR, Constant(str, bool)), INT, affixes.find_last),),
    (STR, "rindex"): (Row((STR, Constant(str, bool)), INT, affixes.index_last),),
    (INT, "bit_length"): (Row((INT,), INT, arithmetic.bit_length),),
    (INT, "bit_count"): (Row((INT,), INT, arithmetic.bit_count),),
    **{(type_, "toordinal"): (Row((type_,), INT, dates.ordinal),) for type_ in (DATE, DATETIME)},
    (STR, "zfill"): (Row((STR, _WIDTH), STR, affixes.zero_filled),),
    **{
        (STR, name): (Row((STR, _WIDTH), STR, form), Row((STR, _WIDTH, _FILL), STR, form))
        for name, form in _PADDING.items()
    },
    (STR, "removeprefix"): (Row((STR, STR), STR, affixes.without_prefix),),
    (STR, "removesuffix"): (Row((STR, STR), STR, affixes.without_suffix),),
    (STR, "index"): (
        Row((STR, STR), INT, affixes.index),
        Row((STR, Constant(str, bool), INT), INT, affixes.index_from),
    ),
    (STR, "encode"): (
        Row((STR,), BYTES, Plain("utf8")),
        Row((STR, Constant(str, _is_utf8)), BYTES, lambda a, _: call("utf8", a)),
    ),
    **{(type_, name): (Row((type_,), INT, form),) for type_ in (DATE, DATETIME) for name, form in _WEEKDAYS.items()},
    (DATE, "isoformat"): (Row((DATE,), STR, Plain("string")),),
    (DATETIME, "isoformat"): (Row((DATETIME,), STR, dates.isoformat("T")),),
    (DATETIME, "date"): (Row((DATETIME,), DATE, Plain("date")),),
    **{
        (type_, "strftime"): (Row((type_, Constant(str, _has_pattern)), STR, dates.strftime),)
        for type_ in (DATE, DATETIME)
    },
    (DELTA, "total_seconds"): (Row((DELTA,), FLOAT, dates.total_seconds),),
    (STR, "join"): (Row((STR, List(STR)), STR, Simplified("join")),),
    (STR, "find"): (
        Row((STR, STR), INT, Plain("find")),
        Row((STR, Constant(str, bool), INT), INT, affixes.find_from),
    ),
}

ATTRIBUTES: dict[tuple[Type, str], tuple[Row, ...]] = {
    **{(DATE, name): (Row((DATE,), INT, Plain(name)),) for name in ("year", "month", "day")},
    **{
        (DATETIME, name): (Row((DATETIME,), INT, Plain(name)),)
        for name in ("year", "month", "day", "hour", "minute", "second", "microsecond")
    },
    (DELTA, "days"): (Row((DELTA,), INT, dates.whole_days),),
    (DELTA, "seconds"): (Row((DELTA,), INT, dates.seconds_of_day),),
    (DELTA, "microseconds"): (Row((DELTA,), INT, dates.microseconds),),
}

KEYWORDS: dict[str, tuple[str, ...]] = {
    "split": ("sep", "maxsplit"),
    "rsplit": ("sep", "maxsplit"),
    "encode": ("encoding",),
}
"""The methods whose arguments may be given by name."""

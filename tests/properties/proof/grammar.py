"""The grammar of generated expressions: templates with typed holes, as text that the reader reads like a user's.

`<int>` stands for any expression of that kind, `<int.>` for a variable, `<int $v:int>` for an expression in which the
variable `$v` is an int too; `$v` is a new name each time, and `{a|b}` one of the choices.
"""

# ruff: noqa: E501 - a row of a table is a line

from __future__ import annotations

import random
import re
from collections.abc import Mapping

from morisot.compile.ir.values import DELTA
from morisot.types.element import BOOL, BYTES, DATE, DATETIME, FLOAT, INT, STR, Dict, List, Optional, Tuple, Type
from morisot.types.infer import of_record_class
from tests.properties.proof.world import Order, Point

POINT, ORDER = of_record_class(Point), of_record_class(Order)
PAIR = Tuple((INT, STR))

KINDS: dict[str, Type] = {
    "int": INT, "float": FLOAT, "bool": BOOL, "str": STR, "bytes": BYTES, "date": DATE, "time": DATETIME, "delta": DELTA,
    "maybe_int": Optional(INT), "maybe_float": Optional(FLOAT), "maybe_str": Optional(STR), "maybe_pair": Optional(PAIR),
    "maybe_bool": Optional(BOOL), "maybe_date": Optional(DATE), "maybe_time": Optional(DATETIME), "maybe_ints": Optional(List(INT)), "maybe_point": Optional(POINT),
    "ints": List(INT), "floats": List(FLOAT), "texts": List(STR), "bools": List(BOOL), "pairs": List(PAIR), "dates": List(DATE),
    "dict": Dict(INT), "texts_by": Dict(STR), "pair": PAIR, "numbers": Tuple((INT, FLOAT)), "nest": Tuple((Tuple((INT, FLOAT)), STR)),
    "point": POINT, "order": ORDER,
}  # fmt: skip
NAME_OF = {type_: name for name, type_ in KINDS.items()}

CONSTANTS: dict[str, tuple[str, ...]] = {
    "int": ("0", "1", "-1", "2", "3", "-3", "7", "10", "100", "LIMIT", "9007199254740993", "9223372036854775807"),
    "float": ("0.0", "0.5", "1.0", "2.5", "-1.5", "1e300", "1e-3", "RATE", "math.inf", "100.0"),
    "bool": ("True", "False"),
    "str": ("''", "'a'", "' '", "'ab'", "','", "'ß'", "'😀b'", "'12'", "SEPARATOR", "'it\\'s'", "'\\x1c'", "'Σ'"),
    "bytes": ("b''", "b'a'", "b'\\xff'"),
    "date": ("EPOCH", "dt.date(2024, 2, 29)"),
    "time": ("NOON", "dt.datetime(1999, 12, 31, 23, 59)"),
    "delta": ("HOUR", "DAY", "dt.timedelta(days=-1, microseconds=1)", "dt.timedelta(0)"),
    "maybe_int": ("None", "3"), "maybe_float": ("None", "0.5"), "maybe_str": ("None", "'a'"), "maybe_pair": ("None",),
    "maybe_bool": ("None", "True"), "maybe_date": ("None",), "maybe_time": ("None",), "maybe_ints": ("None",), "maybe_point": ("None",),
    "ints": ("[1, 2, 3]", "[0]"), "floats": ("[0.5, -0.0]",), "texts": ("['a', 'ß']",), "bools": ("[True, False]",),
    "pairs": ("[(1, 'a')]",), "dates": ("[EPOCH]",), "dict": ("{'k': 1}",), "texts_by": ("{'k': 'a'}",),
    "pattern": (
        "'a'", "'[a-c]+'", "'^a'", "'b$'", "'a.?b'", "'[^,]+'", "'a|ab'", "'ab|a'", "'(?:ab)?,'", "'a{2}'", "'.$'", "'[0-9]+'", "'[^a]'", "'^$'",
        "'a+?b'", "'(?:a|b),'", "r'\\d+'", "r'\\s+'", "r'\\w'", "'x*'", "'a?'", "'(a)(b)?'", "r'\\S+$'", "'[ß-é]'", "'😀'", "'.'", "r'\\Aa|b\\Z'",
    ),
}  # fmt: skip

TEMPLATES: dict[str, tuple[str, ...]] = {
    "int": (
        "(<int> {+|-|*} <int>)", "(<int> {+|-|*} <int>)", "(<int> {//|%} <int>)", "(<int> {//|%} {2|3|7|8|-3|1000|2**62})", "({<int>|<int.>} // {2|3|8|1000} {*|//|-|%} {2|3|8|1000})", "({2|3|8|1000} * (<int.> // {2|3|8|1000}))", "((($v := <int>) - $v % {2|3|8|1000}))", "clamp(*(<int>,))", "{min|max}(*<numbers>[:1], *<pair>[:1])", "{min|max}($v for $v, *_ in <pairs>)",
        "(<int> {&|\\||^} <int>)", "(-<int>)", "(~<int>)", "(+<int>)", "abs(<int>)", "(<int> ** {1|2|3|5})", "(<int> << {0|1|5|62})", "(<int> >> {0|1|5|70})",
        "{min|max}(<int>, <int>)", "{min|max}(<int>, <int>, <int>)", "divmod(<int>, <int>)[{0|1}]", "int(<float>)", "round(<float>)", "round(<int>{|, 1})",
        "math.{floor|ceil}(<float>)", "int(<bool>)", "(<bool> + <int>)", "(<int> {and|or} <int>)", "len(<str>)", "int(<str>)", "<str>.find(<str>)", "<str>.index(<str>)",
        "<str>.count({'a'|','|'aa'|'😀'})", "ord(<str>)", "len({<ints>|<texts>|<floats>|<dict>|<pairs>})", "sum(<ints>)", "sum(<ints>, <int>)", "{min|max}(<ints>)", "<ints>[<int>]",
        "<dict>[<str>]", "<dict>.get(<str>, <int>)", "SIZES.get(<str>, <int>)", "SIZES[<str>]", "{<date>|<time>}.{year|month|day}", "<time>.{hour|minute|second|microsecond}",
        "{<date>|<time>}.{weekday()|isoweekday()|isocalendar()[0]|isocalendar()[1]|isocalendar()[2]}", "<delta>.{days|seconds|microseconds}", "(<delta> // {HOUR|DAY})",
        "<pair>[{0|-2}]", "<point>.x", "<order>.{amount|doubled|FEE}", "<order>.times(<int>{|, by=<int>})", "clamp(<int>)", "or_zero(<maybe_int>)",
        "(<maybe_int.> or <int>)", "(0 if (<maybe_int.>) is None else <int>)", "(($v := <int>) {+|*|-} $v)", "(($v := <int>) + <int $v:int>)",
        "sum(<int $v:int> for $v in <ints>)", "sum(1 for $v in <texts> if <bool $v:str>)", "{min|max}(<int $v:str> for $v in <texts>)", "{min|max}([<int>, <int>, <int>])",
        "{min|max}(<ints>, default=<int>)", "{min|max}(<ints>, key=lambda $v: $v % 3)", "{min|max}(<pairs>, key=lambda $v: $v[1])[0]", "operator.{add|sub|mul|floordiv|mod}(<int>, <int>)",
        "(lambda $v: <int $v:int>)(<int>)", "len(<bytes>)", "(<int> if <bool> else <int>)", "(1 if <bool> else {1|int(True)|LIMIT - 2})", "len({set|frozenset}({<str>|<ints>|<texts>}))", "($v.{year|day} if ($v := {<maybe_date>|<maybe_time>}) else <int>)", "(len($v) if ($v := <maybe_ints>) else <int>)", "($v[0] if ($v := <maybe_pair>) is not None else <int>)", "(0 if ($v := <maybe_point>) is None else $v.x)", "(1 if {<maybe_date>|<maybe_time>|<maybe_pair>|<maybe_ints>|<maybe_point>|<maybe_bool>} else <int>)", "(<maybe_pair> or <pair>)[0]", "len({<int>, {<int>|1}, 2})", "len({<int $v:int> for $v in <ints>})", "len(set(<texts>) {&|\\||-} set(<texts>))", "sum({1, <int>, <int>})",
        "sum($v * $w for $v, $w in {enumerate(<ints>)|zip(<ints>, <ints>)})", "len({list(zip(<ints>, <texts>))|re.findall(<pattern>, <str>)|re.split(<pattern>, <str>)|<str>.splitlines()})", "{min|max}({<int>, <int>})", "<str>.{rfind|rindex}({'a'|','})", "<str>.{find|index}({'a'|','|'😀'}, <int>)", "<str>.count(<str>)",
        "<int>.bit_{length|count}()", "{<date>|<time>}.toordinal()", "int(<str>, {2|8|16})", "next(($v for $v in <ints> if <bool $v:int>), <int>)", "hash({<int>|<bool>})", "{min|max}(<texts>, key=len, default='').count('a')", "[<int>, <int>, <int>].{index|count}(<int>)", "((<int>, <int>)[<bool>])",
    ),
    "float": (
        "(<float> {+|-|*|/} <float>)", "(<float> {+|-|*|/} <float>)", "(<float> {//|%} <float>)", "(<float> // {1|0.5|10.0})", "(<int> {+|-|*} <float>)", "(<float> {+|-|*|/|//|%} <int>)", "(<int> / <int>)",
        "(<int> / {3|8|-7})", "(-<float>)", "abs(<float>)", "{min|max}(<float>, <float>)", "{min|max}(<float>, <float>, <float>)", "float(<int>)", "float(<str>)", "float(<bool>)",
        "round(<float>, {0|1|2|3|5})", "math.{sqrt|fabs}(<float>)", "(<float> {and|or} <float>)", "(<delta>).total_seconds()", "(<delta> / HOUR)", "share(<int>, <int>)",
        "(<maybe_float.> or <float>)", "sum(<floats>, 0.0)", "sum(<floats>)", "<floats>[<int>]", "<numbers>[1]", "divmod(<float>, <float>)[{0|1}]", "(<float> if <bool> else <float>)",
        "(($v := <float>) * $v)", "(<bool> * <float>)", "{min|max}(<floats>)", "{min|max}(<floats>, default=<float>)", "(<float>, <float>)[<bool>]", "next(($v for $v in <floats> if $v > <float>), <float>)", "sum($v * $w for $v, $w in zip(<floats>, <floats>))",
    ),
    "bool": (
        "(<int> {<|<=|==|!=|>|>=} <int>)", "(<float> {<|<=|==|!=|>|>=} <float>)", "(<int> {<|<=|==|!=|>|>=} <float>)", "(<float> {<|==|>=} {1|2.5|0})", "(<str> {<|<=|==|!=|>|>=} <str>)",
        "(<date> {<|<=|==|!=|>} <date>)", "(<time> {<|<=|==|!=|>} <time>)", "(<delta> {<|==|>=} <delta>)", "(<int> < <int> {<|<=|!=} <int>)", "(<float> {<|<=} <float> {<|==} <float>)", "(<str> {<|<=} <str> {<|==} <str>)",
        "(not <bool>)", "((1 if <bool> else 2) {>|==|<} {0|2|LIMIT})", "(True if <bool> else {LIMIT > 2|not False|1 < 2})", "(<bool> {and|or} LIMIT {>|<} {2|3})", "(not {<int>|<float>|<str>|<ints>|<texts>})", "(<bool> {and|or} <bool>)", "(<bool> {and|or} <bool>)", "(<bool> {&|\\||^|==|<} <bool>)", "bool({<int>|<float>|<str>|<dict>|<maybe_int>|<maybe_str>})",
        "(<int> {in|not in} (1, <int>, 7))", "(<int> {in|not in} {{1, 2, 63}|[2, True]|TABLE})", "(<str> {in|not in} {NAMES|('a', 'ß')|SIZES})", "(<float> in (0.0, 1.0, 2.5))", "(<float> {in|not in} (<float>, <float>))", "((<float>, <int>) {==|!=} (<float>, <int>))", "((<float.>, 1) in ((<float.>, 1), (<float>, 2)))", "((<int>, <int>) {==|!=|<|>=} (<int>, <int>))", "((<int>, <str>) {in|not in} ((<int>, <str>), (1, 'a')))", "(None {==|!=|in} {<int>|<str>|(None, <int>)})", "(<maybe_int> {==|!=} (<int> // <int>))", "((<maybe_int>, <int>) {==|!=} (None, <int>))", "(<str> {in|not in} <str>)",
        "<str>.{startswith|endswith}(<str>)", "<str>.{startswith|endswith}(('a', ',', 'ß'))", "<str>.{isdigit|isalpha|isalnum|isupper|islower|isspace|isascii|isdecimal|isnumeric}()",
        "math.isnan(<float>)", "(<maybe_int> is {None|not None})", "(<maybe_str> is {None|not None})", "(<maybe_int> {==|!=} {<int>|<maybe_int>|None})", "(<maybe_str> {==|!=} <str>)", "(<maybe_float> == <float>)",
        "(<maybe_int.> is not None and <bool>)", "(<int> in <ints>)", "(<str> {in|not in} {<texts>|<dict>})", "(<date> in <dates>)", "{any|all}(<bool $v:int> for $v in <ints>)", "{any|all}(<bool $v:str> for $v in <texts>)",
        "{any|all}({<ints>|<texts>|<bools>})", "(<pair> {<|<=|==|!=|>} <pair>)", "(<ints> {==|!=|<} <ints>)", "(<point> == <point>)", "(<order> {==|!=} <order>)", "(<bytes> {<|==|!=} <bytes>)",
        "isinstance({<int>|<maybe_int>|<str>}, {int|str|(str, float)})", "(<bool> if <bool> else <bool>)", "(set(<str>) {<=|<|>=|>|==|!=} {set(<str>)|set('ab,')|{<str>, 'a'}})", "(set(<ints>) {<=|<|>=|>|==|!=} {set(<ints>)|{1, 2, <int>}})", "({<int>|<bool>} {in|not in} {<int>, 1, <int>})", "(<str> {in|not in} {{<str>, 'a'}|set(<texts>)|<str>.split(',')})", "bool({set(<texts>)|set(<str>)} {&|-} {{<str>, 'a'}|set(<str>)})",
        "(re.{search|match|fullmatch}(<pattern>, <str>) is {None|not None})", "bool({WORD|NUMBER|FIELDS}.{search|match|fullmatch}(<str>))", "(<floats> {==|!=|<} <floats>)", "(<float> in <floats>)", "({<float.>|<float>} in {[<float>, <float.>]|{<float>, <float.>}})", "((<maybe_int>, <str>) == (<maybe_int>, <str>))", "(<maybe_int> in (None, 1, <int>))", "(<maybe_int> {in|not in} {(<maybe_int>, <int>)|[<maybe_int.>]|{<int>, <maybe_int>}})", "(<maybe_float> in [<maybe_float>, <float>])", "(<int> in (<maybe_int>, <int>))", "(None in (<maybe_int>, <maybe_str>))", "({<maybe_pair>|<pair>} == <pair>)", "bool({<maybe_date>|<maybe_time>|<maybe_pair>|<maybe_ints>|<maybe_point>|<maybe_bool>|<maybe_float>})", "(not {<maybe_date.>|<maybe_time.>|<maybe_pair.>|<maybe_ints.>|<maybe_point.>|<maybe_bool.>})", "({<maybe_date>|<maybe_pair>|<maybe_bool>|<maybe_point>} {is|is not|==|!=} None)", "(<maybe_date> {==|!=} {<date>|<maybe_date>})", "(<maybe_time> {==|!=} {<time>|<maybe_time>})", "(<maybe_pair> {==|!=} <maybe_pair>)", "(<maybe_pair> {in|not in} (<maybe_pair>, <pair>))", "(<maybe_ints> {==|!=} {<ints>|<maybe_ints>})", "(<maybe_date> in (<maybe_date>, EPOCH, None))", "(<maybe_point> == {<point>|<maybe_point>})", "(<maybe_bool> {is None|== <bool>|or <bool>|and <bool>})", "(<point> {<|<=|>=} <point>)", "(<maybe_int> {<|>=} <int>)", "all($v <= $w for $v, $w in zip(<ints>, <ints>[1:]))", "isinstance({<maybe_pair>|<maybe_str>}, {tuple|str|(int, str)})", "(<texts> {==|<|<=} <texts>)", "(<dict> {==|!=} <dict>)", "any(map(str.isdigit, <texts>))", "math.{isinf|isfinite}(<float>)", "((<pair>, <int>) {<|==|>=} (<pair>, <int>))",
    ),
    "str": (
        "(<str> + <str>)", "(<str> * {0|1|2|3|-1})", "<str>.{lower|upper|strip|lstrip|rstrip|capitalize}()", "<str>.{strip|lstrip|rstrip}({'a'|'ab ,'|'ß'|''|None})", "<str>[<int>]", "<str>[{<int>|0|1|-2}:{<int>|3|-1|}]", "<str>[:{<int>|1|2|-1}]",
        "<str>[::-1]", "<str>.replace({'a'|','|'ab'|' '}, <str>)", "str({<int>|<float>|<bool>|<date>|<time>|<str>})", "f'{<int.>}'", "f'{<str.>}:{<int.>}'", "f'<{<bool.>}|{<date.>}>'", "f'{<int.>:{05d|,|d|<6|>6|^7|*^+9|+|=5|x|b|08x|.2f|.1%}}'",
        "f'{<float.>:{.2f|.0f|.1f|,.2f|+.1f|09.2f|>12.3f|f|.1%|.5f}}'", "f'{<str.>:{<6|>6|^6|^7|.2|😀>4|>3.1s}}'", "f'{<time.>:%H:%M}'", "f'{<str.>!s:>5}'", "format(<int>, {'3d'|',d'|''})", "<str>.{zfill|ljust|rjust|center}({0|3|6|7})",
        "<str>.{ljust|rjust|center}(5, {'-'|'é'})", "<str>.{removeprefix|removesuffix}({<str>|'a'})", "chr(<int>)", "<texts>[<int>]", "{<str>|','|''}.join({<texts>|sorted(<texts>)})", "<str>.split(',')[{0|1|-1}]", "{' '|','}.join(<str>.split())", "<str>.title()", "<str>.split()[<int>]",
        "{min|max}(<str>, <str>)", "{min|max}(<texts>)", "(<str> {and|or} <str>)", "(<maybe_str.> or <str>)", "<pair>[{1|-1}]", "<point>.name", "<order>.name", "<texts_by>[<str>]", "<texts_by>.get(<str>, <str>)", "TABLE.get(<int>, <str>)", "TABLE[<int>]", "LEAGUES[<int>]",
        "label(<str>, <int>)", "{<date>|<time>}.isoformat()", "<date>.strftime({'%d.%m. %j %a %b'|'%Y-%m-%d'|'%y%%'})", "<time>.strftime({'%H:%M:%S.%f'|'%Y%m%d %I %p'})", "','.join(<str $v:int> for $v in <ints>)", "''.join([<str $v:str> for $v in <texts>])",
        "(<str> if <bool> else <str>)", "(($v := <str>) + $v)", "max(<pairs>, key=operator.itemgetter(0))[1]", "f'{<int.>:{|<|>|^|=|*<|0=|x^}{|+|-| }{|#}{|0}{|1|7|12}{|,|_}{|.2}{|d|x|X|b|o|f|%|n|e}}'", "f'{<float.>:{|<|>|^|=|*<|0=|x^}{|+|-| }{|z}{|#}{|0}{|1|9|14}{|,|_}{|.0|.1|.3|.9}{|f|F|%|e|g}}'", "f'{<str.>:{|<|>|^|*<|0^}{|1|7}{|.0|.2}{|s}}'", "{'{:>5}{}'|'{1}{0:03d}'|'{:,}'}.format(<int>, <str>)", "'{%5d|%s|%x|%03d|%+d} %s' % (<int>, <str>)", "re.sub(<pattern>, {'#'|''|'$'|'é'}, <str>)", "{WORD|NUMBER}.sub('-', <str>)", "($v.group({0|1}) if ($v := {FIELDS|WORD|NUMBER}.{search|match}(<str>)) else <str>)", "($v[2] + $v[1] if ($v := re.{match|search|fullmatch}('([^,]*),(.*)', <str>)) else <str>)",
        "''.join(sorted(set(<str>)))", "','.join(f'{$v}={$w}' for $v, $w in {enumerate(<texts>)|zip(<ints>, <texts>)|<dict>.items()})", "<str>.{partition|rpartition}({','|'a'})[{0|1|2}]", "<str>.rsplit(',', 1)[{0|-1}]", "<str>.{splitlines()|rsplit()}[{0|-1}]", "<str>.casefold()", "<str>.translate({{97: 'b', 44: None}|{223: 'ss'}})", "{hex|bin}(<int>)", "str({<maybe_int>|<maybe_str>|<maybe_float>})", "f'{<maybe_int>}'", "<str>.replace({'a'|''|<str>}, <str>)", "{min|max}(<texts>, key=len)", "next(($v for $v in <texts> if <bool $v:str>), <str>)", "(<str>, <str>)[<bool>]", "{min|max}({<str>, <str>})", "''.join(reversed(<str>))",
    ),
    "bytes": ("<str>.encode()", "(<bytes> + <bytes>)", "(<bytes> if <bool> else <bytes>)", "{min|max}(<bytes>, <bytes>)"),
    "date": ("(<date> {+|-} <delta>)", "<date>.replace({day=1|month=<int>|year=2023})", "dt.date.fromisoformat(<date>.isoformat())", "sorted([<date>, <date>])[0]", "<time>.date()", "{min|max}(<date>, <date>)", "dt.date(<int>, <int>, <int>)", "dt.date(2024, <int>, 28)", "dt.date.fromisoformat(<str>)", "(<date> if <bool> else <date>)"),
    "time": ("(<time> {+|-} <delta>)", "<time>.replace({hour=0|minute=<int>|day=1|microsecond=0})", "dt.datetime.strptime(<str>, {'%Y-%m-%d'|'%Y%m%d'|'%Y-%m-%dT%H:%M:%S'})", "dt.datetime.fromisoformat(<time>.isoformat({|' '}) + {''|'Z'|'+02:00'})", "{min|max}(<time>, <time>)", "dt.datetime(2024, 1, 31, <int>, <int>)", "dt.datetime(<int>, <int>, 1)", "dt.datetime.fromisoformat(<str>)", "(<time> if <bool> else <time>)"),
    "delta": ("(<date> - <date>)", "(<time> - <time>)", "dt.timedelta({days|hours|seconds|weeks|microseconds}=<int>)", "(<delta> {+|-} <delta>)", "(-<delta>)", "abs(<delta>)", "(<delta> * <int>)", "(<delta> // {2|<int>})", "(<delta> % HOUR)", "{min|max}(<delta>, <delta>)"),
    "maybe_int": ("(<int> if <bool> else None)", "<dict>.get(<str>)", "SIZES.get(<str>)", "(<maybe_int> if <bool> else <maybe_int>)", "(<maybe_int.> and <int>)", "<int>"),
    "maybe_float": ("(<float> if <bool> else None)", "<point>.y", "<order>.price", "<float>"),
    "maybe_str": ("(<str> if <bool> else None)", "TABLE.get(<int>)", "<texts_by>.get(<str>)", "<str>"),
    "maybe_bool": ("(<bool> if <bool> else None)", "(<maybe_bool.> {and|or} <bool>)", "<bool>"),
    "maybe_date": ("(<date> if <bool> else None)", "(<maybe_date> {and|or} <maybe_date>)", "<date>", "max([$v for $v in (<maybe_date>, <maybe_date>) if $v], default=None)"),
    "maybe_time": ("(<time> if <bool> else None)", "(<maybe_time> {and|or} <maybe_time>)", "<time>"),
    "maybe_ints": ("(<ints> if <bool> else None)", "(<maybe_ints> or <maybe_ints>)", "<ints>"),
    "maybe_point": ("(<point> if <bool> else None)", "(<maybe_point> or <maybe_point>)", "<point>"),
    "maybe_pair": ("(<pair> if <bool> else None)", "((<int>, <str>) if <bool> else None)", "(<maybe_pair> and <maybe_pair>)", "(<maybe_pair> or <maybe_pair>)", "<pair>"),
    "ints": (
        "[<int>, <int>]", "[<int>]", "[<int $v:int> for $v in <ints>]", "[<int $v:int> for $v in <ints> if <bool $v:int>]", "[<int $v:str> for $v in <texts>]", "[$v for $v in range({<int> % 9|3})]", "[<int $v:int> for $v in range(<int> % 5, {9|<int> % 7}, {1|2|-1})]",
        "(<ints> + <ints>)", "<ints>[{<int>|1|}:{<int>|-1}]", "sorted(<ints>)", "sorted(<ints>, {reverse=True|key=lambda $v: -$v|key=lambda $v: ($v % 2, $v)})", "[$v for $v, _ in <pairs>]", "list(<dict>.values())", "(<ints> or <ints>)", "([<int>, 1] * 2)",
        "(<ints> if <bool> else <ints>)", "[$v + $w for $v in <ints> for $w in <ints>]", "[len($v) for $v in <str>.split()]", "sorted({set(<ints>)|{<int>, <int>, 3}|{<int $v:str> for $v in <texts>}})", "sorted(set(<ints>) {&|\\||-} {set(<ints>)|{1, <int>}})", "[$v * $w for $v, $w in {enumerate(<ints>)|zip(<ints>, <ints>)|enumerate(<ints>, 1)}]", "[$w - $v for $v, $w in zip(<ints>, <ints>[1:])]", "{[*<ints>, <int>]|[<int>, *<ints>]}", "list({reversed(<ints>)|map(abs, <ints>)|map(len, <texts>)|range(<int> % 7)})", "list(filter(None, <ints>))", "sorted(<ints>, key=lambda $v: ($v % 3, -$v))", "[int($v) for $v in <texts> if $v.isdigit()]", "Bag({<int>|<int>, <ints>|<int>, items=<ints>}).items",
    ),
    "floats": ("[<float>, <float>]", "sorted(<floats>)", "[*<floats>, <float>]", "[$v for $v in <floats> if $v == $v]", "[$v - $w for $v, $w in zip(<floats>, <floats>[1:])]", "[<float $v:float> for $v in <floats>]", "[$v / 2 for $v in <ints>]", "(<floats> + <floats>)", "<floats>[{1|<int>}:]", "(<floats> if <bool> else <floats>)"),
    "texts": (
        "[<str>, <str>]", "sorted({set(<texts>)|set(<str>)|{<str>, <str>}})", "sorted(set(<texts>) {&|\\||-} set(<texts>))", "re.{findall|split}(<pattern>, <str>)", "{WORD|NUMBER}.findall(<str>)", "<str>.{splitlines()|rsplit(',')|rsplit(',', 1)|rsplit()}", "list(map(str.{upper|strip|lower}, <texts>))", "list(filter({None|str.strip}, <texts>))", "[*<texts>, <str>]", "[$w * $v for $v, $w in enumerate(<texts>)]", "<str>.split()", "<str>.split({','|'a'|' '|'😀'|'ab'})", "<str>.split(',', {0|1|2})", "[<str $v:str> for $v in <texts>]", "[$v for $v in <texts> if <bool $v:str>]", "[<str $v:int> for $v in <ints>]", "list(<str>)", "[$v for $v in <str> if $v != 'a']", "sorted({<texts>|<str>})",
        "sorted(<texts>, key={len|str.strip|lambda $v: $v[:1]})", "(<texts> + <texts>)", "<texts>[{0|<int>}:{<int>|-1}]", "list(<dict>.keys())", "[$v for $v in <dict>]", "[$v for _, $v in <pairs>]", "[$w for $v in <texts> for $w in $v.split(',')]", "(<texts> if <bool> else <texts>)", "<str>.lower().split()",
    ),
    "bools": ("[<bool>, <bool>]", "[<bool $v:int> for $v in <ints>]", "[<bool $v:str> for $v in <texts>]"),
    "pairs": ("[(<int>, <str>)]", "list({enumerate(<texts>)|zip(<ints>, <texts>)})", "[($v, $w) for $v, $w in zip(<ints>, <texts>)]", "sorted(zip(<ints>, <texts>))", "sorted(<pairs>, key=lambda $v: (-$v[0], $v[1]))", "sorted(<pairs>, key=lambda $v: $v[0], reverse=True)", "sorted({<pair>, <pair>})", "[(<int $v:int>, <str $v:int>) for $v in <ints>]", "[(len($v), $v) for $v in <texts>]", "sorted(<pairs>, key=lambda $v: $v[1])", "sorted(<pairs>)", "<pairs>[:<int>]", "[(len($w), *$w) for $v, *$w in <pairs>]", "[$w for $w in <pairs> if $w[0] == max($v for $v, _ in <pairs>)]", "[($w, $v) for $v, $w in <dict>.items()]"),
    "dates": ("[<date>, <date>]", "[<date>]"),
    "dict": ("{'a': <int>, 'k': <int>}", "dict(zip(<texts>, <ints>))", "{**<dict>, 'a': <int>}", "(<dict> | <dict>)", "{$w: $v for $v, $w in enumerate(<texts>)}", "dict(sorted(<dict>.items()))", "{$w: $v for $v, $w in <pairs>}", "{$v: <int $v:str> for $v in <texts>}", "{$v: $w for $v, $w in <dict>.items() if <bool $w:int>}", "{<str>: <int>}"),
    "texts_by": ("{'a': <str>, '': <str>}", "{$v: $v.upper() for $v in <texts>}"),
    "pair": ("(<int>, <str>)", "(*<pair>,)", "(<int>, *<pair>[1:])", "(<pair> if <bool> else <pair>)", "<pairs>[<int>]"),
    "numbers": ("(<int>, <float>)", "(*<pair>[:1], <float>)", "divmod(<int>, 2)[:1] + (<float>,)"),
    "nest": ("((<int>, <float>), <str>)", "(<numbers>, <str>)"),
    "point": ("Point(<int>, <maybe_float>, <str>)", "Point(<int>, None)", "<point>._replace(x=<int>)", "<point.>._replace(name=<str>)", "(<point> if <bool> else <point>)"),
    "order": ("Order(<int>, <str>)", "Order(<int>, <str>, price=<maybe_float>)", "replace(<order.>, amount=<int>)", "(<order> if <bool> else <order>)"),
}  # fmt: skip

KERNEL_TEMPLATES: dict[str, tuple[str, ...]] = {
    "int": (
        "(<int> {+|-|*} <int>)", "(<int> {+|-|*} <int>)", "(<int> {//|%|&|\\||^} <int>)", "(<int> {//|%} {2|3|-3|8|-1})", "(-<int>)", "(~<int>)", "abs(<int>)", "(<int> ** {0|1|2|3|5})", "(<int> {<<|>>} {1|5|<int> % 70})", "{min|max}(<int>, <int>)", "{min|max}(<int>, <int>, <int>)",
        "divmod(<int>, <int>)[{0|1}]", "{int|round|math.floor|math.ceil|math.trunc}(<float>)", "(<int> {and|or} <int>)", "(<int> if <bool> else <int>)", "int(<bool>)", "(<bool> + <int>)", "clamp(<int>)", "collatz(<int>)", "(1, <int>, 3)[{0|1|-2}]",
        "len({<ints.>|<floats.>})", "<ints.>[<int>]", "<ints.>[{0|-1}]", "{sum|min|max}(<ints.>)", "{sum|min|max}(<ints.>[{<int>|1|}:{<int>|-1|}])", "len(<ints.>[{<int>|}:{<int>|2}])",
    ),
    "float": (
        "(<float> {+|-|*|/} <float>)", "(<float> {+|-|*|/} <float>)", "(<float> {//|%} <float>)", "(<float> // {1|0.5|10.0})", "(<int> {+|-|*|/} <float>)", "(<int> / <int>)", "(-<float>)", "abs(<float>)", "{min|max}(<float>, <float>)", "float(<int>)", "float(<bool>)", "(<float> ** {2|3|-1|2.0})", "(<float> {and|or} <float>)",
        "math.{sqrt|exp|log|sin|cos|tan|atan|tanh|asin|acos|sinh|cosh|log2|log10|log1p|expm1|erf|fabs|degrees|radians}(<float>)", "math.{atan2|copysign|fmod}(<float>, <float>)", "(<float> if <bool> else <float>)", "horner(<float>, <int>)", "divmod(<float>, <float>)[{0|1}]", "<numbers>[1]",
        "<floats.>[<int>]", "<floats.>[{0|-1}]", "{sum|min|max}(<floats.>)", "{sum|min|max}(<floats.>[{<int>|1|}:{<int>|-1|}])",
    ),
    "bool": (
        "(<int> {<|<=|==|!=|>|>=} <int>)", "(<float> {<|<=|==|!=|>|>=} <float>)", "(<int> {<|==|>=} <float>)", "(<int> < <int> {<|<=} <int>)", "(not <bool>)", "(<bool> {and|or} <bool>)", "(<bool> {&|\\||^} <bool>)", "bool({<int>|<float>})", "(<int> in (1, <int>, 7))", "math.{isnan|isinf|isfinite}(<float>)",
    ),
    "numbers": ("(<int>, <float>)", "(<numbers> if <bool> else <numbers>)"),
}  # fmt: skip

_HOLE = re.compile(r"<([a-z_]+)(\.?)((?: \$\w:\w+)*)>")
_FRESH = re.compile(r"\$(\w)")


class NoWay(Exception):  # noqa: N818 - the caller chooses another production
    """No expression of the kind can be made here."""


class Grammar:
    """Makes expressions of a kind, out of what is in scope."""

    def __init__(self, chance: random.Random, templates: Mapping[str, tuple[str, ...]] = TEMPLATES) -> None:
        self.chance = chance
        self.templates = templates
        self._names = 0

    def fresh(self) -> str:
        """A name that nothing else has."""
        self._names += 1
        return f"v{self._names}"

    def expression(self, kind: str, names: Mapping[str, str], depth: int) -> str:
        """The text of an expression; `names` are the variables in scope with their kinds."""
        if depth <= 0 or kind not in self.templates or self.chance.random() < 0.12:
            return self.atom(kind, names, depth)
        for _ in range(8):
            try:
                return self.filled(self.chance.choice(self.templates[kind]), names, depth - 1)
            except NoWay:
                continue
        return self.atom(kind, names, depth)

    def atom(self, kind: str, names: Mapping[str, str], depth: int = 0) -> str:
        """A variable of the kind, or a constant; a product of such where there is neither."""
        known = [name for name, of in names.items() if of == kind]
        if known and (kind not in CONSTANTS or self.chance.random() < 0.75):
            return self.chance.choice(known)
        if kind in CONSTANTS:
            return self.chance.choice(CONSTANTS[kind])
        if depth < -3:
            raise NoWay
        return self.filled(self.templates[kind][0], names, depth - 1)

    def filled(self, template: str, names: Mapping[str, str], depth: int) -> str:
        """The template with an expression in each hole."""
        text = self._chosen(template)
        new = {letter: self.fresh() for letter in dict.fromkeys(_FRESH.findall(text))}

        def fill(match: re.Match[str]) -> str:
            kind, is_variable, bound = match.groups()
            inner = dict(names)
            for one in bound.split():
                letter, of = one[1:].split(":")
                inner[new[letter]] = of
            if not is_variable:
                return self.expression(kind, inner, depth)
            known = [name for name, of in inner.items() if of == kind]
            if not known:
                raise NoWay
            return self.chance.choice(known)

        return _FRESH.sub(lambda match: new[match[1]], _HOLE.sub(fill, text))

    def _chosen(self, template: str) -> str:
        """The template with one of each `{a|b}` chosen; a brace without a bar is the user's own."""
        pieces: list[str] = []
        place = 0
        while place < len(template):
            end = _closing(template, place) if template[place] == "{" else -1
            choices = _split(template[place + 1 : end]) if end > 0 else []
            if len(choices) > 1:
                pieces.append(self._chosen(self.chance.choice(choices)))
                place = end + 1
            else:
                pieces.append(template[place + 1] if template[place] == "\\" else template[place])
                place += 2 if template[place] == "\\" else 1
        return "".join(pieces)


def _closing(text: str, start: int) -> int:
    """Where the brace that opens at `start` closes."""
    depth = 0
    for place in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        if depth == 0:
            return place
    return -1


def _split(text: str) -> list[str]:
    """The choices between bars that are in no braces of their own; a bar after a backslash is a literal bar."""
    choices, depth, current = [], 0, ""
    for before, character in zip(" " + text, text, strict=False):
        depth += {"{": 1, "}": -1}.get(character, 0)
        if character == "|" and depth == 0 and before != "\\":
            choices.append(current)
            current = ""
        else:
            current += character
    return [*choices, current]

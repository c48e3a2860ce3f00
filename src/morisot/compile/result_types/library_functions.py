"""The result types of functions of the standard library."""

from __future__ import annotations

import base64
import binascii
import datetime as dt
import decimal
import fractions
import hashlib
import html
import json
import math
import os
import posixpath
import random
import re
import secrets
import socket
import statistics
import string
import sys
import threading
import time
import unicodedata
import urllib.parse
import uuid
import zlib
from collections.abc import Callable
from typing import Any

from morisot.compile.result_types.domain import DELTA, INTS, MOMENT, NUMBERS, WIDE, Instance, Items, Matched, item_type
from morisot.compile.result_types.rows import ResultRow, TypedCall, fixed
from morisot.types.element import ANY, BOOL, BYTES, DATE, DATETIME, FLOAT, INT, STR, List, Optional, Tuple, Type
from morisot.types.infer import without_none

DIGEST = Instance(type(hashlib.md5()))
"""The objects of hashlib. Their classes differ, but not the types of their digests."""
UUID = Instance(uuid.UUID)
URL = Instance(urllib.parse.ParseResult)
"""A split URL, of text."""
FRACTION = Instance(fractions.Fraction)

_JSON = "default sort_keys indent separators ensure_ascii allow_nan skipkeys"
_FLOATS = (
    math.acos, math.acosh, math.asin, math.asinh, math.atan, math.atan2, math.atanh, math.cbrt, math.copysign,
    math.cos, math.cosh, math.degrees, math.dist, math.erf, math.erfc, math.exp, math.exp2, math.expm1, math.fabs,
    math.fmod, math.fsum, math.gamma, math.hypot, math.ldexp, math.lgamma, math.log, math.log10, math.log1p,
    math.log2, math.nextafter, math.pow, math.radians, math.remainder, math.sin, math.sinh, math.sqrt, math.tan,
    math.tanh, math.ulp, statistics.fmean, time.time, time.monotonic, time.perf_counter, time.process_time,
    time.thread_time,
)  # fmt: skip


def _all_text(result: Type) -> Callable[[TypedCall], Type]:
    """The result of a function of texts, which returns bytes for bytes."""

    def rule(call: TypedCall) -> Type:
        return result if call.types and all(without_none(each) == STR for each in call.types) else ANY

    return rule


def _of_numbers(call: TypedCall) -> Type:
    """A function whose result is computed from its arguments, which may be of other types than numbers."""
    return FLOAT if all(without_none(each) in NUMBERS for each in call.types) else ANY


def _triangular(call: TypedCall) -> Type:
    """`random.triangular`. Of three arguments it returns the first one if the second one is equal to it."""
    return FLOAT if all(each == FLOAT for each in call.types) else ANY


def _product(call: TypedCall) -> Type:
    """`math.prod`. The product of no items is the int 1."""
    item = item_type(call.types[0]) if len(call.types) == 1 else ANY
    return WIDE if item in INTS else ANY


def _datetime(call: TypedCall) -> Type:
    """`datetime(…)`. The eighth argument is the time zone."""
    return DATETIME if len(call.arguments) <= 7 else MOMENT


def _parsed(call: TypedCall) -> Type:
    """`datetime.strptime`: a format with %z reads a time zone."""
    layout = call.constant(1)
    return DATETIME if isinstance(layout, str) and "%z" not in layout else MOMENT


def pattern_of(found: Any) -> re.Pattern[str] | None:
    """The compiled pattern of a constant; None if it is not a valid pattern over text."""
    try:
        compiled = re.compile(found)
    except (re.error, TypeError, RecursionError, OverflowError):
        return None
    return compiled if isinstance(compiled.pattern, str) else None


def matching(name: str, pattern: re.Pattern[str] | None, given: list[Type]) -> Type:
    """The result of a method of a pattern for some texts."""
    if pattern is None or not given or any(without_none(each) not in (STR, *INTS) for each in given):
        return ANY
    match name:
        case "match" | "search" | "fullmatch":
            return Optional(Matched(pattern.groups))
        case "finditer":
            return Items(object, Matched(pattern.groups))
        case "findall":
            return List(STR if pattern.groups < 2 else Tuple((STR,) * pattern.groups))
        case "split":
            return List(Optional(STR) if pattern.groups else STR)
        case "sub":
            return STR
        case "subn":
            return Tuple((STR, INT))
    return ANY


def _matching(name: str) -> Callable[[TypedCall], Type]:
    def rule(call: TypedCall) -> Type:
        return matching(name, pattern_of(call.constant(0)), call.types[1:]) if call.arguments else ANY

    return rule


def _deviation(call: TypedCall) -> Type:
    return FLOAT if call.types and item_type(call.types[0]) in NUMBERS else ANY


FUNCTIONS: dict[Any, ResultRow] = {
    **fixed(FLOAT, *_FLOATS),
    **fixed(BOOL, math.isfinite, math.isinf, math.isnan, math.isclose, keywords="rel_tol abs_tol"),
    **fixed(WIDE, math.factorial, math.comb, math.perm, random.getrandbits, secrets.randbits),
    **fixed(Tuple((FLOAT, FLOAT)), math.modf),
    **fixed(Tuple((FLOAT, INT)), math.frexp),
    **fixed(INT, time.time_ns, time.monotonic_ns, time.perf_counter_ns, os.getpid, threading.get_ident),
    **fixed(INT, zlib.crc32, zlib.adler32, binascii.crc32),
    **fixed(INT, sys.getsizeof, of_objects=True),
    **fixed(STR, json.dumps, keywords=_JSON, of_objects=True),
    **fixed(STR, urllib.parse.quote, urllib.parse.quote_plus, urllib.parse.urlencode, keywords="safe doseq"),
    **fixed(STR, urllib.parse.unquote, urllib.parse.unquote_plus),
    **fixed(STR, secrets.token_hex, secrets.token_urlsafe, socket.gethostname, time.strftime, time.ctime),
    **dict.fromkeys((html.escape, html.unescape, re.escape, string.capwords), ResultRow(_all_text(STR))),
    **dict.fromkeys((unicodedata.normalize, unicodedata.category, unicodedata.name), ResultRow(_all_text(STR))),
    **dict.fromkeys((random.random, random.uniform, random.gauss, random.normalvariate), ResultRow(_of_numbers)),
    **dict.fromkeys((random.expovariate, random.lognormvariate), ResultRow(_of_numbers)),
    random.triangular: ResultRow(_triangular),
    **fixed(BYTES, base64.b64encode, base64.b64decode, base64.urlsafe_b64encode, base64.urlsafe_b64decode),
    **fixed(BYTES, base64.b32encode, base64.b16encode, binascii.hexlify, binascii.unhexlify),
    **fixed(BYTES, zlib.compress, zlib.decompress, secrets.token_bytes),
    **fixed(DATE, dt.date, dt.date.today, dt.date.fromisoformat, dt.date.fromordinal, dt.date.fromtimestamp),
    **fixed(MOMENT, dt.datetime.now, dt.datetime.fromtimestamp, dt.datetime.fromisoformat, keywords="tz"),
    **fixed(DELTA, dt.timedelta, keywords="days seconds microseconds milliseconds minutes hours weeks"),
    **fixed(UUID, uuid.uuid1, uuid.uuid3, uuid.uuid4, uuid.uuid5, uuid.UUID),
    **fixed(Instance(decimal.Decimal), decimal.Decimal),
    **fixed(FRACTION, fractions.Fraction),
    **fixed(DIGEST, hashlib.md5, hashlib.sha1, hashlib.sha224, hashlib.sha256, hashlib.sha384, hashlib.sha512,
            hashlib.blake2b, hashlib.blake2s, hashlib.sha3_256, hashlib.sha3_512,
            keywords="usedforsecurity digest_size key salt person"),
    dt.datetime: ResultRow(_datetime),
    dt.datetime.strptime: ResultRow(_parsed),
    math.prod: ResultRow(_product),
    statistics.stdev: ResultRow(_deviation),
    statistics.pstdev: ResultRow(_deviation),
    urllib.parse.urlparse: ResultRow(_all_text(URL)),
    posixpath.basename: ResultRow(_all_text(STR)),
    posixpath.dirname: ResultRow(_all_text(STR)),
    posixpath.join: ResultRow(_all_text(STR)),
    posixpath.normpath: ResultRow(_all_text(STR)),
    posixpath.splitext: ResultRow(_all_text(Tuple((STR, STR)))),
    posixpath.split: ResultRow(_all_text(Tuple((STR, STR)))),
    os.getenv: ResultRow(lambda call: Optional(STR) if len(call.arguments) == 1 else ANY),
    re.match: ResultRow(_matching("match")),
    re.search: ResultRow(_matching("search")),
    re.fullmatch: ResultRow(_matching("fullmatch")),
    re.findall: ResultRow(_matching("findall")),
    re.finditer: ResultRow(_matching("finditer")),
    re.split: ResultRow(_matching("split")),
    re.sub: ResultRow(_matching("sub")),
    re.subn: ResultRow(_matching("subn")),
}  # fmt: skip
"""The rows of functions of the standard library."""

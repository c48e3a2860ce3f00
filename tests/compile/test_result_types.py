"""The table of result types against CPython: each row is called on many values, and the type fits every result."""

from __future__ import annotations

import ast
import datetime as dt
import decimal
import fractions
import functools
import hashlib
import itertools
import math
import operator
import random
import re
import secrets
import unicodedata
import urllib.parse
import uuid
import warnings
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pytest

from morisot.compile.ir.values import NEVER, Known
from morisot.compile.result_types import operators
from morisot.compile.result_types.domain import WIDE, Found, Instance, Items, Mapping, Matched, of_object
from morisot.compile.result_types.library_functions import DIGEST, UUID
from morisot.compile.result_types.methods import ATTRIBUTES, FUNCTIONS, METHODS, kind_of
from morisot.compile.result_types.rows import ResultRow, TypedCall
from morisot.types.element import ANY, INT, NONE, STR, List, Optional, Record, Tuple, Type
from morisot.worker.codec.fits import fitting

NUMBERS = [True, False, -3, 0, 1, 2, 7, 255, -0.0, 0.5, 2.5, 1e300, float("nan"), float("inf")]
TEXTS = [
    "",
    "a",
    "7",
    "-12",
    "1.5",
    "ab, c",
    "ÄÖ ß\n",
    "2024-02-29",
    "%d %s",
    "{} {}",
    "utf-8",
    "%Y",
    "https://a.b/c?d=e#f",
]
BYTES = [b"", b"ab", b"YWI=", b"\xff", b"7"]
TIMES = [dt.date(2024, 2, 29), dt.datetime(2024, 2, 29, 1, 2, 3, 4), dt.timedelta(days=1, seconds=5)]
CONTAINERS: list[Any] = [
    [1, 2, 3],
    [2.5, 0.5],
    ["b", "a", "b"],
    [("k", 1), ("l", 2)],
    [[1], [2, 3]],
    (1, "a"),
    (1, 2),
    (0.5,),
    {"a": 1, "b": 2},
    {1: "x"},
    {"a", "b"},
    frozenset({1, 2}),
    range(3),
    [None, 1],
    ["a", None],
]
VALUES: list[Any] = [*NUMBERS, *TEXTS, *BYTES, *TIMES, *CONTAINERS, None]
LARGE = [2**62, -(2**63), 2**63 - 1, 2**70]
EXPENSIVE = {
    math.factorial, math.comb, math.perm, bytes, range, random.getrandbits, secrets.randbits, secrets.token_hex,
    secrets.token_bytes, secrets.token_urlsafe, random.sample, itertools.product, itertools.permutations,
    itertools.combinations, pow,
}  # fmt: skip
"""Functions that are not called on large numbers."""
MORE: dict[Any, list[list[Any]]] = {
    random.triangular: [[1, 1, 1], [0.5, 0.5, 1]],
    isinstance: [[1, int]],
    issubclass: [[bool, int]],
    unicodedata.normalize: [["NFC", "ä"]],
    zlib.decompress: [[zlib.compress(b"a")]],
    dt.date: [[2024, 2, 29]],
    dt.datetime: [[2024, 2, 29], [2024, 2, 29, 1, 2, 3, 4], [2024, 2, 29, 1, 2, 3, 4, dt.UTC]],
    dt.datetime.strptime: [["2024", "%Y"], ["2024 +0100", "%Y %z"]],
    uuid.UUID: [["00000000-0000-0000-0000-000000000005"]],
    random.randint: [[1, 5]],
    itertools.chain.from_iterable: [[[[1], [2]]]],
}
"""Arguments that the values above do not have."""
USUAL = [2, 7, 0.5, "a", "ab, c", [1, 2, 3], (1, 2), b"ab"]
OF_FUNCTIONS = {next, functools.reduce, itertools.takewhile, itertools.dropwhile, map, filter, uuid.uuid3, uuid.uuid5}
"""Functions that take a function, an iterator or a namespace. The closures below call them."""
QUIET = {print, type}
"""Functions that are tested with closures below, or whose result has no type."""


def fits(value: Any, type_: Type) -> bool:
    """Whether a value is of a type inside a function. Items of an iterator are looked at, up to twenty."""
    match type_:
        case Optional(inner):
            return value is None or fits(value, inner)
        case Tuple(items):
            return type(value) is tuple and len(value) == len(items) and all(map(fits, value, items))
        case Record(cls, names, items):
            return type(value) is cls and all(map(fits, (getattr(value, name) for name in names), items))
        case List() | Mapping() | Items():
            return _fits_container(value, type_)
        case Matched(groups):
            return isinstance(value, re.Match) and len(value.groups()) == groups
        case Instance(cls):
            return hasattr(value, "hexdigest") if type_ == DIGEST else type(value) is cls
    return _fits_scalar(value, type_)


def _fits_container(value: Any, type_: Type) -> bool:
    contents: Any = value
    match type_:
        case List(item):
            return type(value) is list and all(fits(each, item) for each in value)
        case Mapping(key, item, cls):
            return type(value) is cls and all(fits(k, key) and fits(v, item) for k, v in contents.items())
        case Items(cls, item):
            right = cls is object or type(value) is cls
            return right and all(fits(each, item) for each in itertools.islice(value, 20))
    raise AssertionError(type_)


def _fits_scalar(value: Any, type_: Type) -> bool:
    """The range of an int and the characters of a text are tested when the value is encoded."""
    if type_ in (ANY, NEVER):
        return type_ == ANY
    if type_ in (WIDE, INT, STR):
        return type(value) is (str if type_ == STR else int)
    return fitting(type_)(value)


def predicted(row: ResultRow, arguments: list[Found]) -> Type:
    return row.applied(TypedCall(arguments, {}, lambda *_: ANY))[0]


def checked(row: ResultRow, function: Any, arguments: Iterable[Any], owner: Sequence[Type] = ()) -> bool:
    """Compares the row with a call; whether the call returned and its type was known."""
    given = list(arguments)
    held = [*owner, *given]
    types = [predicted(row, [*owner, *map(of_object, given)]), predicted(row, [*owner, *map(Known, given)])]
    try:
        value = function(*given)
        if isinstance(value, Iterator):
            value = list(itertools.islice(value, 20))
            types = [List(each.item) if isinstance(each, Items) else each for each in types]
    except Exception:
        return False
    for type_ in types:
        assert fits(value, type_), (function, held, value, str(type_))
    return types[0] != ANY or types[1] != ANY


def combinations(values: list[Any], chance: random.Random, tries: int = 60) -> Iterator[tuple[Any, ...]]:
    yield ()
    yield from ((value,) for value in values)
    for count in (2, 3):
        yield from (tuple(chance.choice(values) for _ in range(count)) for _ in range(tries))


def name_of(function: Any) -> str:
    return f"{getattr(function, '__module__', '')}.{getattr(function, '__qualname__', function)}"


@pytest.fixture(autouse=True)
def _no_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.mark.parametrize("function", [each for each in FUNCTIONS if each not in QUIET], ids=name_of)
def test_a_function_returns_the_type_of_its_row(function: Any, chance: random.Random) -> None:
    row = FUNCTIONS[function]
    known = [checked(row, function, arguments) for arguments in combinations(VALUES, chance)]
    for number in LARGE if function not in EXPENSIVE else []:
        checked(row, function, [number])
    known += [checked(row, function, arguments) for arguments in MORE.get(function, [])]
    usual = (each for count in (2, 3) for each in itertools.product(USUAL, repeat=count))
    known += [checked(row, function, arguments) for arguments in (() if any(known) else usual)]
    assert any(known) or function in OF_FUNCTIONS, "no call of the function returned a value of a known type"


OWNERS: list[Any] = [
    *VALUES,
    2**70,
    Counter("abca"),
    decimal.Decimal("1.50"),
    fractions.Fraction(1, 3),
    hashlib.md5(b"a"),
    hashlib.blake2b(b"a"),
    urllib.parse.urlparse("https://user@a.b:80/c;p?d=e#f"),
    uuid.UUID(int=5),
    dt.time(1, 2, 3),
    dt.datetime(2024, 1, 1, tzinfo=dt.UTC),
    re.match(r"(a)(b)?", "ac"),
    re.match(r"a", "a"),
]


def owner_type(value: Any) -> Type:
    """The type of an object, also of a class that no captured value has a type for."""
    if isinstance(value, re.Match):
        return Matched(len(value.groups()))
    if isinstance(value, Counter):
        return Mapping(STR, INT, Counter)
    if hasattr(value, "hexdigest"):
        return DIGEST
    found = of_object(value)
    return Instance(type(value)) if found == ANY else found


@pytest.mark.parametrize("owner", OWNERS, ids=[f"{type(each).__name__}{place}" for place, each in enumerate(OWNERS)])
def test_a_method_returns_the_type_of_its_row(owner: Any, chance: random.Random) -> None:
    type_ = owner_type(owner)
    arguments = [0, 1, 3, 0.5, "a", "utf-8", ",", b"a", None, (1, 2), ["a", "b"], {"a", "c"}, {"a": 1}, TIMES[0]]
    for name, row in METHODS.get(kind_of(type_), {}).items():
        method = getattr(owner, name, None)
        if method is None:
            assert (type(owner), name) == (dict, "most_common")
            continue
        for given in combinations(arguments, chance, 12):
            checked(row, method, given, [type_])
    for name, attribute in ATTRIBUTES.get(kind_of(type_), {}).items():
        assert fits(getattr(owner, name), attribute), name


BINARY = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
}


@pytest.mark.parametrize("kind", BINARY, ids=lambda each: each.__name__)
def test_an_operator_returns_its_type(kind: type[ast.operator]) -> None:
    values = [*VALUES, decimal.Decimal("2.5"), *([] if kind in (ast.Pow, ast.LShift, ast.Mult) else LARGE)]
    for left, right in itertools.product(values, repeat=2):
        try:
            value = BINARY[kind](left, right)
        except Exception:
            continue
        for known_left, known_right in itertools.product((True, False), repeat=2):
            operands: list[Found] = [
                Known(each) if known else of_object(each) for each, known in ((left, known_left), (right, known_right))
            ]
            type_ = operators.binary(kind(), *operands)
            assert fits(value, type_), (left, right, value, str(type_))


def test_unary_operators_items_and_slices_return_their_types() -> None:
    unary = {ast.Not: operator.not_, ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Invert: operator.invert}
    for value in [*VALUES, *LARGE, decimal.Decimal("2.5")]:
        for kind, function in unary.items():
            _compare(operators.unary(kind(), of_object(value)), function, value)
        for index in (0, 1, -1, True, "a", None, 0.5):
            for found in (Known(index), of_object(index)):
                _compare(operators.element_at(of_object(value), found), operator.getitem, value, index)
        for bounds in itertools.product((None, 0, 1, -1), (None, 2), (None, -1)):
            for constants in (bounds, None):
                _compare(operators.slice_of(of_object(value), constants), operator.getitem, value, slice(*bounds))


def _compare(type_: Type, function: Any, *arguments: Any) -> None:
    try:
        value = function(*arguments)
    except Exception:
        return
    assert fits(value, type_), (function, arguments, value, str(type_))


def test_uuids_of_a_namespace_have_their_type() -> None:
    assert fits(uuid.uuid5(uuid.NAMESPACE_DNS, "a"), predicted(FUNCTIONS[uuid.uuid5], [UUID, STR]))
    assert predicted(FUNCTIONS[print], [STR]) == NONE

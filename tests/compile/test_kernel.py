"""Kernels: which functions become machine code, and that they give CPython's value or give the row back."""

# ruff: noqa: E501 - a row of a table is a line

from __future__ import annotations

import dataclasses
import itertools
import math
import os
import pickle
import random
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest

from morisot.compile import choose
from morisot.compile.choose import verdict_of
from morisot.compile.kernel import calls
from morisot.compile.kernel.branchless import branchless
from morisot.compile.kernel.function import compile_kernel
from morisot.compile.verdict import KernelForm, Refusal, StageForm
from morisot.errors import ElementError, Location
from morisot.plan.nodes.closure import Closure
from morisot.types.element import (
    ANY,
    BOOL,
    FLOAT,
    INT,
    STR,
    Keyed,
    List,
    Optional,
    Record,
    Tuple,
    Type,
    arguments,
    leaves,
    with_value,
)
from morisot.types.infer import of_annotation, of_record_class
from morisot.worker.codec.batches import decode, encode, schema_of
from morisot.worker.rowwise import kernel_stage, kernels
from morisot.worker.rowwise.kernels import Kernel, compiled, library_function, loop_source
from morisot.worker.rowwise.steps import Step
from tests.properties.proof.outcomes import FAILED, by_python, same
from tests.properties.proof.values import Values
from tests.randomness import PROFILE

INTS = [0, 1, -1, 2, -2, 3, 7, -7, 10, 62, 63, 64, 2**31, -(2**31), 2**53, 2**53 + 1, -(2**53) - 1, 2**62, -(2**62)]
INTS += [3037000499, 3037000500, -3037000500, 2**63 - 1, -(2**63) + 1, -(2**63)]
FLOATS = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 0.1, 3.0, -7.0, 1e-320, 5e-324, 2.2250738585072014e-308]
FLOATS += [1e308, -1e308, 1.7976931348623157e308, 2.0**53, 2.0**63, -(2.0**63), 9.3e18, 1e16 + 2, 709.8, 745.2]
FLOATS += [math.inf, -math.inf, math.nan, 0.49999999999999994, 4503599627370497.5, math.pi, 1e22]
VALUES: dict[Type, list[Any]] = {INT: INTS, FLOAT: FLOATS, BOOL: [False, True]}
TIMES = 3


class Point(NamedTuple):
    x: float
    y: float
    name: str = ""


@dataclasses.dataclass(frozen=True)
class Pair:
    a: int
    b: float


def twice(x: float, times: float = 2.0) -> float:
    return x * times


def gcd(a: int, b: int) -> int:
    while b:
        a, b = b, a % b
    return a


def recursive(n: int) -> int:
    return recursive(n - 1) if n > 0 else 0


GLOBALS = {
    name: globals()[name] for name in ("math", "Point", "Pair", "twice", "gcd", "recursive", "TIMES")
} | {"sin": math.sin}  # fmt: skip

# The parameters' types, a function, the type of its result.
KERNEL: list[tuple[tuple[Type, ...], str, str | None]] = [
    ((INT, INT), "lambda a, b: (a + b, a - b, a * b)", "tuple[int, int, int]"),
    ((INT, INT), "lambda a, b: (a // b, a % b)", "tuple[int, int]"),
    ((INT, INT), "lambda a, b: divmod(a, b)", "tuple[int, int]"),
    ((INT, INT), "lambda a, b: a / b", "float"),
    ((INT,), "lambda a: (a // 3, a % 3, a // -3, a % -3, a // -1, a % -1, a / 7)", None),
    ((INT,), "lambda a: (a ** 2, a ** 0, a ** 1)", "tuple[int, int, int]"),
    ((INT,), "lambda a: a ** 5", "int"),
    ((INT,), "lambda a: a ** -1", "float"),
    ((INT, INT), "lambda a, b: (a & b, a | b, a ^ b, ~a, +a)", None),
    ((INT, INT), "lambda a, b: a << (b % 70 - 3)", "int"),
    ((INT, INT), "lambda a, b: a >> (b % 70 - 3)", "int"),
    ((INT,), "lambda a: (-a, abs(a))", "tuple[int, int]"),
    ((INT, INT), "lambda a, b: (a < b, a == b, a >= b, a != b, 0 < a <= b < 10)", None),
    ((INT, INT), "lambda a, b: (min(a, b, 3), max(a, b), a and b, a or b, not a)", None),
    ((INT,), "lambda a: (float(a), int(a), bool(a), round(a), math.floor(a), math.sqrt(abs(a)))", None),
    ((INT,), "lambda a: a in (1, 2, 7)", "bool"),
    ((FLOAT, FLOAT), "lambda a, b: (a + b, a - b, a * b, a * b + a, a - a * b)", None),
    ((FLOAT, FLOAT), "lambda a, b: a / b", "float"),
    ((FLOAT, FLOAT), "lambda a, b: a // b", "float"),
    ((FLOAT, FLOAT), "lambda a, b: a % b", "float"),
    ((FLOAT, FLOAT), "lambda a, b: (a < b, a <= b, a == b, a != b, a > b, a >= b, -1 < a < b)", None),
    ((FLOAT, FLOAT), "lambda a, b: (min(a, b), max(a, b), a and b, a or b, -a, abs(a), math.copysign(a, b))", None),
    ((FLOAT,), "lambda a: (bool(a), not a, math.isnan(a), math.isinf(a), math.isfinite(a), math.fabs(a))", None),
    ((FLOAT,), "lambda a: int(a)", "int"),
    ((FLOAT,), "lambda a: round(a)", "int"),
    ((FLOAT,), "lambda a: (math.floor(a), math.ceil(a), math.trunc(a))", "tuple[int, int, int]"),
    ((FLOAT,), "lambda a: (a ** 2, a ** 3)", None),
    ((FLOAT,), "lambda a: (a ** -1, a ** 2.0)", None),
    ((FLOAT,), "lambda a: (2 ** a, 10.0 ** a)", None),
    ((FLOAT,), "lambda a: (math.degrees(a), math.radians(a), math.pi * a, -0.0 if a else a)", None),
    ((INT, FLOAT), "lambda n, x: (n + x, x - n, n * x, n + 0.5)", None),
    ((INT, FLOAT), "lambda n, x: (n < x, n == x, x >= n, n == 3.0, x < 2)", None),
    ((BOOL, BOOL), "lambda p, q: (p + q, p and q, p or q, p & q, p ^ q, not p, p < q, -p, abs(p), int(p))", None),
    ((BOOL, INT, FLOAT), "lambda p, n, x: (p + n, p * x, p == n, x if p else 0.0, n if p else -1)", None),
    ((FLOAT,), "lambda x: sin(x)", "float"),
    ((FLOAT, FLOAT), "lambda y, x: math.atan2(y, x)", "float"),
    ((FLOAT,), "lambda x: math.log(x, 10)", "float"),
    ((INT,), "lambda n: math.log(n)", "float"),
    ((INT,), "lambda n: TIMES * twice(n) + twice(n, times=1.5) + twice(1.0)", "float"),
    ((INT, INT), "lambda a, b: gcd(a, b)", "int"),
    ((Tuple((INT, FLOAT)),), "lambda t: (t[0] + 1, (t[1], t[-1] * 2))", "tuple[int, tuple[float, float]]"),
    ((of_record_class(Point),), "lambda p: math.sin(p.x) + p[1]", "float"),
    ((of_record_class(Pair),), "lambda p: Pair(p.a, b=math.cos(p.b))", "Pair"),
    ((STR, FLOAT), "lambda key, x: math.sin(x)", "float"),
    ((FLOAT,), "def f(x):\n    x = int(x)\n    return x * 2", "int"),
    ((INT,), "def f(n):\n    a, b = 0, 1\n    for _ in range(n % 100):\n        a, b = b, a + b\n    return a", "int"),
    ((INT,), "def f(n):\n    t = 0\n    for i in range(n % 9, -n % 13 - 6, -2):\n        i += 5\n        t += i\n    return t", "int"),
    ((INT, INT), "def f(n, s):\n    t = 0\n    for i in range(0, n % 50, s):\n        t += i\n    return t", "int"),
    ((INT,), "def f(n):\n    t = 1\n    for i in range(1, n % 23):\n        if i % 3 == 0:\n            continue\n        if i > 15:\n            break\n        t *= i\n    return t", "int"),
    ((INT,), "def f(n):\n    while True:\n        n //= 2\n        if -2 < n < 2:\n            k = n\n            break\n    return k", "int"),
    ((FLOAT,), "def f(x):\n    if x < 0:\n        raise ValueError(f'negative {x}')\n    elif x > 1e9:\n        return x\n    y = x\n    for _ in range(20):\n        y = (y + x / (y or 1.0)) / 2\n    return y", "float"),
    ((FLOAT,), "def f(x):\n    assert x != 1.0\n    p = (x, x + 1)\n    q = p\n    p = (p[1], p[0])\n    return p[0] - q[0], p", None),
    ((INT,), "def f(n):\n    t = 0\n    for i in range(n % 5):\n        for j in range(i):\n            if j == 2:\n                break\n            t += i * j\n        else_ = t\n    return t", "int"),
    ((INT,), "lambda n: (m := n) + m", "int"),
    ((INT,), "lambda n: n + (n := 3) * n", "int"),
    ((INT,), "def f(n):\n    steps = 0\n    while (n := n // 2) > 0:\n        steps += n\n    return steps, n", None),
    ((INT,), "def f(n):\n    for d in range(2, n % 30):\n        if n % d == 0:\n            break\n    else:\n        return -1\n    return n", "int"),
    ((INT,), "def f(n):\n    i = 0\n    while i < n % 7:\n        i += 1\n        if i == 5:\n            break\n    else:\n        i = 100\n    return i", "int"),
    ((FLOAT,), "lambda x: (round(x, 2), round(x, 0), round(x, 5), round(x, 15))", None),
    ((INT,), "lambda n: (round(n, 2), math.isqrt(n))", "tuple[int, int]"),
    ((INT, INT), "lambda a, b: math.gcd(a, b)", "int"),
    ((INT, FLOAT), "def f(n, x):\n    a, b = map(math.radians, (x, 2.0))\n    c, d = map(abs, (n, x))\n    return a + b, c, d", None),
    ((INT,), "def f(n):\n    best = current = 0\n    for i in range(n % 20):\n        current = current + 1 if i % 3 else 0\n        best = max(best, current)\n    return best", "int"),
    ((INT,), "def f(p):\n    p_0 = p\n    p = (1, 2)\n    return p_0 + p[0]", "int"),
    ((INT,), "def f(t1):\n    c = 5 if t1 > 0 else t1\n    t2 = (c, t1) if c else (0, 0)\n    t1, c = c, t1\n    return t1, c, t2", None),
]  # fmt: skip

REFUSED: list[tuple[tuple[Type, ...], str, str]] = [
    ((INT,), "lambda n: str(n)", "str has no kernel form"),
    ((STR,), "lambda s: s * 2", "a kernel works on numbers"),
    ((ANY,), "lambda x: x is None", "is None has no kernel form"),
    ((INT, INT), "lambda a, b: a ** b", "is a float where the exponent is negative"),
    ((FLOAT,), "lambda x: x ** 0.5", "is complex where its base is negative"),
    ((Optional(INT),), "lambda n: math.sin(n or 0)", "its result for None"),
    ((INT, FLOAT), "lambda n, x: max(n, x)", "is int or float"),
    ((INT, FLOAT), "lambda n, x: n if n else x", "int in one branch and float in the other"),
    ((INT,), "lambda n: math.hypot(n, n)", "math.hypot has no kernel form"),
    ((INT,), "lambda n: math.gamma(n)", "math.gamma has no kernel form"),
    ((INT,), "lambda n: 1 // 0", "always fails"),
    ((INT,), "lambda n: n + 2 ** 70", "beyond 64 bits"),
    ((INT,), "lambda n: [n]", "a list has no kernel form"),
    ((INT,), "lambda n: recursive(n)", "calls itself"),
    ((INT,), "lambda n: (m + n if n > 0 and (m := n) else m)", "m is not set on every path"),
    ((STR, INT), "lambda s, n: ('a', n)", "is not a number"),
    ((STR, STR, INT), "lambda s, t, n: (s if n else t, n)", "one str or another"),
    ((List(INT), INT), "lambda xs, n: xs[1:]", "a part of type list"),
    ((List(INT),), "def f(xs):\n    for i in range(3):\n        xs = xs[1:]\n    return len(xs)", "xs is another list"),
    ((List(STR),), "def f(xs):\n    n = 0\n    for x in xs:\n        n += 1\n    return n", "range(…) or a list of numbers"),
    ((INT,), "def f(n):\n    t = 0\n    for i in range(n):\n        t += i * 0.5\n    return t", "t is int before the loop and float"),
    ((INT,), "def f(n):\n    if n > 0:\n        y = 1\n    else:\n        y = 1.0\n    return y", "y is int on one path to here and float"),
    ((INT,), "def f(n):\n    for i in range(n):\n        pass\n    return i", "i is not set on every path"),
    ((INT,), "def f(n):\n    if n > 0:\n        return n", "returns None on some path"),
    ((INT,), "def f(n):\n    if n > 0:\n        return n\n    return 0.0", "int on one path and float on another"),
    ((INT,), "def f(n):\n    for x in [1, 2]:\n        n += x\n    return n", "a list has no kernel form"),
    ((INT,), "def f(n):\n    try:\n        return n\n    except ValueError:\n        return 0", "try has no kernel form"),
    ((INT,), "def f(n) -> float:\n    for i in range(3):\n        n += i\n    return n", "declared to return float"),
]  # fmt: skip


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    return (tmp_path_factory.mktemp("kernels") / f"page{number}.py" for number in itertools.count())


Maker = Callable[[str], Callable[..., Any]]


@pytest.fixture(scope="module")
def function_of(pages: Iterator[Path]) -> Maker:
    """The function a text makes, in a file of its own, as a user's."""

    def make(text: str) -> Callable[..., Any]:
        page, namespace = next(pages), dict(GLOBALS)
        page.write_text(text if text.startswith("def ") else f"f = {text}\n")
        exec(compile(page.read_text(), str(page), "exec", dont_inherit=True), namespace)
        return namespace["f"]  # type: ignore[no-any-return]

    return make


def kernel_of(function: Callable[..., Any], parameters: tuple[Type, ...], declared: Type | None = None) -> Kernel:
    found = compile_kernel(function, parameters, declared)
    assert not isinstance(found, Refusal), found
    return found[1]


def flat(value: Any) -> Iterator[Any]:
    if dataclasses.is_dataclass(value):
        value = dataclasses.astuple(value)  # type: ignore[arg-type]
    if isinstance(value, tuple):
        for part in value:
            yield from flat(part)
    else:
        yield value


def run(kernel: Kernel, parameters: tuple[Type, ...], rows: Sequence[tuple[Any, ...]]) -> list[tuple[Any, ...] | None]:
    """What the kernel makes of rows of leaves; None where it gives the row back."""
    places = [(number, leaf.path) for number, type_ in enumerate(parameters) for leaf in leaves(type_)]
    kinds = [leaf.type for type_ in parameters for leaf in leaves(type_)]
    used = [places.index(place) for place in kernel.inputs]
    outputs = [leaf.type for leaf in leaves(kernel.type)]
    dtype: dict[Type, Any] = {INT: np.int64, FLOAT: np.float64, BOOL: np.bool_}
    names = [f"r{place}" for place in range(len(outputs))]
    given_ = ", ".join(f"a{place}[i]" for place in range(len(used)))
    lines = [
        f"({', '.join(['done', *names])},) = kernel0({given_})",
        "if not done:",
        "    status[i] = 2",
        "    continue",
    ]
    lines += [f"o{place}[i] = {name}" for place, name in enumerate(names)]
    arrays = [*(f"a{place}" for place in range(len(used))), *(f"o{place}" for place in range(len(outputs)))]
    text = loop_source(lines, arrays)
    code = compiled((kernel.source,), text, tuple(kinds[place] for place in used), tuple(outputs))
    inputs = [np.array([row[place] for row in rows], dtype[kinds[place]]) for place in used]
    results = [np.zeros(len(rows), dtype[type_]) for type_ in outputs]
    status = np.zeros(len(rows), np.int16)
    code(len(rows), status, *inputs, *results)
    columns = [result.tolist() for result in results]
    return [tuple(column[i] for column in columns) if status[i] == 1 else None for i in range(len(rows))]


def bits(values: Sequence[Any]) -> list[Any]:
    """Values to compare by type and bits; every NaN is one."""
    return [
        (type(v), "nan" if isinstance(v, float) and v != v else struct.pack("d", v) if isinstance(v, float) else v)
        for v in values
    ]


def rows_of(parameters: tuple[Type, ...]) -> list[tuple[Any, ...]]:
    kinds = [VALUES.get(leaf.type, ["text"]) for type_ in parameters for leaf in leaves(type_)]
    return list(itertools.product(*kinds))


def build(type_: Type, parts: Iterator[Any]) -> Any:
    if not type_.children:
        return next(parts)
    items = [build(child, parts) for _, child in type_.children]
    return type_.cls(*items) if isinstance(type_, Record) else tuple(items)


def check(function: Callable[..., Any], parameters: tuple[Type, ...], rows: list[tuple[Any, ...]]) -> float:
    """Compare with CPython; the share of the rows that CPython could do and the kernel did not."""
    missed = could = 0
    for row, found in zip(rows, run(kernel_of(function, parameters), parameters, rows), strict=True):
        parts = iter(row)
        arguments = [build(type_, parts) for type_ in parameters]
        try:
            expected = list(flat(function(*arguments)))
        except Exception:
            assert found is None, f"{row}: {found} where CPython raises"
            continue
        if any(type(value) is int and not -(2**63) <= value < 2**63 for value in expected):
            assert found is None, f"{row}: {found} where CPython leaves 64 bits"
            continue
        could += 1
        missed += found is None
        if found is not None:
            assert bits(found) == bits(expected), f"{row}: {found} where CPython gives {expected}"
    return missed / max(could, 1)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize(("parameters", "text", "result"), KERNEL, ids=[text for _, text, _ in KERNEL])
def test_a_kernel_gives_what_cpython_gives(
    function_of: Maker, parameters: tuple[Type, ...], text: str, result: str | None
) -> None:
    function = function_of(text)
    found = compile_kernel(function, parameters, None)
    assert not isinstance(found, Refusal), found
    assert result is None or str(found[0]) == result
    assert check(function, parameters, rows_of(parameters)) < 0.8


@pytest.mark.parametrize(("parameters", "text", "reason"), REFUSED, ids=[text for _, text, _ in REFUSED])
def test_refused(function_of: Maker, parameters: tuple[Type, ...], text: str, reason: str) -> None:
    found = compile_kernel(
        function := function_of(text),
        parameters,
        of_annotation(function.__annotations__["return"]) if function.__annotations__ else None,
    )
    assert isinstance(found, Refusal), found
    assert reason in found.reason


LISTS: list[tuple[Type, str]] = [
    (List(INT), "lambda xs: (len(xs), bool(xs), xs[0] if xs else -1)"),
    (List(INT), "lambda xs: math.sin(xs[-2]) if len(xs) > 1 else 0.0"),
    (List(INT), "def f(xs):\n    best = current = 0\n    for x in xs:\n        current = current + 1 if x > 0 else 0\n        best = max(best, current)\n    return best"),
    (List(INT), "def f(xs):\n    total = 0\n    for i, x in enumerate(xs):\n        total += x if i % 2 == 0 else -x\n    return total"),
    (List(FLOAT), "def f(xs):\n    total = 0.0\n    for i in range(1, len(xs)):\n        total += abs(xs[i] - xs[i - 1])\n    return total"),
    (List(FLOAT), "def f(xs):\n    value = xs[0]\n    for x in xs[1:]:\n        value = 0.5 * value + 0.5 * x\n    return value"),
    (List(FLOAT), "def f(xs):\n    mean = sum(xs) / len(xs)\n    total = 0.0\n    for x in xs:\n        total += (x - mean) ** 2\n    return total"),
    (List(FLOAT), "def f(xs):\n    low, high = min(xs), max(xs)\n    for x in xs[-3:-1]:\n        low += x\n    return low, high"),
    (List(BOOL), "def f(xs):\n    n = 0\n    for x in xs:\n        if x:\n            n += 1\n    return n + sum(xs)"),
    (List(INT), "def f(xs):\n    for x in xs:\n        if x == 7:\n            break\n    else:\n        return -1\n    return len(xs)"),
    (Tuple((List(INT), List(FLOAT), STR)), "def f(t):\n    total = 0.0\n    for a, b in zip(t[0], t[1]):\n        total += a * b\n    return t[2], total, t[0]"),
    (Tuple((STR, INT, Optional(STR))), "def f(t):\n    name, n, other = t\n    total = 0\n    for i in range(n % 5):\n        total += i\n    return other, total, name"),
    (of_record_class(Point), "def f(p):\n    x = p.x\n    for i in range(3):\n        x = x * 0.5\n    return Point(x, p.y, p.name)"),
]  # fmt: skip


@pytest.mark.parametrize(("type_", "text"), LISTS, ids=[text for _, text in LISTS])
def test_lists_and_what_passes_by(function_of: Maker, chance: random.Random, type_: Type, text: str) -> None:
    """Through the whole pass, on values of all kinds; only rows that Python has to do are done there."""
    function = function_of(text)
    values = Values(chance)
    elements = [values.of(type_) for _ in range(300)]
    fine = []
    for element in elements:
        found = by_python(function, (element,))
        if found is not FAILED:
            fine.append((element, found))
    seen: list[Any] = []
    results = through(stage([("map", function)], type_, seen), [element for element, _ in fine])
    assert len(fine) > 100
    assert len(seen) < len(fine) / 2
    assert all(map(same, results, [expected for _, expected in fine]))
    failing = next((element for element in elements if by_python(function, (element,)) is FAILED), None)
    if failing is not None:
        with pytest.raises(ElementError):
            through(stage([("map", function)], type_, seen), [failing])


@pytest.mark.parametrize(
    "xs",
    [
        [0.1] * 10,
        [1.0, 1e100, 1.0, -1e100],
        [1e308, 1e308, -1e308],
        [math.inf, 1.0, -1.0],
        [math.inf, -math.inf],
        [1.0, math.nan],
        [-0.0],
        [-0.0, 5e-324, -5e-324],
    ],
    ids=str,
)
def test_a_sum_of_floats_is_that_of_the_running_python(function_of: Maker, xs: list[float]) -> None:
    """From Python 3.12 on what rounding loses is added at the end."""
    function, seen = function_of("lambda xs: (math.sin(len(xs)), sum(xs))"), list[Any]()
    (found,) = through(stage([("map", function)], List(FLOAT), seen), [xs])
    assert same(found, (math.sin(len(xs)), sum(xs)))
    assert seen == []


def test_a_key_is_made_by_a_kernel() -> None:
    seen: list[Any] = []

    def steps(p: Point) -> int:
        n, count = int(p.x), 0
        while n > 1:
            n //= 2
            count += 1
        return count

    element, points = of_record_class(Point), [Point(8.0, 0.5, "a"), Point(1e300, 1.0, "b"), Point(3.0, 0.0)]
    chain: list[tuple[str, Callable[..., Any]]] = [
        ("key_by", steps),
        ("map", lambda key, p: (p.name, math.sin(p.y))),
        ("filter", lambda key, t: key > 1),
    ]
    expected = [(steps(p), (p.name, math.sin(p.y))) for p in points if steps(p) > 1]
    assert through(stage(chain, element, seen), points) == expected
    keyed: list[tuple[str, Callable[..., Any]]] = [("map", lambda key, n: n * 2), ("key_by", lambda n: n // 3)]
    assert through(stage(keyed, Keyed(STR, INT), seen), [("a", 4), ("b", 9)]) == [(2, 8), (6, 18)]


@pytest.mark.parametrize("name", [name for name in calls.LIBM if hasattr(math, name)])
def test_the_c_library_is_pythons_bit_for_bit(name: str, chance: random.Random) -> None:
    """Each function that is admitted, on numbers of all sizes and on those where it is special."""
    function = getattr(math, name)
    two = name in ("pow", "fmod", "atan2")
    many = 4000 if os.environ.get(PROFILE) == "thorough" else 600
    numbers = [*FLOATS, *(chance.uniform(-3, 3) for _ in range(many))]
    numbers += [chance.uniform(-1, 1) * 10.0 ** chance.randint(-320, 308) for _ in range(many)]
    numbers += [struct.unpack("d", chance.randbytes(8))[0] for _ in range(many)]
    chance.shuffle(numbers)
    rows: list[tuple[Any, ...]] = [(x,) for x in numbers]
    if two:
        rows = [*itertools.pairwise(numbers), *itertools.product(FLOATS, FLOATS)]
    parameters = (FLOAT,) * (2 if two else 1)
    assert library_function(name) is not None
    assert check(function, parameters, rows) < (0.01 if not two else 0.2)


def test_where_the_type_is_declared_a_row_may_differ_in_python(function_of: Maker) -> None:
    root = function_of("lambda x: x ** 0.5")
    kernel = kernel_of(root, (FLOAT,), FLOAT)
    assert run(kernel, (FLOAT,), [(2.0,), (-2.0,)]) == [(2.0**0.5,), None]
    power = function_of("lambda a, b: a ** b")
    rows = [(2, 10), (3, 39), (3, 40), (-2, 63), (0, 0), (2, -1), (1, 2**62), (-1, 2**62 + 1)]
    found = run(kernel_of(power, (INT, INT), INT), (INT, INT), rows)
    assert found == [(1024,), (3**39,), None, (-(2**63),), (1,), None, (1,), (-1,)]


def test_the_ladder_takes_columns_before_kernels_and_kernels_before_stages() -> None:
    def form(function: Callable[..., Any], *parameters: Type) -> str:
        return verdict_of(Closure(function, Location(__file__, 1), "map"), parameters).form

    assert form(lambda n: n + 1, INT) == "column"
    assert form(lambda n: math.sin(n), INT) == "kernel"
    assert form(lambda n: hash(str(n)), INT) == "stage"
    assert form(math.sin, FLOAT) == "kernel"


def test_a_function_with_loops_says_why_it_is_no_kernel() -> None:
    def total(n: int) -> Any:
        t = 0
        for i in range(n):
            t += i * 0.5  # type: ignore[assignment]
        return t

    verdict = verdict_of(Closure(total, Location(__file__, 1), "map"), (INT,))
    assert isinstance(verdict, StageForm)
    assert "a for loop has no column form; and t is int before the loop" in verdict.refusal.reason
    assert "0.0" in verdict.refusal.advice


def test_a_short_branch_becomes_a_choice_between_two_results() -> None:
    """Both sides are computed; only an overflow on the side that is taken fails."""
    lines = [
        *("if t1:", "    t2, t3 = add(n, 1)", "    if t3: return BAD", "    t4 = t2"),
        *("else:", "    t4 = n"),
    ]
    assert branchless(lines) == [
        *("t4c = t1", "t2, t3 = add(n, 1)", "t4a = t2", "t4b = n"),
        *("if ((t3) & t4c): return BAD", "t4 = t4a if t4c else t4b"),
    ]


@pytest.mark.parametrize("line", ["    t2 = sqrt(n)", "    while t1: t1 = step(n)", "    total = n"])
def test_a_branch_that_does_something_else_stays_a_jump(line: str) -> None:
    lines = ["if t1:", line, "    t4 = n", "else:", "    t4 = 1"]
    assert branchless(lines) == lines


def test_a_kernel_keeps_why_it_is_no_column() -> None:
    verdict = verdict_of(Closure(lambda x: math.sin(x), Location(__file__, 1), "map"), (FLOAT,))
    assert isinstance(verdict, KernelForm)
    assert "math.sin" in verdict.refusal.reason
    assert verdict.type == FLOAT


def test_only_the_leaves_that_are_read_are_inputs() -> None:
    point = of_record_class(Point)
    assert kernel_of(lambda key, p: math.sin(p.y), (STR, point)).inputs == ((1, (1,)),)
    optional = Tuple((Optional(INT), FLOAT))
    assert kernel_of(lambda t: math.sin(t[1]), (optional,)).inputs == ((0, (1,)),)
    tested = kernel_of(lambda t: 0.0 if t[0] is None else math.sin(t[1]), (optional,), FLOAT)
    assert tested.inputs == ((0, (0,)), (0, (1,)))
    assert isinstance(compile_kernel(lambda pair: math.sin(pair[1]), (Keyed(STR, FLOAT),), None), tuple)


def test_importing_morisot_does_not_import_numba() -> None:
    code = "import sys, morisot; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def stage(
    functions: Sequence[tuple[Any, Callable[..., Any]]], type_: Type, seen: list[Any], **options: Any
) -> kernel_stage.KernelStage:
    """A pass whose Python functions note what they are called with."""
    steps, kernels, current = [], [], type_
    for kind, function in functions:
        parameters = arguments(current)
        verdict = choose.kernel(
            Closure(function, Location(__file__, 1), kind), parameters[-1:] if kind == "key_by" else parameters
        )
        assert isinstance(verdict, KernelForm), verdict

        def noting(*values: Any, function: Callable[..., Any] = function) -> Any:
            seen.append(values)
            return function(*values)

        steps.append(Step(kind, kind, Location(__file__, 1), isinstance(current, Keyed), noting))
        kernels.append(verdict.kernel)
        if kind == "key_by":
            current = Keyed(verdict.type, parameters[-1])
        else:
            current = current if kind == "filter" else with_value(current, verdict.type)
    return kernel_stage.KernelStage(
        tuple(steps), tuple(kernels), type_, current, pickle.dumps, **{"patience": 0.0, **options}
    )


def through(task: kernel_stage.KernelStage, elements: list[Any]) -> list[Any]:
    batch = pa.RecordBatch.from_arrays(encode(elements, task.input, pickle.dumps), schema=schema_of(task.input))
    return [element for result in task(iter([batch])) for element in decode(result.columns, task.output)]


def test_a_pass_runs_only_odd_rows_in_python_and_keeps_the_order() -> None:
    seen: list[Any] = []
    chain = [
        ("map", lambda n: n * n),
        ("filter", lambda n: n % 3 != 0),
        ("map", lambda n: (math.sin(n % 100), n % 7 == 1)),
    ]
    numbers = [5, 2**40, 3, 7, 2**62, 8]
    expected = [(math.sin(n * n % 100), n * n % 7 == 1) for n in numbers if n * n % 3]
    assert through(stage(chain, INT, seen), numbers) == expected
    assert [values for values in seen if values[0] in numbers] == [(2**40,), (2**62,)]


def test_a_keyed_pass_keeps_keys_of_any_type() -> None:
    seen: list[Any] = []
    chain = [("map", lambda key, x: math.exp(x)), ("filter", lambda key, x: x > 2)]
    elements = [("a", 1.0), ("b", 0.0), ("ä", 2.0), ("c", 1000.0)]
    with pytest.raises(ElementError, match="math range error"):
        through(stage(chain, Keyed(STR, FLOAT), seen), elements)
    assert through(stage(chain, Keyed(STR, FLOAT), seen), elements[:3]) == [("a", math.e), ("ä", math.exp(2.0))]


def test_a_pass_over_nulls() -> None:
    def total(t: Any):  # type: ignore[no-untyped-def]  # what it gives is not declared
        return -1.0 if t[0] is None else math.sin(t[0]) + (t[1] or 0)

    seen: list[Any] = []
    verdict = verdict_of(Closure(total, Location(__file__, 1), "map"), (Tuple((Optional(FLOAT), Optional(INT))),))
    assert verdict.form == "stage"  # its result for None is not known
    kernel = kernel_of(total, (Tuple((Optional(FLOAT), Optional(INT))),), FLOAT)
    step = Step("map", "map", None, function=lambda t: seen.append(t) or total(t))  # type: ignore[func-returns-value, redundant-expr]
    task = kernel_stage.KernelStage(
        (step,), (kernel,), Tuple((Optional(FLOAT), Optional(INT))), FLOAT, pickle.dumps, patience=0.0
    )
    elements = [(1.0, 1), (None, 2), (2.0, None), (3.0, 0)]
    assert isinstance(compile_kernel(total, (Tuple((Optional(FLOAT), Optional(INT))),), None), Refusal)
    assert through(task, elements) == [total(t) for t in elements]
    assert seen == elements[1:3]


def test_a_patient_pass_starts_in_python() -> None:
    seen: list[Any] = []
    numbers = list(range(500))
    assert through(stage([("map", lambda n: math.cos(n) + 1)], INT, seen, patience=60.0), numbers) == [
        math.cos(n) + 1 for n in numbers
    ]
    assert len(seen) == 500


def test_where_the_c_library_is_not_pythons_all_rows_are_for_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "agrees", lambda *_: False)
    monkeypatch.setattr(kernels, "library_function", kernels.library_function.__wrapped__)
    seen: list[Any] = []
    assert through(stage([("map", lambda n: math.tanh(n) + 3)], INT, seen), [1, 2]) == [
        math.tanh(1) + 3,
        math.tanh(2) + 3,
    ]
    assert len(seen) == 2


@pytest.mark.parametrize(
    "numbers", [range(0), range(7), range(10, -11, -4), range(2**63 - 5, 2**63), range(-(2**63), 3 - 2**63)]
)
@pytest.mark.parametrize("partitions", [1, 3, 8])
def test_numbers_are_the_range_in_slices(numbers: range, partitions: int) -> None:
    slices = kernel_stage.Numbers(numbers, partitions)
    found = [batch.column(0).to_pylist() for partition in range(partitions) for batch in slices.batches(partition)]
    assert list(itertools.chain(*found)) == list(numbers)

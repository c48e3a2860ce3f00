"""Folds that are Spark aggregates, emitted as in a job, against a fold in CPython."""

# ruff: noqa: E501 - a row of a table is a line

from __future__ import annotations

import functools
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

import morisot as mo
import morisot.engines.spark.emit.core.families
from morisot.compile.verdict import Refusal
from morisot.engines.spark.emit.core.emission import Emission, Resources
from morisot.engines.spark.failures import is_data_error
from morisot.physical.choose.aggregate import recognised_fold
from morisot.physical.plan import plan
from morisot.plan.nodes.aggregate import FoldAssoc, ReduceAssoc
from morisot.worker.codec.batches import decode
from tests.properties.proof.grammar import KINDS, Grammar, NoWay
from tests.properties.proof.outcomes import FAILED, by_python
from tests.properties.proof.pages import Case, Pages
from tests.properties.proof.values import Values

REDUCES: dict[str, tuple[str, ...]] = {
    "int": (
        "a + b", "max(a, b)", "min(b, a)", "a if a > b else b", "b if a > b else a", "a if b <= a else b", "a | b", "a & b", "a ^ b",
    ),
    "float": ("max(a, b)", "min(a, b)", "b if b > a else a", "a if a < b else b"),
    "bool": ("a or b", "a and b", "b or a"),
    "str": ("max(a, b)", "min(a, b)", "a if a <= b else b"),
    "date": ("max(a, b)", "min(a, b)"),
    "time": ("min(a, b)", "b if b > a else a"),
    "pair": (
        "(a[0] + b[0], max(a[1], b[1]))", "(min(a[0], b[0]), min(a[1], b[1]))", "a if a[0] >= b[0] else b", "a if a[0] > b[0] else b", "b if b[0] < a[0] else a",
        "b if b[1] <= a[1] else a", "max(a, b)", "min(a, b)", "max(a, b, key=lambda t: t[0])", "a if a >= b else b",
    ),
    "point": ("a if a.x >= b.x else b", "b if b.x > a.x else a", "max(a, b, key=lambda p: p.x)"),
    "numbers": ("a if a[1] >= b[1] else b", "b if b[1] < a[1] else a", "(max(a[0], b[0]), min(a[1], b[1]))"),
}  # fmt: skip
"""Bodies of a function of `a` and `b` that reduces elements of a kind."""

FOLDS: tuple[tuple[str, str, str], ...] = (
    ("0", "acc + <int>", "a + b"),
    ("0", "acc - <int>", "a + b"),
    ("0", "acc + 1", "a + b"),
    ("0", "acc + (1 if <bool> else 0)", "a + b"),
    ("0", "acc + <int> if <bool> else acc", "a + b"),
    ("0", "acc if <bool> else acc + 1", "a + b"),
    ("3", "max(acc, <int>)", "max(a, b)"),
    ("3", "min(<int>, acc)", "min(a, b)"),
    ("-2", "<int.> if <int.> > acc else acc", "a if a > b else b"),
    ("5", "max(acc, <int>) if <bool> else acc", "max(a, b)"),
    ("0.5", "max(acc, <float>)", "max(a, b)"),
    ("0.5", "min(acc, <float>)", "min(a, b)"),
    ("'b'", "max(acc, <str>)", "max(a, b)"),
    ("False", "acc or <bool>", "a or b"),
    ("True", "acc and <bool>", "a and b"),
    ("6", "acc | <int>", "a | b"),
    ("6", "acc & <int>", "a & b"),
    ("0", "acc ^ <int>", "a ^ b"),
    ("(0, 0)", "(acc[0] + <int>, acc[1] + 1)", "(a[0] + b[0], a[1] + b[1])"),
    ("(0, True)", "(max(acc[0], <int>), acc[1] and <bool>)", "(max(a[0], b[0]), a[1] and b[1])"),
    ("(0, 'a')", "(acc[0] + (1 if <bool> else 0), min(acc[1], <str>))", "(a[0] + b[0], min(a[1], b[1]))"),
    ("(0, 0.0)", "(acc[0] | <int>, max(acc[1], <float>))", "(a[0] | b[0], max(a[1], b[1]))"),
)
"""A start, the body of a function of `acc` and an element `x`, and one of two accumulators."""

_ELEMENTS = ("int", "str", "pair", "float", "point")


@dataclass(frozen=True)
class Fold:
    """A fold with the functions it is made of."""

    kind: str
    step: Case
    combine: Case | None
    start: Any = None

    @property
    def text(self) -> str:
        return self.step.text if self.combine is None else f"{self.start!r}\n{self.step.text}{self.combine.text}"

    def by_python(self, values: Sequence[Any]) -> Any:
        start = () if self.combine is None else (self.start,)
        return by_python(lambda: functools.reduce(self.step.function, values, *start), ())


def generated(chance: random.Random, pages: Pages, count: int) -> list[Fold]:
    """The given number of folds, half of them without a start."""
    grammar = Grammar(chance)
    found: list[Fold] = []
    for number in range(count):
        if number % 2:
            kind = chance.choice([*REDUCES])
            (step,) = pages.load([f"f0 = lambda a, b: {chance.choice(REDUCES[kind])}\n"], ())
            found.append(Fold(kind, step, None))
            continue
        kind = chance.choice(_ELEMENTS)
        start, body, merge = chance.choice(FOLDS)
        texts = [f"f0 = lambda acc, x: {_filled(grammar, body, kind)}\n", f"f1 = lambda a, b: {merge}\n"]
        cases = pages.load(texts, ())
        if len(cases) == 2:  # else Python refused the text
            found.append(Fold(kind, cases[0], cases[1], eval(start)))
    return found


def _filled(grammar: Grammar, body: str, kind: str) -> str:
    try:
        return grammar.filled(body, {"x": kind}, 2)
    except NoWay:  # it asks for a variable of another kind
        return grammar.filled(body.replace(".>", ">"), {"x": kind}, 2)


_TROUBLES = 2


def groups(chance: random.Random, fold: Fold, count: int) -> list[list[Any]]:
    """Lists of elements to fold, none of them empty; few that fail, since one that fails ends the query of all."""
    values = Values(chance)
    found: list[list[Any]] = []
    troubles = 0
    for _ in range(count):
        elements = [values.of(KINDS[fold.kind]) for _ in range(chance.choice([1, 2, 3, 5, 9]))]
        trouble = fold.by_python(elements) is FAILED or "nan" in repr(elements)
        troubles += trouble
        if not trouble or troubles <= _TROUBLES:
            found.append(elements)
    return found


def done(spark: SparkSession, fold: Fold, lists: Sequence[list[Any]]) -> list[Any] | None:
    """What Spark's aggregates make of each list; None if the fold has no such form."""
    context = mo.StreamContext(spark, config=mo.Config(progress=False))
    try:
        return _done(context, spark, fold, list(enumerate(lists)))  # type: ignore[no-any-return]
    finally:
        context.close()


def _done(context: mo.StreamContext, spark: SparkSession, fold: Fold, lists: list[tuple[int, list[Any]]]) -> Any:
    rows = [(number, value) for number, values in lists for value in values]
    keyed = context.stream_iter(rows).key_by(lambda row: row[0]).map(lambda _, row: row[1])
    if fold.combine is None:
        node = keyed.reduce_assoc(fold.step.function)._node
    else:
        node = keyed.fold_assoc(fold.start, fold.step.function, fold.combine.function)._node
    assert isinstance(node, ReduceAssoc | FoldAssoc)
    if isinstance(recognised_fold(node), Refusal):
        return None
    emission = Emission(Resources(spark, parallelism=2), plan((node,)))
    try:
        table = emission.frame(node).df.toArrow().combine_chunks()
    except Exception as error:
        if not is_data_error(error):
            raise
        if len(lists) == 1:
            return [FAILED]
        half = len(lists) // 2
        return _done(context, spark, fold, lists[:half]) + _done(context, spark, fold, lists[half:])
    columns = [column.combine_chunks() for column in table.columns]
    found = dict(decode(columns, node.type))
    return [found[number] for number, _ in lists]

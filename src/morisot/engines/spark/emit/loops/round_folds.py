"""The local fold of a round as aggregates that Spark observes while it computes the round's elements."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark program uses

from morisot.compile.aggregates.folds import FoldPart, Kind
from morisot.compile.aggregates.round_folds import NumericFold
from morisot.compile.ir.expressions import Literal
from morisot.compile.verdict import Value
from morisot.engines.spark.emit.core.emission import Emission
from morisot.engines.spark.emit.frames.frame import Frame
from morisot.engines.spark.emit.frames.sql import NameOf, render
from morisot.engines.spark.internals.plans import observed
from morisot.plan.nodes.iterate import Loop
from morisot.types.element import FLOAT, Tuple, Type

_MOST_ROWS = 2**31 - 1
"""The number of 32-bit halves that can be added up in 64 bits."""
_METRICS = "round"
_NO_RESULT = Value(Tuple(()))
_WITH: dict[Kind, Callable[[Any, Any], Any]] = {
    "max": max,
    "min": min,
    "bool_or": operator.or_,
    "bool_and": operator.and_,
    "bit_or": operator.or_,
    "bit_and": operator.and_,
    "bit_xor": operator.xor,
}


@dataclass(frozen=True)
class RoundMeasure:
    """Aggregates of one part of a fold, and a function of their values and the initial value."""

    sql: tuple[str, ...]
    result: Callable[[Any, Sequence[Any]], Any]


@dataclass(frozen=True)
class Measured:
    """A frame, perhaps with additional columns, and the aggregates of it that determine the delta."""

    fold: NumericFold
    frame: Frame
    measures: tuple[RoundMeasure, ...]

    @property
    def aggregates(self) -> list[Column]:
        """The number of elements, then the aggregates of each part of the delta."""
        sql = ["count(1)", *(sql for each in self.measures for sql in each.sql)]
        return [F.expr(each).alias(f"m{index}") for index, each in enumerate(sql)]

    def delta(self, values: Iterable[Any]) -> tuple[int, Any] | None:
        """The number of folded elements, and the delta; None if only Python can compute it."""
        rest = iter(values)
        rows = next(rest)
        if rows > _MOST_ROWS:
            return None
        results = [
            each.result(start, [rows, *itertools.islice(rest, len(each.sql))])
            for each, start in zip(self.measures, self.fold.starts, strict=True)
        ]
        return None if None in results else (rows, put_together(self.fold.type, iter(results)))


def native_round_fold(node: Loop, emission: Emission) -> NumericFold | None:
    """The fold of a loop that is a job for each round as native aggregates; None if it is none."""
    fold = emission.plan.choices[node].detail
    return fold if isinstance(fold, NumericFold) else None


def measured(fold: NumericFold, frame: Frame) -> Measured:
    """The aggregates of the output of a round."""
    name_of = frame.names((), ())  # the accumulator, the first parameter, is in no expression
    widened, _ = frame.evaluate(dataclasses.replace(fold.form, result=_NO_RESULT), name_of)
    return Measured(fold, widened, tuple(measure(part, name_of) for part in fold.parts))


def checkpointed_with_delta(fold: NumericFold, frame: Frame) -> tuple[Frame, tuple[int, Any] | None]:
    """The frame with its lineage truncated, and its delta, computed by one job."""
    found = measured(fold, frame)
    aggregates = found.aggregates
    df = found.frame.df.observe(_METRICS, *aggregates)
    df = df.selectExpr(*frame.columns) if fold.form.shared else df
    checkpointed = df.localCheckpoint()
    row = observed(df, _METRICS)
    assert row is not None, "the job that computes the frame has ended"
    return Frame(checkpointed, frame.type), found.delta(row.get(index) for index in range(len(aggregates)))


def measure(part: FoldPart | None, name_of: NameOf) -> RoundMeasure:
    """The aggregates of one leaf of the delta. A condition is in the operand: observed aggregates have no filter."""
    if part is None:
        return RoundMeasure((), lambda start, _: start)
    condition = render(part.condition, name_of) if part.condition is not None else None
    if part.kind == "sum" and isinstance(part.operand, Literal):
        added = part.operand.value
        if condition is None:
            return RoundMeasure((), lambda start, found: start + added * found[0])
        return RoundMeasure((f"count({under(condition, '1')})",), lambda start, found: start + added * found[1])
    operand = render(part.operand, name_of)
    value = under(condition, operand)
    if part.kind == "sum":  # in halves, which stay within 64 bits; Python's sum may not
        halves = f"shiftright({value}, 32)", f"{value} & 4294967295L"
        return RoundMeasure(tuple(f"sum({half})" for half in halves), _whole)
    best = f"{part.kind}({value})"
    if part.type != FLOAT:
        return RoundMeasure((best,), functools.partial(_joined, part.kind))
    minus = under(condition, f"{operand} = 0.0D AND CAST({operand} AS STRING) = '-0.0'")
    nan = under(condition, f"isnan({operand})")
    return RoundMeasure((best, f"bool_or({nan})", f"bool_or({minus})"), functools.partial(_float_extreme, part.kind))


def under(condition: str | None, value: str) -> str:
    """A value where a condition holds, else NULL, which aggregates ignore."""
    return value if condition is None else f"CASE WHEN {condition} THEN {value} END"


def _whole(start: Any, found: Sequence[Any]) -> Any:
    _, high, low = found
    return start if high is None else start + (high << 32) + low


def _joined(kind: Kind, start: Any, found: Sequence[Any]) -> Any:
    return start if found[1] is None else _WITH[kind](start, found[1])


def _float_extreme(kind: Kind, start: float, found: Sequence[Any]) -> float | None:
    """With a NaN the extreme depends on the order, and so does the sign of zero among 0.0 and -0.0."""
    _, best, nan, minus = found
    if best is None:
        return start
    extreme = float(_WITH[kind](start, best))
    return None if nan or (minus and extreme == 0.0) else extreme


def put_together(type_: Type, values: Iterator[Any]) -> Any:
    """A number, or a tuple of the values of its leaves."""
    if isinstance(type_, Tuple):
        return tuple(put_together(child, values) for _, child in type_.children)
    return next(values)

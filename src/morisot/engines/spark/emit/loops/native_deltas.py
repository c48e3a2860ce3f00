"""Delta iterations as native joins, if all functions have column forms, and a key gets at most one delta."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark program uses

from morisot.compile.ir.truth import truth
from morisot.compile.verdict import ColumnForm
from morisot.engines.spark.emit.core.emission import Emission
from morisot.engines.spark.emit.frames.frame import Frame
from morisot.engines.spark.emit.frames.sql import quoted, render
from morisot.engines.spark.emit.join import equal_keys, side
from morisot.engines.spark.emit.loops.deltas import Entries, InPython
from morisot.engines.spark.emit.python.in_order import ORDER, numbered
from morisot.plan.nodes.iterate import DeltaIterate
from morisot.types.element import FLOAT, Keyed, Leaf, Optional, Tuple, Type, leaves

_CHANGED, _HAS_DELTA, _LAST = quoted("changed"), quoted("has delta"), quoted("last")


def entries_of(node: DeltaIterate, emission: Emission) -> Entries:
    """The representation of the entries of a delta iteration."""
    forms = emission.plan.choices[node].columns
    if not forms:
        return InPython(node, emission.parallelism)
    return AsColumns(node, {name: forms[closure] for name, closure in node.closures})


def resumed(node: DeltaIterate, emission: Emission, saved: DataFrame) -> tuple[Entries, DataFrame]:
    """The entries that an earlier run has saved, perhaps in another representation, and their representation now."""
    if "same" in saved.columns:
        return InPython(node, emission.parallelism), saved
    entries = entries_of(node, emission)
    return entries, entries.opened_from(saved) if isinstance(entries, InPython) else saved


@dataclass(frozen=True)
class AsColumns:
    """Entries as columns of key and value, and whether the last round changed them."""

    node: DeltaIterate
    forms: dict[str, ColumnForm]

    def first(self, frame: Frame) -> DataFrame:
        entries = Frame(frame.df, self.node.entry)
        values = ", ".join(f"{column} AS c{index}" for index, column in enumerate(entries.columns_under(1)))
        key = entries.columns_under(0)
        last = F.expr(f"max_by(struct({values}), {ORDER}) AS {_LAST}")
        grouped = numbered(entries.df).groupBy(*map(F.expr, key)).agg(last)
        opened = [f"{_LAST}.c{index} AS {column}" for index, column in enumerate(entries.columns_under(1))]
        return grouped.selectExpr(*key, *opened, f"true AS {_CHANGED}")

    def updates(self, entries: DataFrame) -> Frame:
        return self._made(entries.where(_CHANGED), "make_update", self.node.body.input.type)

    def outputs(self, entries: DataFrame) -> Frame:
        return self._made(entries, "make_output", self.node.type)

    def _made(self, entries: DataFrame, function: str, type_: Type) -> Frame:
        frame = Frame(entries, self.node.entry)
        results = [render(leaf, frame.names()) for leaf in self.forms[function].result.leaves()]
        return frame.select(type_, [*frame.columns_under(0), *results])

    def after(self, entries: DataFrame, leaving: Frame) -> DataFrame:
        condition = truth(self.forms["condition"].result)
        deltas = leaving.where(render(condition, leaving.names((1,))))
        held, came = (
            side(Frame(entries, self.node.entry), "held", ordered=False),
            side(deltas, "delta", ordered=False),
        )
        same = " AND ".join(equal_keys(held, came))
        both = held.df.join(came.df, F.expr(same), "full")
        is_held, has_delta = (f"coalesce({each.column('matched')}, false)" for each in (held, came))
        keys = zip(held.names(held.key), came.names(came.key), strict=True)
        key = [f"CASE WHEN {is_held} THEN {one} ELSE {other} END" for one, other in keys]
        before = held.names(held.frame.leaves_under(1))
        joined_entries = Keyed(self.node.entry.key, Tuple((Optional(self.node.value), came.frame.type.value)))  # type: ignore[attr-defined]
        columns = [*key, *held.value(missing=True), *came.names(came.frame.leaves_under(1))]
        named = [
            f"{column} AS {quoted(leaf.column)}" for column, leaf in zip(columns, leaves(joined_entries), strict=True)
        ]
        rows = both.selectExpr(*named, *before, f"{is_held} AS {quoted('is held')}", f"{has_delta} AS {_HAS_DELTA}")
        return self._processed(Frame(rows, joined_entries), before)

    def _processed(self, joined_entries: Frame, before: list[str]) -> DataFrame:
        """The entries after `process_delta`, which is applied to entries with a delta."""
        new = [
            f"CASE WHEN {_HAS_DELTA} THEN {render(leaf, joined_entries.names((0,), (1, 0), (1, 1)))} ELSE {old} END"
            for leaf, old in zip(self.forms["process_delta"].result.leaves(), before, strict=True)
        ]
        entry = Frame(joined_entries.df, self.node.entry)
        values = entry.leaves_under(1)
        named = [
            f"{expression} AS {quoted(f'new/{leaf.column}')}" for expression, leaf in zip(new, values, strict=True)
        ]
        rows = joined_entries.df.selectExpr(*entry.columns_under(0), *before, *named, quoted("is held"), _HAS_DELTA)
        news = [quoted(f"new/{leaf.column}") for leaf in values]
        differs = " OR ".join(
            [f"NOT {quoted('is held')}", *(differing(*each) for each in zip(before, news, values, strict=True))]
        )
        opened = [f"{new} AS {quoted(leaf.column)}" for new, leaf in zip(news, values, strict=True)]
        return rows.selectExpr(*entry.columns_under(0), *opened, f"{_HAS_DELTA} AND ({differs}) AS {_CHANGED}")


def differing(before: str, after: str, leaf: Leaf) -> str:
    """Whether two values differ in Python: NaN differs from itself."""
    nan = f" OR coalesce(isnan({after}), false)" if leaf.type in (FLOAT, Optional(FLOAT)) else ""
    return f"(NOT ({before} <=> {after}){nan})"

"""Delta iterations as frames: what a round does to the entries. `run` makes the rounds.

Entries and deltas meet in Python; where all functions are columns, and a key gets one delta at most, `native_deltas`
lets Spark join them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark program uses

from morisot.engines.spark.emit.frames import schema
from morisot.engines.spark.emit.frames.frame import Frame
from morisot.engines.spark.emit.python.fused_stage import dumps, in_worker
from morisot.engines.spark.emit.python.pickling import check_travels
from morisot.plan.nodes.iterate import DeltaIterate
from morisot.types.element import Type
from morisot.worker.loops.deltas import DELTA, ENTRY, ApplyDeltas, Deltas, OpenEntries, PackEntries


class Entries(Protocol):
    """The entries of a delta iteration between rounds, and what becomes of them."""

    def first(self, frame: Frame) -> DataFrame:
        """The first entries, all of them changed; of a key's values the last one stands."""

    def updates(self, entries: DataFrame) -> Frame:
        """What the changed entries send through the body."""

    def after(self, entries: DataFrame, leaving: Frame) -> DataFrame:
        """The entries after the deltas that left the body."""

    def outputs(self, entries: DataFrame) -> Frame:
        """What the entries give in the end."""


@dataclass(frozen=True)
class InPython:
    """Entries are the canonical bytes of their keys and pickles of (key, value)."""

    node: DeltaIterate
    parallelism: int

    @functools.cached_property
    def functions(self) -> Deltas:
        """The user's functions, ready to travel."""
        node = self.node
        for _, closure in node.closures:
            check_travels(closure)
        return Deltas(
            node.process_delta.function,
            node.make_update.function,
            node.make_output.function,
            node.condition.function,
            node.operator,
            node.location,
            dumps,
            node.entry,
        )

    def first(self, frame: Frame) -> DataFrame:
        rows = frame.df.mapInArrow(in_worker(PackEntries(frame.type, self.functions, are_deltas=False)), ENTRY)
        placed = rows.selectExpr("same", "entry", "monotonically_increasing_id() AS place")
        last = placed.groupBy("same").agg(F.expr("max_by(entry, place) AS entry"))
        return last.selectExpr("same", "entry", "true AS changed")

    def updates(self, entries: DataFrame) -> Frame:
        return self._opened(entries.where("changed"), self.node.body.input.type, self.functions.make_update)

    def after(self, entries: DataFrame, leaving: Frame) -> DataFrame:
        rows = leaving.df.mapInArrow(in_worker(PackEntries(leaving.type, self.functions, are_deltas=True)), DELTA)
        came = rows.selectExpr("same", "is_delta", "entry", "monotonically_increasing_id() AS place")
        there = entries.selectExpr("same", "false AS is_delta", "entry", "CAST(-1 AS BIGINT) AS place")
        both = there.unionAll(came).repartition(self.parallelism, "same")
        both = both.sortWithinPartitions("same", "is_delta", "place")
        return both.mapInArrow(in_worker(ApplyDeltas(self.functions)), ENTRY)

    def outputs(self, entries: DataFrame) -> Frame:
        return self._opened(entries, self.node.type, self.functions.make_output)

    def opened_from(self, columns: DataFrame) -> DataFrame:
        """The entries that were kept as columns before."""
        changed, same = (
            self.first(Frame(columns.where(f"changed = {flag}").drop("changed"), self.node.entry)).selectExpr(
                "same", "entry", f"{flag} AS changed"
            )
            for flag in ("true", "false")
        )
        return changed.unionAll(same)

    def _opened(self, entries: DataFrame, type_: Type, function: Callable[..., Any]) -> Frame:
        task = OpenEntries(type_, self.functions, function)
        return Frame(entries.select("entry").mapInArrow(in_worker(task), schema.ddl(type_)), type_)

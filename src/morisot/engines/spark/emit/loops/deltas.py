"""Delta iterations as frames: the entries before and after a round. `engines.spark.loops` runs the rounds.

Deltas are applied to entries in Python. If all functions have column forms, and a key gets at most one delta, Spark
joins them (`native_deltas`).
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
    """The representation of the entries of a delta iteration between rounds."""

    def first(self, frame: Frame) -> DataFrame:
        """The first entries, all of them changed. Of several values of a key the last one is used."""

    def updates(self, entries: DataFrame) -> Frame:
        """The input of the body: the updates of changed entries."""

    def after(self, entries: DataFrame, leaving: Frame) -> DataFrame:
        """The entries after the deltas of the body's output."""

    def outputs(self, entries: DataFrame) -> Frame:
        """The results of the entries."""


@dataclass(frozen=True)
class InPython:
    """Entries as canonical bytes of their keys and pickles of (key, value)."""

    node: DeltaIterate
    parallelism: int

    @functools.cached_property
    def functions(self) -> Deltas:
        """The user's functions, to be pickled."""
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
        numbered = rows.selectExpr("same", "entry", "monotonically_increasing_id() AS position")
        last = numbered.groupBy("same").agg(F.expr("max_by(entry, position) AS entry"))
        return last.selectExpr("same", "entry", "true AS changed")

    def updates(self, entries: DataFrame) -> Frame:
        return self._opened(entries.where("changed"), self.node.body.input.type, self.functions.make_update)

    def after(self, entries: DataFrame, leaving: Frame) -> DataFrame:
        rows = leaving.df.mapInArrow(in_worker(PackEntries(leaving.type, self.functions, are_deltas=True)), DELTA)
        came = rows.selectExpr("same", "is_delta", "entry", "monotonically_increasing_id() AS position")
        there = entries.selectExpr("same", "false AS is_delta", "entry", "CAST(-1 AS BIGINT) AS position")
        both = there.unionAll(came).repartition(self.parallelism, "same")
        both = both.sortWithinPartitions("same", "is_delta", "position")
        return both.mapInArrow(in_worker(ApplyDeltas(self.functions)), ENTRY)

    def outputs(self, entries: DataFrame) -> Frame:
        return self._opened(entries, self.node.type, self.functions.make_output)

    def opened_from(self, columns: DataFrame) -> DataFrame:
        """The entries that were columns before."""
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

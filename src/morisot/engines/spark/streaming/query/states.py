"""Reads the states of operators from the last complete snapshot of a query."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from morisot.engines.spark.checkpoints.query import Checkpoint, saved_operators
from morisot.engines.spark.emit.core.emission import Emission
from morisot.engines.spark.internals import query_log
from morisot.engines.spark.internals.streaming import stored_values
from morisot.engines.spark.streaming.queries import stateful
from morisot.errors import PlanError, SnapshotError
from morisot.plan.nodes.node import Node
from morisot.plan.nodes.state import Numbered
from morisot.plan.snapshots import StateRow
from morisot.worker.stateful.buckets import Bucket
from morisot.worker.stateful.contents import contents_of, raw_contents

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def descriptions(root: Node, emission: Emission) -> list[dict[str, str]]:
    """The operators with a state as records, for programs that read the snapshot without the plan."""
    return [
        {"name": node.label, "operator": node.operator, "title": node.title, "variable": variable_of(node, emission)}
        for node in stateful(root, emission.plan)
    ]


def variable_of(node: Node, emission: Emission) -> str:
    """The state variable of an operator; nothing for operators of Spark."""
    found = emission.states.get(node)
    return "" if found is None else "states" if isinstance(found, Bucket) else "state"


def is_called(node: Node, name: str) -> bool:
    return not isinstance(node, Numbered) and name in (node.label, node.operator, node.title)


def state_of(
    spark: SparkSession, root: Node, emission: Emission, checkpoint: Checkpoint, name: str
) -> list[StateRow] | None:
    """The keys and values of an operator's state in the last complete snapshot; None if there is no such operator."""
    nodes = stateful(root, emission.plan)
    called = [number for number, node in enumerate(nodes) if is_called(node, name)]
    if not called:
        return None
    if len({nodes[number] for number in called}) > 1:
        titles = ", ".join(nodes[number].title for number in called)
        raise PlanError(f"several operators are called {name!r}: {titles}", advice="name them with name(…)")
    number = called[0]
    bucket = emission.states.get(nodes[number])
    if bucket is None:
        raise PlanError(f"the state of {nodes[number].title} is Spark's own, and is not read")
    _, batch = checkpoint.newest()
    if batch < 0:
        return []
    variable = variable_of(nodes[number], emission)
    packed = stored_values(spark, Path(checkpoint.location), batch, number, variable)
    return [StateRow(*row) for saved in packed for row in contents_of(bucket, saved)]


def names_of(root: Node, emission: Emission) -> Iterator[str]:
    """The names by which states are found."""
    return (node.label or node.operator for node in stateful(root, emission.plan) if not isinstance(node, Numbered))


def saved_state(spark: SparkSession, directory: Path, name: str) -> list[StateRow]:
    """The same without the program: for each key, and for values that need its types, what is stored."""
    known: list[str] = []
    for query, operators in saved_operators(directory):
        for number, each in enumerate(operators):
            if not each["variable"]:
                continue
            known.append(each["name"] or each["operator"])
            if name in (each["name"], each["operator"], each["title"]):
                return _rows(spark, query, number, each["variable"])
    raise SnapshotError(f"{directory} has no state of {name!r}", advice=f"pass one of {', '.join(known) or 'none'}")


def _rows(spark: SparkSession, query: Path, number: int, variable: str) -> list[StateRow]:
    done: Sequence[int] = query_log.done(query)
    if not done:
        return []
    packed = stored_values(spark, query, done[-1], number, variable)
    return [StateRow(*row) for saved in packed for row in raw_contents(saved)]

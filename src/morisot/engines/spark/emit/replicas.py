"""Users' operators with replicas: on demand as tasks of small blocks, or fixed with a partition for each replica."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark program uses

from morisot.engines.spark.emit.core.emission import Emission
from morisot.engines.spark.emit.core.registry import emits
from morisot.engines.spark.emit.frames import schema
from morisot.engines.spark.emit.frames.frame import ORDERS, TIME, Frame, named, unquoted
from morisot.engines.spark.emit.frames.sql import quoted
from morisot.engines.spark.emit.python.fused_stage import dumps, in_worker
from morisot.engines.spark.emit.python.in_order import ORDER, numbered, origin
from morisot.engines.spark.emit.python.pickling import carry_value, check_travels
from morisot.engines.spark.emit.python.placing import placed
from morisot.engines.spark.emit.stateful.keyed_state import in_buckets
from morisot.engines.spark.internals import names
from morisot.physical.boundaries.state import restores_numbers
from morisot.physical.ops import InOrderOp, KeyedStateOp, NumberOp, OnDemandOp
from morisot.plan.nodes.state import Apply, ApplyFixed, ApplyOnDemand, Numbered
from morisot.types.element import INT, Keyed
from morisot.worker.replicas.tasks import (
    NO_MICRO_BATCH,
    Calls,
    NumberMachine,
    ReplicaMachine,
    RunOnDemand,
    TaskNow,
)
from morisot.worker.stateful.machine import ORDER_COLUMNS, InOrder

BLOCKS = 8
"""The blocks of a bounded stream for each slot: a slow element delays those of its block only."""
_NUMBER, _NTH = ORDERS[0], ORDERS[1]


@emits(NumberOp, Numbered)
def emit_numbered(node: Numbered, emission: Emission, frame: Frame) -> Frame:
    """Row numbers of one sorted partition: consecutive, and the same when a task is retried."""
    order = list(frame.order) or [ORDER]
    rows = frame.df if frame.order else numbered(frame.df)
    rows = rows.repartition(1).sortWithinPartitions(*map(unquoted, order))
    key, value = (frame.columns_under(0), frame.columns_under(1)) if node.keyed else ([], frame.columns)
    leaves = named([*key, "monotonically_increasing_id()", *value], node.type)
    return Frame(rows.selectExpr(*leaves, *([TIME] if frame.timed else [])), node.type, frame.timed)


@emits(KeyedStateOp, Numbered)
def emit_numbered_unbounded(node: Numbered, emission: Emission, frame: Frame) -> Frame:
    return in_buckets(node, emission, frame, NumberMachine(node.keyed), by_key=False)


@emits(OnDemandOp, ApplyOnDemand)
def emit_on_demand(node: ApplyOnDemand, emission: Emission, frame: Frame) -> Frame:
    blocks = emission.parallelism * BLOCKS
    number = frame.columns[0]
    rows = frame.df.repartitionById(blocks, block_of(number, blocks))
    spread = frame.over(rows)
    calls = calls_of(node, emission)
    policy = calls.origin.policy
    account = emission.account([policy] if policy is not None else [])
    numbers = unquoted(_NUMBER) if node.bounded else None
    task = RunOnDemand(calls, frame.type, node.type, dumps, len(frame.hidden), frame.has_row_order, account, numbers)
    added = f", {_NUMBER} BIGINT" if node.bounded else ""
    results = spread.df.mapInArrow(in_worker(task), frame.ddl(node.type) + added)
    if not node.bounded:
        return frame.over(results, node.type)
    # the number of the result in its task distinguishes the results of an element
    results = results.selectExpr("*", f"monotonically_increasing_id() AS {_NTH}")
    return in_number_order(node, emission, Frame(results, node.type, frame.timed, order=(_NUMBER, _NTH)))


@emits(InOrderOp, ApplyFixed)
def emit_fixed(node: ApplyFixed, emission: Emission, frame: Frame) -> Frame:
    key, number = frame.columns[0], frame.columns_under(1)[0]
    rows = frame.df.selectExpr("*", f"{number} AS {ORDER}")
    rows = rows.repartitionById(node.replicate, block_of(key, node.replicate)).sortWithinPartitions(
        unquoted(key), unquoted(ORDER)
    )
    calls, stamps, type_ = calls_of(node, emission), node.time is not None, Keyed(INT, node.type)
    policy = calls.origin.policy
    account = emission.account([policy] if policy is not None else [])
    machine = ReplicaMachine(calls, node.stored)
    task = InOrder(machine, calls.origin, frame.type, type_, dumps, frame.timed, stamps, True, True, account)
    hidden = [*([TIME] if stamps else []), *map(quoted, ORDER_COLUMNS)]
    results = Frame(rows.mapInArrow(in_worker(task), schema.ddl(type_, *hidden)), type_, stamps)
    ordered = [f"{quoted('order')} AS {_NUMBER}", f"{quoted('nth')} AS {_NTH}"]
    columns = named(results.columns_under(1), node.type)
    results_df = results.df.selectExpr(*columns, *([TIME] if stamps else []), *ordered)
    return in_number_order(node, emission, Frame(results_df, node.type, stamps, order=(_NUMBER, _NTH)))


@emits(KeyedStateOp, ApplyFixed)
def emit_fixed_unbounded(node: ApplyFixed, emission: Emission, frame: Frame) -> Frame:
    type_ = Keyed(INT, node.type)
    machine = ReplicaMachine(calls_of(node, emission), node.stored)
    results = in_buckets(node, emission, frame, machine, type_=type_, keys=node.replicate)
    return results.select(node.type, results.columns_under(1))


def block_of(column: str, blocks: int) -> Column:
    """The partition of a row: its number modulo the number of partitions."""
    return F.expr(f"CAST(pmod({column}, {blocks}) AS INT)")


def in_number_order(node: Apply, emission: Emission, frame: Frame) -> Frame:
    """The results in the order of the numbers, if it is seen. Spark's sort by ranges would call the operator twice."""
    if emission.carries_order(node):
        return frame
    plain = Frame(frame.df, frame.type, frame.timed)
    if not restores_numbers(emission.plan, node):
        return plain.over(frame.df.drop(unquoted(_NUMBER), unquoted(_NTH)))
    rows = frame.df.repartition(1).sortWithinPartitions(unquoted(_NUMBER), unquoted(_NTH))
    return plain.over(rows.drop(unquoted(_NUMBER), unquoted(_NTH)))


def calls_of(node: Apply, emission: Emission) -> Calls:
    """The user's operator, as its tasks get it."""
    check_travels(node.process)
    carry_value(node.process.original.__self__)  # type: ignore[attr-defined]
    started, _ = emission.query.newest()
    user = placed(node, node.process.function, node.replicate, emission)
    return Calls(user, origin(node, emission), node.output, node.copies, node.sender, node.has_ids, task_now(), started)


def task_now() -> Callable[[], TaskNow]:
    """A function that returns the task that runs, so that the worker package does not import Spark."""
    from morisot.engines.spark.emit.python.left_out import MICRO_BATCH

    def current() -> TaskNow:
        from pyspark import TaskContext

        context = TaskContext.get()
        if context is None:
            return TaskNow(NO_MICRO_BATCH, False)
        batch = context.getLocalProperty(MICRO_BATCH) or context.getLocalProperty(names.MICRO_BATCH)
        return TaskNow(int(batch) if batch else NO_MICRO_BATCH, context.attemptNumber() > 0)

    return current

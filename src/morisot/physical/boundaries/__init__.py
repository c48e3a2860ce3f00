"""The boundary nodes that each kind of operator causes in Spark's plans: where rows are read, shuffled or sorted.

A kind states what it causes, given the distribution of the rows that it reads. Projections, filters, generators, unions
and limits are no boundaries: they run in the stage of their input. Spark chooses some nodes by sizes that are known
only in a run; `Sizes` has those alternatives. Two rules of Spark's optimizer are not stated by any kind: it drops a
sort that only joins and aggregates without an order read, and operators over a source of which it knows all rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from morisot.physical import ops
from morisot.physical.boundaries import aggregate, iterate, join, state, streams
from morisot.physical.boundaries.nodes import SCAN, Causing, Nodes, Sizes, nothing
from morisot.physical.job import PlannedJob
from morisot.physical.ops import Physical
from morisot.physical.plan import Plan
from morisot.plan.analysis.graph import is_bounded_input
from morisot.plan.nodes.window import SessionKind, WindowJoin

SMALL = Sizes()


def boundaries(operator: Physical, plan: Plan, sizes: Sizes = SMALL) -> Nodes:
    """The nodes that an operator causes in Spark's plan, without those of its inputs."""
    return +_KINDS[type(operator)](Causing(operator, plan, sizes))


def boundaries_of(job: PlannedJob, sizes: Sizes = SMALL) -> Nodes:
    """The nodes of all plans that a job runs, one round of each loop included.

    An operator with several readers is planned for each of them, unless it is stored: then each of them scans it.
    """
    found: Nodes = Counter()
    plan = job.plan
    reads = Counter(plan.operators[root] for root in plan.roots)
    copied = {value for node in plan.nodes for value in node.inputs if is_bounded_input(value, node)}
    for node, operator in reversed(plan.operators.items()):
        times = reads[operator]
        if is_stored(operator, plan) or node in copied:
            found[SCAN] += times
            times = 1
        found.update({name: count * times for name, count in boundaries(operator, plan, sizes).items()})
        for each in operator.inputs:
            reads[each] += times * _reads_of(operator)
    for step in job.loops:
        if step.body is not None:
            found += boundaries_of(step.body, sizes) + iterate.after_body(step.node, step.body.plan, plan)
    return found


def is_stored(operator: Physical, plan: Plan) -> bool:
    """Whether the rows of an operator are computed once for all readers: persisted, retained, or a loop's result."""
    retained = isinstance(operator, ops.CacheOp) and plan.retains
    return operator.node in plan.shared or retained or isinstance(operator, ops.LoopOp)


def _reads_of(operator: Physical) -> int:
    """How often an operator reads its inputs. A join of sessions, and a selection by candidates, read them twice."""
    node = operator.node
    if isinstance(operator, ops.NativeAggregateOp) and operator.selection is not None:
        return 2 if operator.selection.rung == "candidates" else 1
    sessions = isinstance(node, WindowJoin) and isinstance(node.kind, SessionKind)
    return 2 if sessions and isinstance(operator, ops.NativeJoinOp) else 1


_KINDS: dict[type[Physical], Callable[[Causing], Nodes]] = {
    ops.ReadOp: streams.read,
    ops.ParseOp: streams.parse,
    ops.Given: streams.slot,
    ops.ColumnsOp: nothing,
    ops.StageOp: streams.in_python,
    ops.KernelOp: streams.in_python,
    ops.TimestampsOp: nothing,
    ops.TimestampsInPythonOp: streams.in_python,
    ops.WatermarkOp: streams.watermark,
    ops.NativeAggregateOp: aggregate.native_aggregate,
    ops.SortOp: aggregate.sort,
    ops.CountTokensOp: aggregate.count_tokens,
    ops.TwoPhaseFoldOp: aggregate.two_phase_fold,
    ops.InOrderOp: state.in_order,
    ops.NumberOp: state.number,
    ops.OnDemandOp: state.on_demand,
    ops.KeyedStateOp: state.keyed_state,
    ops.TimersOp: state.keyed_state,
    ops.NativeJoinOp: join.native_join,
    ops.TableJoinOp: join.table_join,
    ops.UnionOp: streams.union,
    ops.ExchangeOp: streams.exchange,
    ops.CacheOp: nothing,
    ops.OrderedOp: nothing,
    ops.LoopOp: iterate.loop,
    ops.LoopResultOp: nothing,
    ops.WriteOp: nothing,
}
"""The function of each kind."""

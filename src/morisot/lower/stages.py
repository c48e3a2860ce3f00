"""Neighbouring operators that run in Python, fused into one pass over Arrow batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from pyspark import cloudpickle

from morisot.compile.ladder import decide, declared
from morisot.compile.verdict import ColumnForm, KernelForm, Verdict
from morisot.lower.frame import Frame
from morisot.lower.sealing import current_seal
from morisot.lower.ship import check_travels
from morisot.plan import combine, keyed, rowwise
from morisot.plan.closure import Closure
from morisot.plan.node import Node
from morisot.plan.partition import Batched, Broadcast
from morisot.plan.source import StreamParIter
from morisot.plan.time import AddTimestamps
from morisot.plan.window import WithoutFailures
from morisot.types.element import ANY, BOOL, INT, Keyed, List, Tuple, Type, arguments, holds
from morisot.worker.accumulators import Apart
from morisot.worker.batches import Dumps
from morisot.worker.branches import Choice, FirstMatch, GoesTo
from morisot.worker.failure import reporting
from morisot.worker.garbage import leave_modules_alone, little_garbage_collection
from morisot.worker.kernels import Kernel
from morisot.worker.stage import Generator, Kind, Memo, Stage, Step, policies

if TYPE_CHECKING:
    from morisot.lower.planner import Lowering

dumps: Dumps = cloudpickle.dumps

_KINDS: dict[type[Node], Kind] = {
    rowwise.Map: "map",
    rowwise.Filter: "filter",
    rowwise.FlatMap: "flat_map",
    rowwise.FilterMap: "filter_map",
    rowwise.Flatten: "flatten",
    rowwise.Inspect: "inspect",
    rowwise.MapMemo: "map",
    rowwise.MapAsync: "map_async",
    keyed.KeyBy: "key_by",
    combine.SplitBy: "mark",
    combine.Route: "mark",
    combine.Branch: "branch",
    WithoutFailures: "without_failures",
    Broadcast: "same",
    Batched: "same",
    AddTimestamps: "with_result",
    StreamParIter: "flat_map",
}
_GIVING = (rowwise.Map, rowwise.FlatMap, rowwise.FilterMap, rowwise.MapMemo, rowwise.MapAsync, keyed.KeyBy)
"""The operators whose elements are what a function gives."""
_UNKEY_KINDS: dict[str, Kind] = {"both": "unkey", "value": "drop_key", "key": "keys"}


KERNELS = (rowwise.Map, rowwise.Filter, keyed.KeyBy)
"""The operators that machine code can do."""


OWN_OUTCOME = "on_error needs each element's own outcome"
"""Why a function runs in Python that could be a column."""


def needs_python(node: Node, demoted: frozenset[Node] = frozenset()) -> bool:
    """Whether an operator has no native form (any more)."""
    if node in demoted and isinstance(node, rowwise.Rowwise):
        return True
    if outcome_per_element(node):
        return True
    match node:
        case StreamParIter() | rowwise.Inspect() | rowwise.MapAsync() | WithoutFailures():
            return True
        case rowwise.Map() | rowwise.Filter() | keyed.KeyBy() if kernel_of(node) is not None:
            return False
        case keyed.Unkey():
            return False
        case rowwise.Flatten(input=source):
            return not isinstance(arguments(source.type)[-1], List)
        case rowwise.FlatMap(input=source, function=function):
            verdict = decide(function, arguments(source.type))
            return not (isinstance(verdict, ColumnForm) and isinstance(verdict.type, List))
        case keyed.KeyBy(input=source, key=key):
            return not isinstance(decide(key, arguments(source.type)[-1:]), ColumnForm)
        case combine.SplitBy(input=source, function=function):
            return not names_branches(decide(function, arguments(source.type)))
        case combine.Route(input=source, predicates=predicates):
            verdicts = (decide(predicate, arguments(source.type)) for predicate in predicates)
            return not all(isinstance(verdict, ColumnForm) for verdict in verdicts)
        case rowwise.Rowwise(input=source):
            closure = main_closure(node)
            return closure is not None and not isinstance(decide(closure, arguments(source.type)), ColumnForm)
        case _:
            return False


def names_branches(verdict: Verdict) -> bool:
    """Whether a function is a column whose values are numbers of branches: one, a list, or a tuple of them."""
    if not isinstance(verdict, ColumnForm):
        return False
    match verdict.type:
        case List(item):
            return item == INT
        case Tuple(items):
            return all(item == INT for item in items)
        case _:
            return verdict.type in (INT, BOOL)


def outcome_per_element(node: Node) -> bool:
    """Whether a row-wise operator that could be a column is none because some of its elements may have to be left out.

    A column fails as a whole; a kernel gives the rows it cannot do to Python, one by one.
    """
    if not (isinstance(node, rowwise.Rowwise) and node.leaves_out):
        return False
    verdicts = [decide(closure, node.signature(name)) for name, closure in node.closures]
    return any(isinstance(verdict, ColumnForm) and verdict.raises for verdict in verdicts)


def kernel_of(node: Node, demoted: frozenset[Node] = frozenset()) -> Kernel | None:
    """The kernel of an operator that is one by itself: it has no native form, and its function is all numbers."""
    if not isinstance(node, KERNELS) or node in demoted:
        return None
    ((name, closure),) = node.closures
    verdict = decide(closure, node.signature(name))
    return verdict.kernel if isinstance(verdict, KernelForm) else None


def main_closure(node: Node) -> Closure | None:
    """The function that a row-wise operator applies to its elements."""
    return node.closures[0][1] if node.closures else None


def step(node: Node, lowering: Lowering | None = None) -> Step:
    """What the operator does to one element, for the worker; without a lowering for one that leaves nothing out."""
    closure = main_closure(node)
    keyed_input = any(isinstance(value.type, Keyed) for value in node.inputs)
    if isinstance(node, keyed.Unkey):
        return Step(_UNKEY_KINDS[node.keep], node.operator, node.location, keyed=True)
    return Step(
        _KINDS[type(node)],
        node.operator,
        node.location,
        keyed=keyed_input,
        function=_function(node, lowering.parallelism if lowering else 1),
        concurrency=node.concurrency if isinstance(node, rowwise.MapAsync) else 1,
        returns=None if closure is None else _tested(node, closure),
        policy=lowering.policy(node) if lowering else None,
    )


def _tested(node: Node, closure: Closure) -> Type | None:
    """The type of what the function gives, where each value is tested against it.

    That is where the user declared it, and where it is of ints, which have 64 bits: what else the compiler found out is
    true. And where elements may be left out: one whose value cannot travel is left out too.
    """
    if not isinstance(node, _GIVING):
        return None
    type_ = arguments(node.type)[0 if isinstance(node, keyed.KeyBy) else -1]
    tested = node.leaves_out or declared(closure) is not None or holds(type_, INT)
    return type_ if tested and type_ != ANY else None


def _function(node: Node, parallelism: int) -> Callable[..., Any] | None:
    for _, each in node.closures:
        check_travels(each)
    match node:
        case StreamParIter(generator=closure):
            return Generator(closure.function, parallelism)
        case rowwise.MapMemo(function=closure, key=key, capacity=capacity):
            return Memo(closure.function, key.function if key else None, capacity)
        case combine.SplitBy(function=closure, n=n):
            return Choice(closure.function, n, node.several, node.masked)
        case combine.Route(predicates=predicates):
            return FirstMatch(tuple(each.function for each in predicates))
        case combine.Branch(input=marked, number=number):
            return GoesTo(number, marked.masked)
        case WithoutFailures(bounds=bounds):
            return Apart(bounds)
        case _:
            main = main_closure(node)
            return None if main is None else main.function


def instances(lowering: Lowering) -> Frame:
    """One row per parallel instance of a generator, each in a partition of its own."""
    n = lowering.parallelism
    return Frame(lowering.spark.range(0, n, 1, n).selectExpr("id AS value"), INT)


def run(
    frame: Frame,
    steps: Sequence[Step],
    output: Type,
    lowering: Lowering | None = None,
    rows: int | None = None,
) -> Frame:
    """The frame after the steps, which take `rows` elements at a time; without a lowering if they leave nothing out."""
    account = lowering.account(policies(steps)) if lowering else None
    stage = Stage(tuple(steps), frame.type, output, dumps, len(frame.hidden), account, rows)
    return frame.over(frame.df.mapInArrow(in_worker(stage), frame.ddl(output)), output)


def in_worker(task: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The task as a plain function, which is what pyspark takes; it signs its failures with the job's key."""
    seal = current_seal()

    def work(batches: Any) -> Any:
        try:
            with reporting(seal), little_garbage_collection():
                yield from task(batches)
        finally:
            leave_modules_alone()

    return work


def partition_id() -> Callable[[], int]:
    """A function that tells a worker which partition it works on, without the worker package knowing Spark."""

    def current() -> int:
        from pyspark import TaskContext

        context = TaskContext.get()
        return context.partitionId() if context else 0

    return current

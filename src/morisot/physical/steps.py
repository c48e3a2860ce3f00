"""The steps of row-wise operators in Python, for stages, kernels and loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from morisot.compile.choose import declared, is_inferred
from morisot.plan.nodes import combine, keyed, rowwise
from morisot.plan.nodes.closure import Closure
from morisot.plan.nodes.node import Node
from morisot.plan.nodes.partition import Batched, Broadcast
from morisot.plan.nodes.source import StreamParIter
from morisot.plan.nodes.state import WithoutIds
from morisot.plan.nodes.time import AddTimestamps
from morisot.plan.nodes.window import WithoutFailures
from morisot.types.element import ANY, INT, Keyed, Type, arguments, holds
from morisot.worker.aggregate.accumulators import SeparateFailures
from morisot.worker.report.left_out import Policy
from morisot.worker.rowwise.branches import BranchSelector, FirstMatch, IsInBranch
from morisot.worker.rowwise.steps import Generator, Kind, Memo, Step

_KINDS: dict[type[Node], Kind] = {
    rowwise.Map: "map",
    WithoutIds: "map",
    rowwise.Filter: "filter",
    rowwise.FlatMap: "flat_map",
    rowwise.FilterMap: "filter_map",
    rowwise.Flatten: "flatten",
    rowwise.Inspect: "inspect",
    rowwise.MapMemo: "map",
    rowwise.MapAsync: "map_async",
    keyed.KeyBy: "key_by",
    combine.SplitBy: "branches",
    combine.Route: "branches",
    combine.Branch: "branch",
    WithoutFailures: "without_failures",
    Broadcast: "same",
    Batched: "same",
    AddTimestamps: "with_result",
    StreamParIter: "flat_map",
}
_UNKEY_KINDS: dict[str, Kind] = {"both": "unkey", "value": "drop_key", "key": "keys"}
_GIVING = (rowwise.Map, rowwise.FlatMap, rowwise.FilterMap, rowwise.MapMemo, rowwise.MapAsync, keyed.KeyBy)
"""The operators whose elements are results of a function."""


def step_of(node: Node, parallelism: int = 1, policy: Policy | None = None) -> Step:
    """The step of an operator. `policy` is the treatment of elements on which it fails, if they do not stop the job."""
    if isinstance(node, keyed.Unkey):
        return Step(_UNKEY_KINDS[node.keep], node.operator, node.location, keyed=True)
    closure = main_closure(node)
    return Step(
        _KINDS[type(node)],
        node.operator,
        node.location,
        keyed=any(isinstance(value.type, Keyed) for value in node.inputs),
        function=_function(node, parallelism),
        concurrency=node.concurrency if isinstance(node, rowwise.MapAsync) else 1,
        returns=None if closure is None else _tested(node, closure),
        sampled=0 if closure is None else closure.sampled,
        policy=policy,
    )


def main_closure(node: Node) -> Closure | None:
    """The function that a row-wise operator applies to its elements."""
    return node.closures[0][1] if node.closures else None


def _tested(node: Node, closure: Closure) -> Type | None:
    """The type that each result of the function is tested against; None if it is not tested.

    Results are tested if the user declared the type, if it was inferred for a function in Python, and if it has ints,
    which are limited to 64 bits. The types of native forms are exact. Results are also tested if elements may be
    skipped: one whose value cannot be encoded is skipped, too.
    """
    if not isinstance(node, _GIVING):
        return None
    type_ = arguments(node.type)[0 if isinstance(node, keyed.KeyBy) else -1]
    tested = node.leaves_out or declared(closure) is not None or holds(type_, INT)
    tested = tested or is_inferred(closure, node.signature(node.closures[0][0]))
    return type_ if tested and type_ != ANY else None


def _function(node: Node, parallelism: int) -> Callable[..., Any] | None:
    match node:
        case StreamParIter(generator=closure):
            return Generator(closure.function, parallelism)
        case rowwise.MapMemo(function=closure, key=key, capacity=capacity):
            return Memo(closure.function, key.function if key else None, capacity)
        case combine.SplitBy(function=closure, n=n):
            return BranchSelector(closure.function, n, node.several, node.masked)
        case combine.Route(predicates=predicates):
            return FirstMatch(tuple(each.function for each in predicates))
        case combine.Branch(input=branching, number=number):
            return IsInBranch(number, branching.masked)
        case WithoutFailures(bounds=bounds):
            return SeparateFailures(bounds)
        case _:
            main = main_closure(node)
            return None if main is None else main.function

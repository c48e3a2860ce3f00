"""The physical plan as a value, computed once from the logical plan."""

from __future__ import annotations

import dataclasses
import functools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from morisot.physical.choose import choose
from morisot.physical.choose.iterate import path_of
from morisot.physical.facts import DEFAULT, Facts
from morisot.physical.ops import (
    Choice,
    CountTokensOp,
    FusingOp,
    Given,
    KernelOp,
    LoopOp,
    NativeAggregateOp,
    Physical,
    Reason,
    StageOp,
)
from morisot.physical.passes.bound_numbers import bound_numbers
from morisot.physical.passes.carry import carry
from morisot.physical.passes.count import count
from morisot.physical.passes.count_tokens import count_tokens
from morisot.physical.passes.fuse_stages import fuse_stages
from morisot.physical.passes.join_kernels import join_kernels
from morisot.physical.passes.neighbours import Neighbours
from morisot.physical.passes.order_files import FileOrder, order_files
from morisot.physical.passes.provide import Properties, provide
from morisot.physical.passes.require import OrderRequirements, require
from morisot.physical.passes.rungs import may_guard, select_rungs
from morisot.physical.passes.select_candidates import select_candidates
from morisot.physical.passes.share import share
from morisot.physical.passes.visible import visible
from morisot.plan.analysis.graph import consumer_counts, walk
from morisot.plan.analysis.validate import gives_running_values
from morisot.plan.nodes.closure import Closure
from morisot.plan.nodes.iterate import Loop
from morisot.plan.nodes.node import Node
from morisot.types.element import BOOL, DATE, DATETIME, FLOAT, INT, Optional, leaves

_SCALARS = (INT, FLOAT, BOOL, DATE, DATETIME)
_NARROW = frozenset((*_SCALARS, *map(Optional, _SCALARS)))
Pass = Callable[[Neighbours, frozenset[Node]], dict[Node, Choice]]
PASSES: tuple[Pass, ...] = (
    lambda graph, _: fuse_stages(graph),
    join_kernels,
    lambda graph, _: count_tokens(graph),
    lambda graph, _: bound_numbers(graph),
    lambda graph, _: select_candidates(graph),
)
"""The passes that change choices of adjacent operators, in this order."""


@dataclass(frozen=True, eq=False)
class Plan:
    """The physical plan of some roots that run together."""

    roots: tuple[Node, ...]
    nodes: tuple[Node, ...]
    """The logical operators, inputs first."""
    choices: Mapping[Node, Choice]
    readers: Counter[Node]
    demoted: frozenset[Node]
    order: OrderRequirements
    """The operators whose row order matters."""
    file_order: Mapping[Node, FileOrder] = field(default_factory=dict)
    """How the bounded sources of files read them."""
    shared: frozenset[Node] = frozenset()
    """The operators that are persisted while the plan runs, because they have several readers."""
    counted: frozenset[Node] = frozenset()
    """The operators whose elements are counted, for metrics."""
    given: frozenset[Node] = frozenset()
    """Nodes that earlier steps of the job have computed, or an earlier job has retained."""
    retains: bool = True
    """Whether `cache()` retains its input for later jobs."""

    @functools.cached_property
    def operators(self) -> dict[Node, Physical]:
        """The physical operators by the node whose elements they compute, inputs first."""
        found: dict[Node, Physical] = {}
        for node in self.nodes:
            if self._is_inside(node):
                continue
            found[node] = self._operator(node, found)
        return found

    @functools.cached_property
    def provides(self) -> dict[Physical, Properties]:
        """The properties of each operator's rows."""
        return provide(self.operators.values(), self.order)

    def _is_inside(self, node: Node) -> bool:
        """Whether this operator is fused into the pass of a later one, so that its elements are not materialised."""
        if node in self.given or node in self.roots or self.readers[node] != 1:
            return False
        kind = self.choices[node].kind
        reader = self._reader[node]
        if kind is KernelOp:
            return self.choices[reader].kind is KernelOp
        return kind is StageOp and self._takes_steps(reader)

    def _takes_steps(self, node: Node) -> bool:
        """Whether an operator runs the steps of the stage before it in its own pass. Loops count no elements."""
        kind = self.choices[node].kind
        if isinstance(node, Loop):
            stays = path_of(node).name == "barrier"
            return stays and not any(each.leaves_out for each in self._pass_up_to(node.input, StageOp))
        return kind is StageOp or issubclass(kind, FusingOp)

    @functools.cached_property
    def _reader(self) -> dict[Node, Node]:
        return {value: node for node in self.nodes for value in node.inputs}

    def _operator(self, node: Node, made: Mapping[Node, Physical]) -> Physical:
        if node in self.given:
            return Given((node,))
        choice = self.choices[node]
        if choice.kind in (StageOp, KernelOp):
            logical = self.fused(node)
            inputs = tuple(made[value] for value in logical[0].inputs)
            return self._fused(choice.kind, logical, inputs)
        steps = self.steps_before(node)
        first = steps[0] if steps else node
        inputs = tuple(made[value] for value in first.inputs)
        operator = choice.kind((node,), inputs, self._reasons((*steps, node)), choice.may_fail, choice.columns)
        if isinstance(operator, FusingOp):
            operator = dataclasses.replace(operator, steps=steps)
        if isinstance(operator, NativeAggregateOp | LoopOp | CountTokensOp):
            operator = dataclasses.replace(operator, detail=choice.detail)
        if isinstance(operator, NativeAggregateOp):
            operator = dataclasses.replace(operator, selection=choice.selection)
        return operator

    def _fused(self, kind: type[Physical], logical: tuple[Node, ...], inputs: tuple[Physical, ...]) -> Physical:
        if kind is StageOp:
            return StageOp(logical, inputs, self._reasons(logical))
        kernels = [self.choices[node].kernel for node in logical]
        return KernelOp(logical, inputs, self._reasons(logical), kernels=tuple(each for each in kernels if each))

    def _reasons(self, nodes: Iterable[Node]) -> dict[Closure, Reason]:
        return {closure: reason for node in nodes for closure, reason in self.choices[node].reasons.items()}

    def fused(self, node: Node) -> tuple[Node, ...]:
        """The operators of one pass up to a node: all of its kind that have no other reader."""
        kind = self.choices[node].kind
        return tuple(reversed(list(self._pass_up_to(node, kind))))

    def steps_before(self, node: Node) -> tuple[Node, ...]:
        """The operators of a stage that are fused into the pass of an operator in Python."""
        if not self._takes_steps(node) or len(node.inputs) != 1 or self.readers[node.inputs[0]] > 1:
            return ()
        (source,) = node.inputs
        if source in self.given or self.choices[source].kind is not StageOp:
            return ()
        return self.fused(source)

    def _pass_up_to(self, node: Node, kind: type[Physical]) -> Iterator[Node]:
        while node not in self.given and self.choices[node].kind is kind:
            yield node
            if not node.inputs:
                return
            (node,) = node.inputs
            if self.readers[node] > 1:
                return

    @functools.cached_property
    def output_mode(self) -> Literal["append", "update"]:
        """Spark's output mode of a streaming query: append, or update for running aggregates."""
        return "update" if any(map(gives_running_values, self.nodes)) else "append"

    @functools.cached_property
    def rows_are_narrow(self) -> bool:
        """Whether the rows of all operators are small: numbers, and no texts or lists."""
        return all(leaf.type in _NARROW for node in self.nodes for leaf in leaves(node.type))

    def chose(self, node: Node, kind: type[Physical]) -> bool:
        """Whether an operator runs as a kind. A given node does not run."""
        return node in self.choices and self.choices[node].kind is kind


def without_native_form(nodes: Iterable[Node], facts: Facts) -> frozenset[Node]:
    """The operators whose native form this session does not support."""
    return frozenset(node for node in nodes if facts.connect and isinstance(node, Loop))


Where = Literal["batch", "query", "round", "dataframe"]
"""What runs a plan: a bounded job or a micro-batch, a streaming query, a round of a loop, or the user's program."""


def plan(
    roots: Iterable[Node],
    facts: Facts = DEFAULT,
    *,
    demoted: frozenset[Node] = frozenset(),
    given: Iterable[Node] = (),
    where: Where = "batch",
) -> Plan:
    """The physical plan of some roots.

    `demoted` are operators whose native form failed on the data, `given` are nodes whose elements exist already.
    """
    roots, retains = tuple(roots), where in ("batch", "query")
    known = frozenset(given) | (facts.retained.intersection(walk(*roots)) if retains else frozenset())
    nodes = tuple(walk(*roots, known=known))
    counted = count(nodes, facts) if where == "query" else frozenset()
    readers = consumer_counts(roots)
    if facts.connect:
        readers.update(counted)  # without accumulators, only the output of a pass can be counted
    refused = demoted | without_native_form(nodes, facts)
    choices = {node: choose(node, refused) for node in nodes if node not in known}
    reader = {value: node for node in nodes for value in node.inputs}
    for each in PASSES:
        choices = each(Neighbours(choices, readers, reader), demoted)
    guards = where == "batch" and may_guard(roots, nodes, facts)
    choices = select_rungs(
        choices, visible(nodes, frozenset(roots), choices), guards=guards, failed=facts.failed_guards
    )
    shared: frozenset[Node] = frozenset()
    if where != "dataframe":  # it is unknown how long the user needs a DataFrame
        shared = share(nodes, choices, readers, streaming=where == "query", retains=retains)
    order = require(roots, choices)
    carried, compared = carry(nodes, {*roots, *known}, choices, order.needed)
    order = dataclasses.replace(order, carried=carried, compared=compared)
    files = order_files(nodes, order, facts)
    return Plan(roots, nodes, choices, readers, demoted, order, files, shared, counted, known, retains)

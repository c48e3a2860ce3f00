"""A job: its physical plan, and the steps that run it, in their order."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from morisot.physical.choose.iterate import path_of, reason_in_tasks
from morisot.physical.facts import DEFAULT, Facts
from morisot.physical.ops import Choice, LoopOp
from morisot.physical.plan import Plan, Where, plan
from morisot.plan.analysis.graph import bounded_inputs, walk
from morisot.plan.analysis.query_groups import Group
from morisot.plan.analysis.resumable import ResumablePart, substituted
from morisot.plan.analysis.trigger import Trigger
from morisot.plan.nodes.iterate import DeltaIterate, Loop
from morisot.plan.nodes.node import Node


@dataclass(frozen=True, eq=False)
class LoopStep:
    """Runs a loop, and binds the slot of its node to the result."""

    node: Loop | DeltaIterate
    body: PlannedJob | None
    """The job of a round; None if the tasks of one barrier stage run all rounds."""


@dataclass(frozen=True, eq=False)
class Batch:
    """Computes some roots, one after the other."""

    roots: tuple[Node, ...]


@dataclass(frozen=True, eq=False)
class ResumableStep:
    """Runs a part of a bounded plan as a query over source splits. The remaining plan reads its stored output."""

    part: ResumablePart
    query: Query


JobStep = LoopStep | Batch | ResumableStep


@dataclass(frozen=True, eq=False)
class Query:
    """A streaming query: the job of its shared stream, and the job of each micro-batch."""

    stream: PlannedJob
    """The job up to the shared stream of the group. Its loops run before the query starts."""
    per_batch: PlannedJob
    """The job from the shared stream to the sinks, planned once, and emitted for each micro-batch."""
    bounded_inputs: tuple[Node, ...]
    """The bounded inputs, which are copied into files before the query starts, and read as sources."""
    trigger: Trigger


@dataclass(frozen=True, eq=False)
class PlannedJob:
    """A physical plan, and the steps that run it. The steps of a body run once in each round."""

    plan: Plan
    steps: tuple[JobStep, ...]
    facts: Facts = DEFAULT
    origins: Mapping[Node, Node] = field(default_factory=dict)
    """The user's operators, by the operators that replace them."""

    @property
    def loops(self) -> Iterator[LoopStep]:
        """The loops of the job, without those in the bodies of others."""
        return (step for step in self.steps if isinstance(step, LoopStep))

    @property
    def resumable(self) -> Iterator[ResumableStep]:
        """The parts that run as queries over source splits."""
        return (step for step in self.steps if isinstance(step, ResumableStep))

    @functools.cached_property
    def choices(self) -> dict[Node, Choice]:
        """How each operator runs, including those in the bodies of loops."""
        found = dict(self.plan.choices)
        for part in self.resumable:
            found |= part.query.stream.choices
        found |= {self.origins[node]: choice for node, choice in found.items() if node in self.origins}
        for step in self.loops:
            if step.body is not None:
                found |= step.body.choices
                continue
            reason = reason_in_tasks(self.plan.choices[step.node].detail)
            for each in step.node.body.nodes:
                found[each] = Choice(LoopOp, {closure: reason for _, closure in each.closures})
        return found


def plan_job(
    roots: Iterable[Node],
    facts: Facts = DEFAULT,
    *,
    demoted: frozenset[Node] = frozenset(),
    given: Iterable[Node] = (),
    where: Where = "batch",
) -> PlannedJob:
    """The job that computes some roots. A loop runs directly before the first root that reads it."""
    physical = plan(roots, facts, demoted=demoted, given=given, where=where)
    steps: list[JobStep] = []
    done: set[Node] = set()
    for root in physical.roots:
        loops = [node for node in walk(root, known=physical.given) if isinstance(node, Loop | DeltaIterate)]
        new = [node for node in loops if node not in done and node not in physical.given]
        done.update(new)
        if new or not steps:
            steps += [*(_loop_step(node, facts, demoted) for node in new), Batch((root,))]
        else:
            before = steps.pop()
            assert isinstance(before, Batch)
            steps.append(Batch((*before.roots, root)))
    return PlannedJob(physical, tuple(steps), facts)


def _loop_step(node: Loop | DeltaIterate, facts: Facts, demoted: frozenset[Node]) -> LoopStep:
    if isinstance(node, Loop) and path_of(node).name == "barrier":
        return LoopStep(node, None)
    body = node.body
    inside = plan_job((body.output,), facts, demoted=demoted, given=(body.input, *body.side_inputs), where="round")
    return LoopStep(node, inside)


def plan_query(
    group: Group,
    trigger: Trigger,
    facts: Facts = DEFAULT,
    demoted: frozenset[Node] = frozenset(),
) -> Query:
    """The query that serves a group of sinks."""
    shared = (group.stream, *group.named_otherwise)
    return Query(
        plan_job((group.stream,), facts, demoted=demoted, where="query"),
        plan_job(group.sinks, facts, demoted=demoted, given=shared),
        tuple(bounded_inputs(group.stream)),
        trigger,
    )


def plan_resumable(
    root: Node,
    parts: Iterable[ResumablePart],
    facts: Facts = DEFAULT,
    demoted: frozenset[Node] = frozenset(),
) -> PlannedJob:
    """The job of one bounded root with snapshots: parts that are queries, then the remaining plan."""
    origins: dict[Node, Node] = {}
    steps: list[JobStep] = []
    saved: dict[Node, Node] = {}
    for part in parts:
        twins = part.over(part.placeholder)
        origins |= {twin: node for node, twin in twins.items()}
        sink = part.sink(twins[part.end], "", root.operator)
        saved[part.end] = part.saved(sink)
        down = frozenset(twin for twin, node in origins.items() if node in demoted)
        steps.append(ResumableStep(part, plan_query(Group(sink, (sink,)), Trigger(once=True), facts, down)))
    remaining = substituted((root,), saved)
    origins |= {new: node for node, new in remaining.items() if node not in saved}
    down = frozenset(new for node, new in remaining.items() if node in demoted)
    rest = plan_job((remaining[root],), dataclasses.replace(facts, guards=False), demoted=down)
    return PlannedJob(rest.plan, (*steps, *rest.steps), facts, origins)


def plan_stream(root: Node, facts: Facts = DEFAULT, demoted: frozenset[Node] = frozenset()) -> PlannedJob:
    """The job of one root: what `explain()` prints."""
    return plan_job((root,), facts, demoted=demoted, where="batch" if root.bounded else "query")

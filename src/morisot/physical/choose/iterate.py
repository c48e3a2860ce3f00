"""Loops: one job whose tasks run all rounds, or a job for each round; and the forms of their functions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from morisot.compile.aggregates.round_folds import NumericFold, recognise_round_fold
from morisot.compile.choose import verdict_of
from morisot.compile.ir.values import truth as known_truth
from morisot.compile.kernel.loop import LoopFunctions, compile_loop
from morisot.compile.verdict import ColumnForm, Refusal
from morisot.physical.choose.aggregate import all_of
from morisot.physical.choose.join import compares_natively
from morisot.physical.ops import Choice, LoopOp, Reason
from morisot.physical.steps import step_of
from morisot.plan.nodes.aggregate import Aggregation
from morisot.plan.nodes.closure import Closure
from morisot.plan.nodes.iterate import DeltaIterate, Loop
from morisot.plan.nodes.node import Node
from morisot.plan.nodes.partition import Cache, Parallelism, RepartitionBy, Shuffle
from morisot.plan.nodes.rowwise import Filter, Map, Rowwise
from morisot.types.array import of_numbers
from morisot.types.element import ANY, contains_any, leaves
from morisot.worker.loops.kernel import LoopKernel
from morisot.worker.rowwise.steps import Step

PathName = Literal["barrier", "frame"]

MOVING = (Shuffle, Parallelism, RepartitionBy, Cache)
"""Operators that only move elements: in a loop that is one job they have no effect."""
FOR_EACH_PARTITION = "it is called in this process, once a round for each partition"
ONCE_A_ROUND = "it is called in this process, once a round"
IN_TASKS = "the body and the local fold run in tasks that last for all rounds"
LOCAL_FOLD = "it folds the output of the body, partition by partition"
AGGREGATED = "Spark computes it together with the output of the body"
DELTAS = "deltas are applied to entries in Python"
DELTAS_ADVICE = "end the body with an aggregate by key, and write all four functions so that they have column forms"
JOINED = "Spark joins entries and deltas"


@dataclass(frozen=True)
class LoopPath:
    """How a loop runs, and why."""

    name: PathName
    reason: str


def path_of(node: Loop) -> LoopPath:
    """Whether a loop is one job whose tasks run all rounds, or a job for each round."""
    for each in node.body.nodes:
        if not isinstance(each, (Rowwise, *MOVING)):
            return LoopPath("frame", f"{each.operator} ({each.location}) moves elements between partitions")
    if node.body.side_inputs:
        return LoopPath("frame", "the body returns a stream from outside the loop")
    return LoopPath("barrier", "the body is row-wise: elements stay in their tasks")


def choose_loop(node: Loop, demoted: frozenset[Node]) -> Choice:
    """A loop whose body is row-wise runs all rounds in its tasks."""
    reasons = {
        node.local_fold: Reason("stage", LOCAL_FOLD),
        node.global_fold: Reason("stage", FOR_EACH_PARTITION),
        node.condition: Reason("stage", ONCE_A_ROUND),
    }
    if path_of(node).name == "barrier":
        kernel = loop_kernel(node)
        reasons[node.local_fold] = reason_in_tasks(kernel)
        return Choice(LoopOp, reasons, detail=kernel)
    fold = None if node in demoted else round_fold_of(node)
    if fold is not None:
        reasons[node.local_fold] = Reason("column", AGGREGATED)
        reasons[node.global_fold] = Reason("stage", ONCE_A_ROUND)
    return Choice(LoopOp, reasons, may_fail=fold is not None and fold.raises, detail=fold)


def reason_in_tasks(kernel: LoopKernel | Refusal) -> Reason:
    """The reason for the form of functions in the tasks of a loop: all of them are one kernel, or run in Python."""
    if isinstance(kernel, Refusal):
        return Reason("stage", f"{IN_TASKS}, and {kernel}", kernel.advice)
    return Reason("kernel", IN_TASKS)


def body_nodes(node: Loop) -> tuple[Node, ...]:
    """The operators of a body that runs in the tasks of a loop."""
    return tuple(each for each in node.body.nodes if not isinstance(each, MOVING))


def loop_kernel(node: Loop) -> LoopKernel | Refusal:
    """The body and the fold of a loop as one kernel, or the reason why they are none."""
    delta = of_numbers(node.delta)
    if delta is None:
        return Refusal(
            "delta= does not consist of numbers and arrays", advice="give delta= a number, a tuple or an array"
        )
    steps: tuple[Step, ...] = tuple(step_of(each) for each in body_nodes(node))
    state = of_numbers(node.state)
    fold = node.local_fold.function
    return compile_loop(LoopFunctions(steps, fold, node.input.type, state, delta, node.body.state, node.feedback))


def round_fold_of(node: Loop) -> NumericFold | None:
    """The loop's fold as native aggregates; None if it is none."""
    return recognise_round_fold(node.delta, node.local_fold, node.body.output.type)


# -- delta iterations ------------------------------------------------------------------------------------------------


def choose_delta(node: DeltaIterate, demoted: frozenset[Node]) -> Choice:
    """Spark joins entries and deltas if all functions have column forms."""
    forms = None if node in demoted else column_forms(node)
    if forms is None:
        return Choice(LoopOp, all_of(node, Reason("stage", DELTAS, DELTAS_ADVICE)))
    may_fail = any(form.raises for form in forms.values())
    return Choice(LoopOp, all_of(node, Reason("column", JOINED)), forms, may_fail)


def column_forms(node: DeltaIterate) -> dict[Closure, ColumnForm] | None:
    """The column forms of the functions, if all have one and Spark compares keys as Python does; else None."""
    leaving = node.body.output.type
    if node.value == ANY or contains_any(node.entry) or not one_for_each_key(node.body.output):
        return None
    if any(leaf.type.children for leaf in leaves(node.entry)) or not compares_natively(node.entry, leaving):
        return None
    forms: dict[Closure, ColumnForm] = {}
    for name, closure in node.closures:
        verdict = verdict_of(closure, node.signature(name))
        if not isinstance(verdict, ColumnForm) or verdict.shared:  # shared values are computed for every row
            return None
        forms[closure] = verdict
    return None if known_truth(forms[node.condition].result) is None else forms


def one_for_each_key(node: Node) -> bool:
    """Whether the elements of a keyed stream have different keys."""
    while isinstance(node, Map | Filter) and node.keyed and node.input.keyed:
        node = node.input
    return isinstance(node, Aggregation) and node.keyed

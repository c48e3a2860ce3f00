"""Loops for people: which way a loop runs, and what became of the functions in it."""

from __future__ import annotations

from collections.abc import Sequence

from morisot.compile.verdict import Form, Refusal
from morisot.lower.iterate import loop_kernel, path_of
from morisot.lower.native_deltas import column_forms
from morisot.lower.round_folds import round_fold_of
from morisot.plan.graph import everything
from morisot.plan.iterate import DeltaIterate, Loop
from morisot.plan.node import Node

FOR_EACH_PARTITION = "it is called in this process, once a round for each partition"
ONCE_A_ROUND = "it is called in this process, once a round"
IN_TASKS = "the body and the local fold run together, in tasks that stay from round to round"
LOCAL_FOLD = "it folds what leaves the body, partition by partition"
AGGREGATED = "Spark computes it while it makes what leaves the body"
DELTAS = "entries and deltas meet in Python"
DELTAS_ADVICE = "end the body with an aggregate by key, and write all four functions so that they are columns"
JOINED = "Spark joins entries and deltas"


def loop_around(node: Node, roots: Sequence[Node]) -> Loop | None:
    """The loop in whose tasks an operator stays from round to round, if there is one."""
    for loop in everything(*roots):
        if isinstance(loop, Loop) and node in loop.body.nodes:
            return loop if path_of(loop).name == "barrier" else None
    return None


def form_in_tasks(loop: Loop) -> tuple[Form, str, str]:
    """The form of what runs in the tasks of a loop: all of it is one kernel, or Python."""
    kernel = loop_kernel(loop)
    if isinstance(kernel, Refusal):
        return "stage", f"{IN_TASKS}, and {kernel}", kernel.advice
    return "kernel", IN_TASKS, ""


def form_of_own(node: Loop | DeltaIterate, closure: str, demoted: frozenset[Node]) -> tuple[Form, str, str]:
    """The form of a loop's own function."""
    if isinstance(node, DeltaIterate):
        return ("column", JOINED, "") if column_forms(node) else ("stage", DELTAS, DELTAS_ADVICE)
    if closure == "local_fold" and path_of(node).name == "barrier":
        return form_in_tasks(node)
    aggregated = path_of(node).name != "barrier" and node not in demoted and round_fold_of(node) is not None
    if closure == "local_fold" and aggregated:
        return "column", AGGREGATED, ""
    global_fold = ONCE_A_ROUND if aggregated else FOR_EACH_PARTITION
    reasons = {"local_fold": LOCAL_FOLD, "global_fold": global_fold, "condition": ONCE_A_ROUND}
    return "stage", reasons[closure], ""


def path_line(node: Node) -> str | None:
    """One line about the way a loop runs."""
    if isinstance(node, Loop):
        path = path_of(node)
        return f"{'one job' if path.name == 'barrier' else 'a job for each round'} — {path.reason}"
    if isinstance(node, DeltaIterate):
        return "a job for each round — only the keys whose value changed go through the body"
    return None

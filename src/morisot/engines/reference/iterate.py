"""The meaning of loops: a loop over lists."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from morisot.engines.reference.interpreter import evaluate
from morisot.engines.reference.registry import call, evaluates
from morisot.plan.nodes.closure import Closure
from morisot.plan.nodes.iterate import Body, DeltaIterate, Elements, Iterate, Loop, Replay, State
from morisot.plan.nodes.node import Node
from morisot.types.array import own_numbers
from morisot.worker.codec.keys import canonical
from morisot.worker.report.failure import element_error

ABSENT = object()
"""The value of a key that first occurs in a delta."""


def one_round(body: Body, elements: Sequence[Any], side: Sequence[Sequence[Any]]) -> list[Any]:
    """The output of the body."""
    given = dict(zip(body.side_inputs, side, strict=True))
    return evaluate(body.output, given={**given, body.input: elements})[body.output]


def run_loop(node: Loop, elements: Iterable[Any], *side: Sequence[Any]) -> Iterator[tuple[Any, list[Any]]]:
    """The state and the elements after the last round.

    The fold runs over the output of the body. A round without output does not change the state. The condition may
    change a mutable state, such as a list.
    """
    state = copy.deepcopy(node.state)
    entering = leaving = list(elements)
    for _ in range(node.max_iterations):
        node.body.state.set(copy.deepcopy(state))
        leaving = one_round(node.body, entering, side)
        delta = copy.deepcopy(node.delta)
        for element in leaving:
            delta = folded(node, delta, element)
        if leaving:
            state = call(node, node.global_fold, state, own_numbers(delta))
        if node.feedback:
            entering = leaving
        if not call(node, node.condition, state):
            break
    node.body.state.clear()
    yield state, list(map(own_numbers, leaving))


def folded(node: Loop, delta: Any, element: Any) -> Any:
    return call_on(node, node.local_fold, element, delta, element)


def call_on(node: Node, closure: Closure, element: Any, *arguments: Any) -> Any:
    """The result of a function. Its failure is that of the element."""
    try:
        return closure.function(*arguments)
    except Exception as error:
        raise element_error(node.operator, node.location, element, error, 1) from error


@evaluates(Iterate)
def evaluate_iterate(node: Iterate, elements: Iterable[Any], *side: Sequence[Any]) -> Iterator[Any]:
    return run_loop(node, elements, *side)


@evaluates(Replay)
def evaluate_replay(node: Replay, elements: Iterable[Any], *side: Sequence[Any]) -> Iterator[Any]:
    return run_loop(node, elements, *side)


@evaluates(State)
def evaluate_state(node: State, results: Iterable[Any]) -> Iterator[Any]:
    return (state for state, _ in results)


@evaluates(Elements)
def evaluate_elements(node: Elements, results: Iterable[Any]) -> Iterator[Any]:
    return (element for _, elements in results for element in elements)


@evaluates(DeltaIterate)
def evaluate_delta_iterate(node: DeltaIterate, elements: Iterable[Any], *side: Sequence[Any]) -> Iterator[Any]:
    """Updates of changed entries are the input of the body, and its output is the deltas of entries."""
    keys: dict[bytes, Any] = {}
    values: dict[bytes, Any] = {}
    for key, value in elements:
        same = canonical(key)
        keys.setdefault(same, key)
        values[same] = value
    changed = list(values)
    for _ in range(node.max_iterations):
        updates = [(keys[same], call(node, node.make_update, keys[same], values[same])) for same in changed]
        touched: dict[bytes, Any] = {}
        for key, delta in one_round(node.body, updates, side):
            same = canonical(key)
            if not call(node, node.condition, delta):
                continue
            keys.setdefault(same, key)
            touched.setdefault(same, values.get(same, ABSENT))
            values[same] = call(node, node.process_delta, keys[same], values.get(same), delta)
        changed = [same for same, old in touched.items() if not same_value(old, values[same])]
        if not changed:
            break
    for same, value in values.items():
        yield keys[same], call(node, node.make_output, keys[same], value)


def same_value(old: Any, new: Any) -> bool:
    """Whether a delta did not change a value."""
    return type(old) is type(new) and bool(old == new)

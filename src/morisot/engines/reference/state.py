"""The meaning of operators with a state: a loop that passes the state on, one for each key."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from morisot.engines.reference.registry import Timed, advance, evaluates, failing_as, identity, leave_out
from morisot.errors import ElementError
from morisot.plan.nodes.state import Rich, RichFilterMap, RichFlatMap, RichMap
from morisot.worker.stateful.state import pair


@evaluates(RichMap, sees_time=True)
def evaluate_rich_map(node: RichMap, elements: Iterable[Any]) -> Iterator[Any]:
    for output, emit in outputs(node, elements):
        yield emit(output)


@evaluates(RichFilterMap, sees_time=True)
def evaluate_rich_filter_map(node: RichFilterMap, elements: Iterable[Any]) -> Iterator[Any]:
    for output, emit in outputs(node, elements):
        if output is not None:
            yield emit(output)


@evaluates(RichFlatMap, sees_time=True)
def evaluate_rich_flat_map(node: RichFlatMap, elements: Iterable[Any]) -> Iterator[Any]:
    for output, emit in outputs(node, elements):
        for item in output:
            yield emit(item)


def outputs(node: Rich, elements: Iterable[Any]) -> Iterator[Any]:
    """The outputs of the function for each element, and a function that adds key and timestamp to an output."""
    states: dict[bytes, Any] = {}
    for given in elements:
        element = given.element if isinstance(given, Timed) else given
        key = identity(node, element[0]) if node.input.keyed else b""
        if key not in states:
            states[key] = copy.deepcopy(node.init)
        arguments = element if node.input.keyed else (element,)
        try:
            answer = advance(node, node.function, states[key], *arguments)
            state, output = failing_as(node, element, partial(pair, answer))
            if node.out == "flat_map":
                output = failing_as(node, element, partial(list, output))
        except ElementError as error:
            leave_out(node, error)
            continue
        if output is state:  # a copy, because the state may change later, and the output must not
            output = copy.deepcopy(output)
        states[key] = state

        def emit(value: Any, given: Any = given, element: Any = element) -> Any:
            result = (element[0], value) if node.input.keyed else value
            return Timed(result, given.time) if isinstance(given, Timed) else result

        yield output, emit

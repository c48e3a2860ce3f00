"""The meaning of operators with a state, which a loop passes on, and of users' operators with replicas."""

from __future__ import annotations

import copy
import pickle
import socket
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from morisot.engines.reference.registry import Timed, advance, evaluates, failing_as, identity, leave_out
from morisot.errors import ElementError
from morisot.plan.nodes.state import (
    Apply,
    ApplyFixed,
    ApplyOnDemand,
    Numbered,
    Rich,
    RichFilterMap,
    RichFlatMap,
    RichMap,
)
from morisot.types.element import ANY
from morisot.types.replicas import STORE, Message, Replica, Sender, outputs_of
from morisot.worker.codec.fits import UnfitValue, checker
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


@evaluates(Numbered, sees_time=True)
def evaluate_numbered(node: Numbered, elements: Iterable[Any]) -> Iterator[Any]:
    for number, given in enumerate(elements):
        element = given.element if isinstance(given, Timed) else given
        found = (element[0], (number, element[1])) if node.input.keyed else (number, element)
        yield Timed(found, given.time) if isinstance(given, Timed) else found


@evaluates(ApplyOnDemand, sees_time=True)
def evaluate_apply_on_demand(node: ApplyOnDemand, elements: Iterable[Any]) -> Iterator[Any]:
    """One replica is always free, because this engine processes one element after the other."""
    yield from _processed(node, ((each, 0) for each in elements), stored=False)


@evaluates(ApplyFixed, sees_time=True)
def evaluate_apply_fixed(node: ApplyFixed, elements: Iterable[Any]) -> Iterator[Any]:
    yield from _processed(node, ((each, _of(each)[0]) for each in elements), stored=node.stored)


def _of(given: Any) -> Any:
    return given.element if isinstance(given, Timed) else given


def _processed(node: Apply, elements: Iterable[tuple[Any, int]], *, stored: bool) -> Iterator[Any]:
    """The outputs for elements, each with its replica."""
    replicas: dict[int, Any] = {}
    try:
        for given, instance in elements:
            element = _of(given)
            number, given_value = element[1] if isinstance(node, ApplyFixed) else element
            id_, before, value = given_value if node.has_ids else (number // node.copies, 0, given_value)
            if instance not in replicas:
                replicas[instance] = _begun(node, instance, stored=stored)
            message = Message(id_, None, False, instance, Sender(node.sender, before))
            try:
                outputs = failing_as(node, value, partial(_outputs, node, replicas[instance], value, message))
            except ElementError as error:
                leave_out(node, error)
                continue
            for output in outputs:
                sent = (id_, instance, output)
                yield Timed(sent, given.time) if isinstance(given, Timed) else sent
    except ElementError as error:
        for each in replicas.values():
            each.on_error(error.__cause__ or error)
        raise
    finally:
        for each in replicas.values():
            each.on_exit()


def _begun(node: Apply, instance: int, *, stored: bool) -> Any:
    operator = copy.deepcopy(node.process.original.__self__)  # type: ignore[attr-defined]
    if stored:
        operator.__dict__[STORE] = {}
    failing_as(node, "(none: on_init failed)", partial(operator.on_init, _place(node, instance)))
    return operator


def _place(node: Apply, instance: int) -> Replica:
    return Replica(instance, node.replicate, socket.gethostname())


def _outputs(node: Apply, operator: Any, value: Any, message: Message) -> list[Any]:
    outputs = outputs_of(operator.process(value, message))
    if node.output == ANY:
        return outputs
    try:
        return [*map(checker(node.output, pickle.dumps, 0), outputs)]
    except UnfitValue as refused:
        raise refused.__cause__ or refused from None

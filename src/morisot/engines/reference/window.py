"""The meaning of windows: lists of elements, and a function of each list."""

from __future__ import annotations

import copy
import operator
import time as clocks
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from morisot.engines.reference.registry import Timed, advance, call, evaluates, failing_as, fitting, identity, leave_out
from morisot.errors import ElementError
from morisot.plan.nodes import window as plan
from morisot.plan.nodes.closure import Closure
from morisot.plan.nodes.node import Node
from morisot.plan.nodes.window import Measure, Window, WindowJoin, WithoutFailures
from morisot.types.element import Type
from morisot.types.moments import from_ticks, to_ticks
from morisot.types.windows import Assigned, Tx, Windowed

AT_END = float("inf")
"""The position of results that are known only when the stream has ended."""


class WindowElement(NamedTuple):
    """An element of one key, with its position in the stream, its index among those of the key, and its timestamp."""

    order: int
    position: int
    value: Any
    time: Any
    """In ticks; None if the stream has no timestamps and the windows need none."""


@dataclass
class Content:
    """A window: its elements in stream order, its bounds, and the position of its result in the output."""

    items: list[WindowElement]
    start: int
    end: int
    position: tuple[float, ...] = field(default=())

    def positioned(self, *position: float) -> Content:
        return Content(self.items, self.start, self.end, position)


def counted(items: list[WindowElement]) -> Content:
    """A window whose bounds are positions."""
    return Content(items, items[0].position, items[-1].position + 1)


# -- which elements form a window: of one key, all of whose elements are given ---------------------------------------


def count_windows(kind: plan.CountKind, items: list[WindowElement]) -> Iterator[Content]:
    """The complete windows, at the positions of their last elements; then the first incomplete one, unless `exact`."""
    for begin in range(0, len(items), kind.slide):
        content = counted(items[begin : begin + kind.size])
        if len(content.items) == kind.size:
            yield content.positioned(content.items[-1].order)
        else:
            if not kind.exact:
                yield content.positioned(AT_END, items[0].order)
            return


def time_windows(kind: plan.TimeKind, items: list[WindowElement]) -> Iterator[Content]:
    """The order is by the window's end, then by its first element."""
    starts: dict[int, list[WindowElement]] = {}
    for item in items:
        start = item.time - (item.time - kind.offset) % kind.slide
        while start > item.time - kind.size:
            starts.setdefault(start, []).append(item)
            start -= kind.slide
    for start, content in starts.items():
        yield Content(content, start, start + kind.size).positioned(start + kind.size, content[0].order)


def session_windows(kind: plan.SessionKind, items: list[WindowElement]) -> Iterator[Content]:
    """Elements in the order of time, split where the time distance of two exceeds the gap."""
    sessions: list[list[WindowElement]] = []
    for item in sorted(items, key=lambda each: (each.time, each.order)):
        if sessions and item.time - sessions[-1][-1].time <= kind.gap:
            sessions[-1].append(item)
        else:
            sessions.append([item])
    for session in sessions:
        content = sorted(session, key=lambda each: each.order)
        end = session[-1].time + kind.gap
        yield Content(content, session[0].time, end).positioned(end, content[0].order)


def all_windows(kind: plan.AllKind, items: list[WindowElement]) -> Iterator[Content]:
    yield counted(items).positioned(AT_END, items[0].order)


def last_windows(kind: plan.LastKind, items: list[WindowElement]) -> Iterator[Content]:
    for end in range(1, len(items) + 1):
        content = counted(items[max(0, end - kind.k) : end])
        yield content.positioned(content.items[-1].order)


def transaction_windows(node: Window, kind: plan.TransactionKind, items: list[WindowElement]) -> Iterator[Content]:
    """A transaction with a deadline is complete before the first element after it, or at the end of the stream."""
    pending: list[WindowElement] = []
    until: int | None = None
    for item in items:
        if until is not None and item.time is not None and item.time > until:
            yield counted(pending).positioned(item.order, 0)
            pending, until = [], None
        pending.append(item)
        verdict = call(node, kind.function, item.value)
        action, after = failing_as(node, item.value, partial(transaction, verdict, node.input.time))
        if action == "commit":
            yield counted(pending).positioned(item.order, 1)
        if action in ("commit", "discard"):
            pending, until = [], None
        elif action == "commit_after":
            until = after
    if until is not None:
        yield counted(pending).positioned(AT_END, items[0].order)


def transaction(verdict: Any, time: Type | None) -> tuple[str, int | None]:
    """The result of the transaction's function, with its timestamp in ticks."""
    if not isinstance(verdict, Tx):
        raise TypeError(f"the function of a transaction window must return a Tx, not {verdict!r}")
    if verdict.action != "commit_after":
        return verdict.action, None
    if time is None:
        raise ValueError("Tx.commit_after needs a stream with timestamps: call add_timestamps first")
    return verdict.action, to_ticks(verdict.after, time)


def custom_windows(node: Window, kind: plan.CustomKind, items: list[WindowElement]) -> Iterator[Content]:
    held: dict[Hashable, list[WindowElement]] = {}
    state = failing_as(node, None, kind.window.start)
    number = 0
    for item in items:
        moment = None if item.time is None or node.input.time is None else from_ticks(item.time, node.input.time)
        answer = failing_as(node, item.value, partial(kind.window.assign, state, item.value, moment))
        state, into, close, drop = failing_as(node, item.value, partial(Assigned, *answer))
        for name in into:
            held.setdefault(name, []).append(item)
        for name in drop:
            held.pop(name, None)
        for name in close:
            if name in held:
                yield counted(held.pop(name)).positioned(item.order, number)
                number += 1
    for name in failing_as(node, None, partial(kind.window.end, state)):
        if name in held:
            yield counted(held.pop(name)).positioned(AT_END, items[0].order, number)
            number += 1


def contents(node: Window, items: list[WindowElement]) -> Iterator[Content]:
    match node.kind:
        case plan.TransactionKind() as kind:
            return transaction_windows(node, kind, items)
        case plan.CustomKind() as kind:
            return custom_windows(node, kind, items)
        case kind:
            return _OF_KIND[type(kind)](kind, items)


_OF_KIND: dict[type[plan.WindowKind], Callable[[Any, list[WindowElement]], Iterator[Content]]] = {
    plan.CountKind: count_windows,
    plan.TimeKind: time_windows,
    plan.SessionKind: session_windows,
    plan.AllKind: all_windows,
    plan.LastKind: last_windows,
}


# -- measures of a window ---------------------------------------------------------------------------------------------


def values(node: Window, function: Closure | None, elements: list[Any]) -> list[Any]:
    return [element if function is None else call(node, function, element) for element in elements]


def total(node: Window, function: Closure | None, elements: list[Any]) -> Any:
    """Adds one value after the other: from Python 3.12 on sum() of floats compensates for rounding errors."""
    result: Any = 0
    for element, value in zip(elements, values(node, function, elements), strict=True):
        result = failing_as(node, element, partial(operator.add, result, value))
    return result


def extreme(node: Window, choose: Callable[..., Any], elements: list[Any], function: Closure | None = None) -> Any:
    key = None if function is None else partial(call, node, function)
    return failing_as(node, elements, partial(choose, elements, key=key))


def folded(node: Window, measure: Measure, elements: list[Any]) -> Any:
    """The fold from the initial value, or from the first element on; with the failures if elements may be skipped."""
    assert measure.function is not None
    held, *rest = elements if measure.kind == "reduce" else [copy.deepcopy(measure.init), *elements]
    failures: list[ElementError] = []
    for element in rest:
        try:
            held = advance(node, measure.function, held, element)
        except ElementError as error:
            if not measure.leaves_out:
                raise
            failures.append(error)
    held = fitting(node, measure.function, held, held, measure.type)
    return (held, failures) if measure.leaves_out else held


def accumulated(node: Window, measure: Measure, elements: list[Any]) -> Any:
    accumulator = measure.accumulator
    assert accumulator is not None
    held = failing_as(node, elements[0], accumulator.start)
    for element in elements:
        held = failing_as(node, element, partial(accumulator.add, held, element))
    return failing_as(node, held, partial(accumulator.finish, held))


_EXTREMES: dict[str, Callable[..., Any]] = {"min": min, "max": max, "min_element": min, "max_element": max}


def measured(node: Window, measure: Measure, elements: list[Any]) -> Any:
    """The value of a measure of a window's elements."""
    function = measure.function
    match measure.kind:
        case "count":
            return len(elements)
        case "sum":
            return total(node, function, elements)
        case "mean":
            return failing_as(node, elements, lambda: total(node, function, elements) / len(elements))
        case "min" | "max":
            return extreme(node, _EXTREMES[measure.kind], values(node, function, elements))
        case "min_element" | "max_element":
            return extreme(node, _EXTREMES[measure.kind], elements, function)
        case "first":
            return elements[0]
        case "last":
            return elements[-1]
        case "fold" | "reduce":
            return folded(node, measure, elements)
        case "map":
            assert function is not None
            return call(node, function, elements)
        case "custom":
            return accumulated(node, measure, elements)


# -- windows of a stream ---------------------------------------------------------------------------------------------


def clock_of_run() -> Callable[[], int]:
    """The processing time of all elements, in microseconds: bounded input is processed at one instant."""
    instant = clocks.time_ns() // 1000
    return lambda: instant


def by_key(node: Node, kind: plan.WindowKind, keyed: bool, elements: Iterable[Any]) -> dict[bytes, Any]:
    """(key, its items) for each key, in the order of first elements; all elements if there are no keys."""
    groups: dict[bytes, tuple[Any, list[WindowElement]]] = {}
    clock = clock_of_run()
    for order, given in enumerate(elements):
        element, time = given if isinstance(given, Timed) else (given, None)
        key, value = element if keyed else (None, element)
        _, items = groups.setdefault(identity(node, key), (key, []))
        items.append(WindowElement(order, len(items), value, clock() if kind.processing else time))
    return groups


@evaluates(Window, sees_time=True)
def evaluate_window(node: Window, elements: Iterable[Any]) -> Iterator[Any]:
    keyed = node.input.keyed
    found = [
        (content.position, key, content)
        for key, items in by_key(node, node.kind, keyed, elements).values()
        for content in contents(node, items)
    ]
    for _, key, content in sorted(found, key=lambda each: each[0]):
        inside = [item.value for item in content.items]
        results = [measured(node, measure, inside) for measure in node.measures]
        value = results[0] if node.row is None else node.row.cls(*results)
        if node.bounds:
            value = Windowed(from_ticks(content.start, node.clock), from_ticks(content.end, node.clock), value)
        element = (key, value) if keyed else value
        yield element if node.time is None else Timed(element, stamp(node, content))


@evaluates(WithoutFailures)
def evaluate_without_failures(node: WithoutFailures, elements: Iterable[Any]) -> Iterator[Any]:
    for element in elements:
        result = element[1] if node.input.keyed else element
        value, failures = result.value if node.bounds else result
        for error in failures:
            leave_out(node, error)
        if node.bounds:
            value = Windowed(result.start, result.end, value)
        yield (element[0], value) if node.input.keyed else value


def stamp(node: Window, content: Content) -> int:
    """The timestamp of a result: the window's end, or the newest timestamp in it if its bounds are positions."""
    return content.end if node.kind.timed else max(item.time for item in content.items if item.time is not None)


# -- joins -----------------------------------------------------------------------------------------------------------


@evaluates(WindowJoin, sees_time=True)
def evaluate_window_join(node: WindowJoin, left: Iterable[Any], right: Iterable[Any]) -> Iterator[Any]:
    """The order is by the window's end (its start if bounds are positions), then by left and right elements."""
    keyed = node.left.keyed
    lefts, rights = (by_key(node, node.kind, keyed, elements) for elements in (left, right))
    found = [
        (
            content.end if node.kind.timed else content.start,
            one.order,
            other.order,
            key,
            content,
            (one.value, other.value),
        )
        for same, (key, items) in lefts.items()
        if same in rights
        for content, partner in partners(node.kind, items, rights[same][1])
        for one in content.items
        for other in partner.items
    ]
    for *_, key, content, pair in sorted(found, key=operator.itemgetter(0, 1, 2)):
        value: Any = pair
        if node.bounds:
            value = Windowed(from_ticks(content.start, node.clock), from_ticks(content.end, node.clock), pair)
        element = (key, value) if keyed else value
        yield element if node.time is None else Timed(element, content.end)


def partners(
    kind: plan.WindowKind, left: list[WindowElement], right: list[WindowElement]
) -> Iterator[tuple[Content, Content]]:
    """Pairs of the same window of two sides: of the same time, or the same number. Sessions have elements of both."""
    if isinstance(kind, plan.SessionKind):
        for session in session_windows(kind, [*left, *right]):
            members = set(map(id, session.items))
            yield (
                Content([item for item in left if id(item) in members], session.start, session.end),
                Content([item for item in right if id(item) in members], session.start, session.end),
            )
        return
    windows = _OF_KIND[type(kind)]
    others = {content.start: content for content in windows(kind, right)}
    for content in windows(kind, left):
        if content.start in others:
            yield content, others[content.start]

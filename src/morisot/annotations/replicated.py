"""Replicated stages in workers: functions whose on_init loads a value, and operators with events."""

from __future__ import annotations

import inspect
import types
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any

from morisot.plan.operators import Operator
from morisot.types.replicas import Message, Replica

_RUNS = 8
"""The runs whose values a worker process retains."""

_values: OrderedDict[str, Any] = OrderedDict()
"""What on_init returned in this process, by run and stage."""


def value_of(run: str, on_init: Callable[[], Any]) -> Any:
    """What on_init has returned in this process, or returns now."""
    if run not in _values:
        _values[run] = on_init()
        while len(_values) > _RUNS:
            _values.popitem(last=False)
    return _values[run]


def called(function: Callable[..., Any], argument: Any) -> None:
    """Calls an event with its argument, if it takes one."""
    try:
        inspect.signature(function).bind(argument)
    except (TypeError, ValueError):  # a builtin may have no signature
        function()
    else:
        function(argument)


class InitialisedStage:
    """The function of a stage, with a name that is bound to what on_init returns in the worker process."""

    def __init__(self, run: str, on_init: Callable[[], Any], make: Callable[[Any], Callable[[Any], Any]]) -> None:
        self._run = run
        self._on_init = on_init
        self._make = make
        self._function: Callable[[Any], Any] | None = None
        self.__name__ = "stage"

    def __call__(self, element: Any) -> Any:
        if self._function is None:
            self._function = self._make(self._value())
        return self._function(element)

    def _value(self) -> Any:
        return value_of(self._run, self._on_init)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_function": None}


class WithValue:
    """Binds a free variable of a function to a value."""

    def __init__(self, function: types.FunctionType, name: str) -> None:
        self._function = function
        self._name = name

    def __call__(self, value: Any) -> Callable[[Any], Any]:
        function = self._function
        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        cells[self._name] = types.CellType(value)
        closure = tuple(cells[name] for name in function.__code__.co_freevars)
        return types.FunctionType(function.__code__, function.__globals__, function.__name__, None, closure)


class ReplicatedStage(Operator[Any, Any]):
    """A stage as an operator with replicas. Each replica has the events of the stage for the elements of a batch."""

    def __init__(
        self,
        run: str,
        function: Callable[[Any], Any],
        bind: WithValue | None,
        events: Mapping[str, Any],
        *,
        drops: bool,
    ) -> None:
        self._run = run
        self._function = function
        self._bind = bind
        self._events = events
        self._drops = drops
        self._failed = False

    def on_init(self, place: Replica) -> None:
        """Without on_exit, what on_init returned serves the next batches, too."""
        on_init = self._events.get("on_init")
        if on_init is None:
            return
        value = on_init() if "on_exit" in self._events else value_of(self._run, on_init)
        if self._bind is not None:
            self._function = self._bind(value)

    def process(self, element: Any, message: Message) -> list[Any]:
        result = self._function(element)
        return [] if self._drops and result is None else [result]

    def on_error(self, error: BaseException) -> None:
        self._failed = True
        if "on_error" in self._events:
            called(self._events["on_error"], error)

    def on_exit(self) -> None:
        """Calls on_snapshot first, if the replica has processed its part of the batch."""
        if "on_snapshot" in self._events and not self._failed:
            called(self._events["on_snapshot"], 0)
        if "on_exit" in self._events:
            self._events["on_exit"]()

"""Replicated stages in workers: a stage whose on_init loads a value, once in each worker process."""

from __future__ import annotations

import types
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

_RUNS = 8
"""The runs whose values a worker process retains."""

_values: OrderedDict[str, Any] = OrderedDict()
"""What on_init returned in this process, by run and stage."""


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
        if self._run not in _values:
            _values[self._run] = self._on_init()
            while len(_values) > _RUNS:
                _values.popitem(last=False)
        return _values[self._run]

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

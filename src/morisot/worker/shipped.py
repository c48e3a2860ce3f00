"""A task as Spark sends it to workers: a pickle, and the large captured values, which are sent separately."""

from __future__ import annotations

import copy
import importlib
import io
import pickle
import sys
from dataclasses import dataclass
from typing import Any, NoReturn, Protocol

_KEPT = 8
"""The large values that a worker process keeps for its next tasks."""
_kept: dict[str, Any] = {}


class Held(Protocol):
    """The bytes of a value. Spark sends them to each machine once."""

    @property
    def value(self) -> bytes: ...


@dataclass(frozen=True)
class LargeValue:
    """A captured value that is pickled once for all tasks of a job."""

    token: str
    pickled: Held
    flat: bool
    """Whether it is a collection of immutable values, so that a shallow copy shares nothing that can be changed."""

    def load(self) -> Any:
        """A copy for one task. A worker process unpickles a flat collection only once."""
        if not self.flat:
            return pickle.loads(self.pickled.value)
        if self.token not in _kept:
            while len(_kept) >= _KEPT:
                del _kept[next(iter(_kept))]
            _kept[self.token] = pickle.loads(self.pickled.value)
        return copy.copy(_kept[self.token])


class OnlyInProgram:
    """The copy of an object that exists only in the program: a context, a stream, a Spark session."""

    def __init__(self, name: str) -> None:
        self.__dict__["name"] = name

    def __getattr__(self, attribute: str) -> NoReturn:
        name = self.__dict__["name"]
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        raise RuntimeError(
            f"a {name} exists only in the program, and this function runs in a worker: read what it needs into a "
            "variable before, and capture the variable"
        )


@dataclass(frozen=True)
class ShippedTask:
    """A pickled task, the values that are not part of the pickle, and the path to import modules from."""

    pickled: bytes
    large: tuple[LargeValue, ...] = ()
    path: tuple[str, ...] = ()

    def load(self) -> Any:
        """The task. Modules of the user are imported."""
        sys.path += [entry for entry in self.path if entry not in sys.path]
        return _Unpickler(self).load()


class _Unpickler(pickle.Unpickler):
    def __init__(self, task: ShippedTask) -> None:
        super().__init__(io.BytesIO(task.pickled))
        self._task = task

    def persistent_load(self, pid: Any) -> Any:
        match pid:
            case ("large", int(index)):
                return self._task.large[index].load()
            case ("imported", str(module), str(name)):
                return getattr(importlib.import_module(module), name)
            case ("program", str(name)):
                return OnlyInProgram(name)
        raise pickle.UnpicklingError(f"unknown reference {pid!r}")

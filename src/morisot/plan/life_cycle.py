"""The callbacks and the key store that users' sources, operators and sinks have in common."""

from __future__ import annotations

import types
from collections.abc import Iterator, MutableMapping
from typing import Any

from morisot.errors import PlanError
from morisot.types.replicas import STORE, Replica


class WithLifeCycle:
    """An object of the user that begins, learns about snapshots, and ends. Its callbacks do nothing by default."""

    def on_init(self, place: Replica) -> None:
        """Called once in each process with the object, before any other method: open connections here."""

    def on_local_snapshot(self, snapshot: int) -> None:
        """Called when the part of this object in a snapshot is stored."""

    def on_global_snapshot(self, snapshot: int) -> None:
        """Called when a snapshot is complete: the elements before it will not be processed again."""

    def on_error(self, error: BaseException) -> None:
        """Called when the job has failed. `on_exit` is called next."""

    def on_exit(self) -> None:
        """Called at the end, also after a failure."""

    @property
    def store(self) -> MutableMapping[Any, Any]:
        """The key store: a dict whose values are saved with the snapshots, and restored after a failure."""
        found: MutableMapping[Any, Any] | None = self.__dict__.get(STORE)
        if found is None:
            raise PlanError(
                f"{type(self).__name__} has no key store here",
                advice="use self.store in the methods that process elements, and pass store=True to apply(…)",
            )
        return found


CALLBACKS = ("on_init", "on_local_snapshot", "on_global_snapshot", "on_error", "on_exit")


def has_life_cycle(user: WithLifeCycle) -> bool:
    """Whether an object has a callback or a key store."""
    own = any(getattr(type(user), name) is not getattr(WithLifeCycle, name) for name in CALLBACKS)
    return own or uses_store(user)


def names_in(user: object, name: str) -> bool:
    """Whether a method of an object's class contains a name."""
    return any(name in _names(code) for cls in type(user).__mro__ for code in _codes(cls))


def uses_store(user: WithLifeCycle) -> bool:
    """Whether a method of the object's class names `store`."""
    return names_in(user, "store")


def _codes(cls: type) -> Iterator[types.CodeType]:
    for value in vars(cls).values():
        inside: Any = getattr(value, "__func__", getattr(value, "fget", value))
        if isinstance(inside, types.FunctionType):
            yield inside.__code__


def _names(code: types.CodeType) -> set[str]:
    inner = (each for each in code.co_consts if isinstance(each, types.CodeType))
    return set(code.co_names).union(*map(_names, inner))

"""The base class of users' operators: objects with callbacks, which run in replicas."""

from __future__ import annotations

import types
from collections.abc import Iterable, Iterator, MutableMapping
from typing import Any, Generic, TypeVar, get_args, get_origin

from morisot.errors import PlanError
from morisot.types.replicas import STORE, Message, Replica

T = TypeVar("T")
U = TypeVar("U")


class Operator(Generic[T, U]):
    """A user-defined operator with callbacks, for `stream.apply(…)`. It must be possible to pickle it.

    `process` yields the outputs for an element. An operator whose methods use `self.store` has a key store for each
    replica: a dict whose values are saved with the snapshots and restored after a failure. Other attributes are no
    state: a worker sets them in `on_init`, and they end with its process.

    >>> class Count(Operator[str, int]):
    ...     def process(self, text: str, message: Message) -> Iterator[int]:
    ...         self.store["seen"] = self.store.get("seen", 0) + 1
    ...         yield self.store["seen"]
    """

    def on_init(self, place: Replica) -> None:
        """Called once in each worker process with the replica, before its first element: load a model here."""

    def process(self, element: T, message: Message) -> Iterable[U] | None:
        """Called for each element. Yields any number of outputs, or returns a list of them."""
        raise NotImplementedError(f"{type(self).__name__} has no process(element, message)")

    def on_local_snapshot(self, snapshot: int) -> None:
        """Called when the part of this replica in a snapshot is stored."""

    def on_global_snapshot(self, snapshot: int) -> None:
        """Called when a snapshot is complete: the elements before it will not be processed again."""

    def on_error(self, error: BaseException) -> None:
        """Called when the job has failed, in every replica. `on_exit` is called next."""

    def on_exit(self) -> None:
        """Called at the end, also after a failure."""

    @property
    def store(self) -> MutableMapping[Any, Any]:
        """The key store of this replica."""
        found: MutableMapping[Any, Any] | None = self.__dict__.get(STORE)
        if found is None:
            raise PlanError(
                f"{type(self).__name__} has no key store here",
                advice="pass store=True to apply(…), and use the store in process",
            )
        return found


def uses_store(operator: Operator[Any, Any]) -> bool:
    """Whether a method of the operator's class names `store`."""
    classes = type(operator).__mro__[: type(operator).__mro__.index(Operator)]
    return any("store" in _names(code) for cls in classes for code in _codes(cls))


def _codes(cls: type) -> Iterator[types.CodeType]:
    for value in vars(cls).values():
        inside: Any = getattr(value, "__func__", getattr(value, "fget", value))
        if isinstance(inside, types.FunctionType):
            yield inside.__code__


def _names(code: types.CodeType) -> set[str]:
    inner = (each for each in code.co_consts if isinstance(each, types.CodeType))
    return set(code.co_names).union(*map(_names, inner))


def output_annotation(operator: Operator[Any, Any]) -> Any:
    """The type of the outputs, from `Operator[T, U]`; None if the class does not state it."""
    for cls in type(operator).__mro__:
        for base in getattr(cls, "__orig_bases__", ()):
            if get_origin(base) is Operator:
                found = get_args(base)[1]
                return None if isinstance(found, TypeVar) else found
    return None

"""The base class of users' operators: objects with callbacks, which run in replicas."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Generic, TypeVar, get_args, get_origin

from morisot.plan.life_cycle import WithLifeCycle
from morisot.types.replicas import Message

T = TypeVar("T")
U = TypeVar("U")


class Operator(WithLifeCycle, Generic[T, U]):
    """A user-defined operator with callbacks, for `stream.apply(…)`. It must be possible to pickle it.

    `process` yields the outputs for an element. An operator whose methods use `self.store` has a key store for each
    replica: a dict whose values are saved with the snapshots and restored after a failure. Other attributes are no
    state: a worker sets them in `on_init`, and they end with its process. `on_init` is called once in each worker
    process with a replica, before its first element: load a model there.

    >>> class Count(Operator[str, int]):
    ...     def process(self, text: str, message: Message) -> Iterator[int]:
    ...         self.store["seen"] = self.store.get("seen", 0) + 1
    ...         yield self.store["seen"]
    """

    def process(self, element: T, message: Message) -> Iterable[U] | None:
        """Called for each element. Yields any number of outputs, or returns a list of them."""
        raise NotImplementedError(f"{type(self).__name__} has no process(element, message)")


def output_annotation(operator: Operator[Any, Any]) -> Any:
    """The type of the outputs, from `Operator[T, U]`; None if the class does not state it."""
    for cls in type(operator).__mro__:
        for base in getattr(cls, "__orig_bases__", ()):
            if get_origin(base) is Operator:
                found = get_args(base)[1]
                return None if isinstance(found, TypeVar) else found
    return None

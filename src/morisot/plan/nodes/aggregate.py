"""Aggregates. On a keyed stream each key has its own result."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from morisot.plan.late import Late
from morisot.plan.nodes.closure import Closure
from morisot.plan.nodes.node import Node, with_durations
from morisot.plan.on_error import OnError
from morisot.types.element import Type, arguments


@dataclass(frozen=True, eq=False)
class Aggregation(Node):
    """The base class of operators that fold elements. An empty stream has no result."""

    input: Node
    on_error: OnError = field(default="raise", kw_only=True)

    keeps_order: ClassVar[bool] = False
    keeps_time: ClassVar[bool] = False
    running: ClassVar[bool] = True
    """Whether on unbounded input it emits its value whenever a micro-batch changed it."""

    @property
    def element(self) -> Type:
        """The type of the folded values: the element, or the value of a keyed one."""
        return arguments(self.input.type)[-1]

    @property
    def leaves_out(self) -> bool:
        return self.on_error != "raise"

    def signature(self, closure: str) -> tuple[Type, ...]:
        return (self.element,)


@dataclass(frozen=True, eq=False)
class Count(Aggregation):
    """The number of elements."""


@dataclass(frozen=True, eq=False)
class Sum(Aggregation):
    """The sum of `value(element)`."""

    value: Closure


@dataclass(frozen=True, eq=False)
class Avg(Aggregation):
    """The mean of `value(element)`: the sum divided by the count."""

    value: Closure


@dataclass(frozen=True, eq=False)
class MinElement(Aggregation):
    """The element whose `value(element)` is smallest; of equal ones the first."""

    value: Closure
    observes_order: ClassVar[bool] = True


@dataclass(frozen=True, eq=False)
class MaxElement(Aggregation):
    """The element whose `value(element)` is largest; of equal ones the first."""

    value: Closure
    observes_order: ClassVar[bool] = True


@dataclass(frozen=True, eq=False)
class First(Aggregation):
    """The first element."""

    observes_order: ClassVar[bool] = True
    keeps_time: ClassVar[bool] = True
    running: ClassVar[bool] = False


@dataclass(frozen=True, eq=False)
class ReduceAssoc(Aggregation):
    """Combines elements pairwise with an associative `function`, in parallel."""

    function: Closure
    observes_order: ClassVar[bool] = True

    def signature(self, closure: str) -> tuple[Type, ...]:
        return (self.element, self.element)


@dataclass(frozen=True, eq=False)
class FoldAssoc(Aggregation):
    """Folds each partition from `init` with `local`, then merges the partial results with `combine`."""

    init: Any
    local: Closure
    combine: Closure
    observes_order: ClassVar[bool] = True

    def signature(self, closure: str) -> tuple[Type, ...]:
        accumulator = arguments(self.type)[-1]
        return (accumulator, self.element) if closure == "local" else (accumulator, accumulator)


@dataclass(frozen=True, eq=False)
class Fold(Aggregation):
    """The result of `function(accumulator, element)` after the last element, from `init` on, in stream order."""

    init: Any
    function: Closure
    observes_order: ClassVar[bool] = True

    def signature(self, closure: str) -> tuple[Type, ...]:
        return (arguments(self.type)[-1], self.element)


@dataclass(frozen=True, eq=False)
class Reduce(Aggregation):
    """The result of `function(accumulator, element)` after the last element, from the first on, in stream order."""

    function: Closure
    observes_order: ClassVar[bool] = True

    def signature(self, closure: str) -> tuple[Type, ...]:
        return (self.element, self.element)


@dataclass(frozen=True, eq=False)
class WithAggregate(Node):
    """Each element of `input` with the result of `aggregate`; on a keyed stream with that of its key."""

    input: Node
    aggregate: Node
    only_bounded: ClassVar[str] = "the final result is known only at the end"


@dataclass(frozen=True, eq=False)
class SortedBy(Node):
    """The elements in the order of `key(element)`, stably; `n` of them after `offset`."""

    input: Node
    key: Closure
    n: int | None = None
    offset: int = 0
    observes_order: ClassVar[bool] = True
    keeps_order: ClassVar[bool] = False
    only_bounded: ClassVar[str] = "the first element of the order may arrive later"

    def signature(self, closure: str) -> tuple[Type, ...]:
        return arguments(self.input.type)


@dataclass(frozen=True, eq=False)
class Limit(Node):
    """`n` elements of the whole stream, after `offset` of them."""

    input: Node
    n: int
    offset: int = 0
    observes_order: ClassVar[bool] = True


@dataclass(frozen=True, eq=False)
class Unique(Node):
    """Each distinct element once; of equal ones the first."""

    input: Node
    observes_order: ClassVar[bool] = True
    keeps_order: ClassVar[bool] = False


@dataclass(frozen=True, eq=False)
class UniqueWithin(Node):
    """Deduplicates the elements of each key within a time distance.

    An element is dropped if its timestamp is less than `within` before or after that of a retained element. Elements
    below the watermark are late, because the timestamps to compare them with may have been removed from the state.
    """

    input: Node
    within: int
    """In the unit of the timestamps."""
    late: Late | None = None
    observes_order: ClassVar[bool] = True

    @property
    def shown_parameters(self) -> dict[str, str]:
        assert self.input.time is not None
        return with_durations(super().shown_parameters, self, within=self.input.time)

    @property
    def has_timers(self) -> bool:
        return True

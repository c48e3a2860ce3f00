"""Many elements to few. On a keyed stream each key has a result of its own."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from morisot.plan.late import Late
from morisot.plan.nodes.closure import Closure
from morisot.plan.nodes.node import Node
from morisot.plan.on_error import OnError
from morisot.types.element import Type, arguments


@dataclass(frozen=True, eq=False)
class Aggregation(Node):
    """The root of the operators that fold elements; an empty stream gives no result."""

    input: Node
    on_error: OnError = field(default="raise", kw_only=True)

    keeps_order: ClassVar[bool] = False
    keeps_time: ClassVar[bool] = False
    running: ClassVar[bool] = True
    """Whether on unbounded input it gives its value again whenever that changed."""

    @property
    def element(self) -> Type:
        """What is folded: the element, or the value of a keyed one."""
        return arguments(self.input.type)[-1]

    @property
    def leaves_out(self) -> bool:
        return self.on_error != "raise"

    def signature(self, closure: str) -> tuple[Type, ...]:
        return (self.element,)


@dataclass(frozen=True, eq=False)
class Count(Aggregation):
    """How many elements there are."""


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
    """The whole element whose `value(element)` is smallest; of equals the first."""

    value: Closure
    observes_order: ClassVar[bool] = True


@dataclass(frozen=True, eq=False)
class MaxElement(Aggregation):
    """The whole element whose `value(element)` is largest; of equals the first."""

    value: Closure
    observes_order: ClassVar[bool] = True


@dataclass(frozen=True, eq=False)
class First(Aggregation):
    """The element that came first."""

    observes_order: ClassVar[bool] = True
    keeps_time: ClassVar[bool] = True
    running: ClassVar[bool] = False


@dataclass(frozen=True, eq=False)
class ReduceAssoc(Aggregation):
    """Combine elements two by two with an associative `function`, in parallel."""

    function: Closure
    observes_order: ClassVar[bool] = True

    def signature(self, closure: str) -> tuple[Type, ...]:
        return (self.element, self.element)


@dataclass(frozen=True, eq=False)
class FoldAssoc(Aggregation):
    """Fold each partition from `init` with `local`, then merge the partial results with `combine`."""

    init: Any
    local: Closure
    combine: Closure
    observes_order: ClassVar[bool] = True

    def signature(self, closure: str) -> tuple[Type, ...]:
        accumulator = arguments(self.type)[-1]
        return (accumulator, self.element) if closure == "local" else (accumulator, accumulator)


@dataclass(frozen=True, eq=False)
class Fold(Aggregation):
    """What `function(accumulator, element)` gives after the last element, from `init` on, in the stream's order."""

    init: Any
    function: Closure
    observes_order: ClassVar[bool] = True

    def signature(self, closure: str) -> tuple[Type, ...]:
        return (arguments(self.type)[-1], self.element)


@dataclass(frozen=True, eq=False)
class Reduce(Aggregation):
    """What `function(accumulator, element)` gives after the last element, from the first on, in the stream's order."""

    function: Closure
    observes_order: ClassVar[bool] = True

    def signature(self, closure: str) -> tuple[Type, ...]:
        return (self.element, self.element)


@dataclass(frozen=True, eq=False)
class WithAggregate(Node):
    """Each element of `input` with the one result of `aggregate`; keyed, with that of its key."""

    input: Node
    aggregate: Node
    only_bounded: ClassVar[str] = "the final result is known at the end alone"


@dataclass(frozen=True, eq=False)
class SortedBy(Node):
    """The elements in the order of `key(element)`, equals in the order they came; `n` of them after `offset`."""

    input: Node
    key: Closure
    n: int | None = None
    offset: int = 0
    observes_order: ClassVar[bool] = True
    keeps_order: ClassVar[bool] = False
    only_bounded: ClassVar[str] = "the first element of the order may still be to come"

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
    """Each distinct element once: of those that are equal, the first."""

    input: Node
    observes_order: ClassVar[bool] = True
    keeps_order: ClassVar[bool] = False


@dataclass(frozen=True, eq=False)
class UniqueWithin(Node):
    """Of the elements of each key those that are not near in time to one that was kept before them.

    Near is less than `within` away, earlier or later. What comes below the watermark is late: what was near it may be
    forgotten.
    """

    input: Node
    within: int
    """In the unit of the timestamps."""
    late: Late | None = None
    observes_order: ClassVar[bool] = True

    @property
    def awaits_time(self) -> bool:
        return True

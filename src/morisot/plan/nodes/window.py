"""Windows: the kind of window, and the measures that are computed of its elements."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from morisot.plan.late import Late
from morisot.plan.nodes.closure import Closure
from morisot.plan.nodes.node import Node
from morisot.plan.nodes.rowwise import Rowwise
from morisot.plan.on_error import OnError
from morisot.types.element import ANY, DATETIME, INT, List, Record, Tuple, Type, arguments
from morisot.types.moments import shown
from morisot.types.windows import Accumulator, CustomWindow


@dataclass(frozen=True)
class WindowKind:
    """Defines which elements of a key, or of the whole stream, form windows. All durations are in ticks."""

    timed: ClassVar[bool] = False
    """Whether windows are intervals of time, whose bounds are timestamps; otherwise bounds are positions."""
    processing = False  # no ClassVar, because it is a field of some kinds
    """Whether windows use processing time instead of event time."""
    stamped: ClassVar[bool] = True
    """Whether results have timestamps if elements have: the window's end, or the newest timestamp in it."""
    by_order: ClassVar[bool] = True
    """Whether the content of windows depends on the order of the elements."""

    def shown(self, clock: Type) -> str:
        """The description as the user writes it. Durations are in ticks of the clock, and have a unit in the text."""
        return repr(self)


@dataclass(frozen=True)
class CountKind(WindowKind):
    """`size` elements, with a window beginning at every `slide`-th. `exact` drops the incomplete window at the end."""

    size: int
    slide: int
    exact: bool

    def __repr__(self) -> str:
        rest = "" if self.exact else ", exact=False"
        return f"CountWindow.sliding({self.size}, {self.slide}{rest})"


@dataclass(frozen=True)
class TimeKind(WindowKind):
    """Intervals of `size`, of which one begins at every multiple of `slide` plus `offset`."""

    size: int
    slide: int
    offset: int
    processing: bool = False
    timed: ClassVar[bool] = True
    by_order: ClassVar[bool] = False

    @property
    def stamped(self) -> bool:  # type: ignore[override]
        return not self.processing

    def __repr__(self) -> str:
        shift = f", offset={self.offset}" if self.offset else ""
        return f"{clock_name(self)}.sliding({self.size}, {self.slide}{shift})"

    def shown(self, clock: Type) -> str:
        size, slide, offset = (repr(shown(ticks, clock)) for ticks in (self.size, self.slide, self.offset))
        shift = f", offset={offset}" if self.offset else ""
        if self.size == self.slide:
            return f"{clock_name(self)}.tumbling({size}{shift})"
        return f"{clock_name(self)}.sliding({size}, {slide}{shift})"


@dataclass(frozen=True)
class SessionKind(WindowKind):
    """Session windows: each element is at most `gap` after the one before it."""

    gap: int
    processing: bool = False
    timed: ClassVar[bool] = True
    by_order: ClassVar[bool] = False

    @property
    def stamped(self) -> bool:  # type: ignore[override]
        return not self.processing

    def __repr__(self) -> str:
        return f"{clock_name(self)}.session({self.gap})"

    def shown(self, clock: Type) -> str:
        return f"{clock_name(self)}.session({shown(self.gap, clock)!r})"


def clock_name(kind: WindowKind) -> str:
    return "ProcessingTimeWindow" if kind.processing else "EventTimeWindow"


@dataclass(frozen=True)
class AllKind(WindowKind):
    """One window with all elements."""

    by_order: ClassVar[bool] = False

    def __repr__(self) -> str:
        return "AllWindow()"


@dataclass(frozen=True)
class LastKind(WindowKind):
    """A window for each element: it and the elements before it, `k` at most."""

    k: int

    def __repr__(self) -> str:
        return f"LastK({self.k})"


@dataclass(frozen=True)
class TransactionKind(WindowKind):
    """Elements up to one for which `function` returns a commit."""

    function: Closure
    stamped: ClassVar[bool] = False

    def __repr__(self) -> str:
        return f"TransactionWindow({self.function.name})"


@dataclass(frozen=True)
class CustomKind(WindowKind):
    """User-defined windows."""

    window: CustomWindow[Any, Any]
    function: Closure
    """Its `assign` method, which represents it in explanations."""
    stamped: ClassVar[bool] = False

    def __repr__(self) -> str:
        return type(self.window).__name__


MeasureKind = Literal[
    "sum",
    "min",
    "max",
    "count",
    "mean",
    "first",
    "last",
    "min_element",
    "max_element",
    "fold",
    "reduce",
    "map",
    "custom",
]
IN_ORDER = frozenset({"first", "last", "min_element", "max_element", "fold", "reduce", "map", "custom"})
"""The measures that depend on the order of a window's elements."""


@dataclass(frozen=True, eq=False)
class Measure:
    """An aggregate of a window's elements. `function` is the user's function, if it has one."""

    kind: MeasureKind
    type: Type
    function: Closure | None = None
    init: Any = None
    accumulator: Accumulator[Any, Any, Any] | None = None
    name: str = ""
    """Its name, if there are several measures."""
    on_error: OnError = "raise"
    """The treatment of an element on which the function of a fold fails, if it does not stop the job."""
    sees_order: bool = True
    """Whether the function of a list may depend on the order of the list."""

    @property
    def label(self) -> str:
        """The name of its function in explanations."""
        own = "value" if self.kind not in IN_ORDER or self.kind.endswith("element") else "function"
        return self.name or own

    @property
    def leaves_out(self) -> bool:
        return self.on_error != "raise"

    @property
    def result(self) -> Type:
        """The type of its result: its value, and, if elements may be skipped, the failures."""
        return Tuple((self.type, ANY)) if self.leaves_out else self.type

    def takes(self, element: Type) -> tuple[Type, ...]:
        """The types of the arguments of its function."""
        match self.kind:
            case "fold":
                return (self.type, element)
            case "reduce":
                return (element, element)
            case "map":
                return (List(element),)
            case _:
                return (element,)


@dataclass(frozen=True, eq=False)
class Window(Node):
    """The measures of each window. There are no empty windows."""

    input: Node
    kind: WindowKind
    measures: tuple[Measure, ...] = field(repr=False)
    row: Record | None = field(default=None, repr=False)
    """The type of several measures together; None if there is one measure."""
    bounds: bool = field(default=False)
    """Whether results are `Windowed`, with the window's bounds."""
    late: Late | None = None
    """The function that gets late elements."""

    @property
    def unbounded_problem(self) -> tuple[str, str] | None:
        if not isinstance(self.kind, AllKind):
            return None
        return (
            "a window with all elements is complete when the stream ends",
            "use windows by count, by time or LastK(…), or an aggregate without a window: it emits its running value",
        )

    @property
    def has_timers(self) -> bool:
        return self.kind.timed and not self.kind.processing

    @property
    def completes_at_end(self) -> bool:
        """Whether the end of the stream may complete windows that do not depend on time."""
        of_count = isinstance(self.kind, CountKind) and not self.kind.exact
        return of_count or isinstance(self.kind, TransactionKind | CustomKind)

    @property
    def observes_order(self) -> bool:  # type: ignore[override]
        """Whether the kind of window or a measure depends on the order. Sums of floats do not, as in group_by_sum."""
        return self.kind.by_order or any(each.kind in IN_ORDER and each.sees_order for each in self.measures)

    @functools.cached_property
    def time(self) -> Type | None:
        return self.input.time if self.kind.stamped else None

    @property
    def clock(self) -> Type:
        """The type of the bounds of windows."""
        if not self.kind.timed:
            return INT
        return DATETIME if self.kind.processing or self.input.time is None else self.input.time

    @property
    def shown_parameters(self) -> dict[str, str]:
        return super().shown_parameters | {"kind": self.kind.shown(self.clock)}

    @property
    def element(self) -> Type:
        """The type of the measured values: the element, or the value of a keyed one."""
        return arguments(self.input.type)[-1]

    @property
    def result(self) -> Type:
        """The type of a window's result without its bounds."""
        return self.row or self.measures[0].result

    @property
    def closures(self) -> tuple[tuple[str, Closure], ...]:
        own = tuple((each.label, each.function) for each in self.measures if each.function is not None)
        of_kind = getattr(self.kind, "function", None)
        return (*own, ("window", of_kind)) if of_kind is not None else own

    def signature(self, closure: str) -> tuple[Type, ...]:
        for measure in self.measures:
            if measure.function is not None and measure.label == closure:
                return measure.takes(self.element)
        return (self.element,)


@dataclass(frozen=True, eq=False)
class WithoutFailures(Rowwise):
    """The result of the fold of each window. The skipped elements, which are part of its input, are counted.

    It is an operator of its own, because a window itself counts late elements.
    """

    bounds: bool = field(default=False, repr=False)
    """Whether the result of the fold is in a `Windowed`."""
    element: Type = field(default=ANY, repr=False)
    """The type of the skipped elements."""


@dataclass(frozen=True, eq=False)
class WindowJoin(Node):
    """The pairs (left, right) of elements in the same window, of the same key if there are keys."""

    left: Node
    right: Node
    kind: WindowKind
    bounds: bool = field(default=False)
    late: Late | None = None
    """The function that gets late elements, as (left, None) or (None, right)."""
    meets: ClassVar[bool] = True
    unbounded_if: ClassVar[str] = "windows are of time or of a number of elements"

    @property
    def has_timers(self) -> bool:
        return self.kind.timed and not self.kind.processing

    @property
    def unbounded_problem(self) -> tuple[str, str] | None:
        if isinstance(self.kind, AllKind):
            return "one window with all elements is complete when the stream ends", "use windows of time"
        if isinstance(self.kind, CountKind) and not self.kind.exact:
            return "which window stays incomplete is known only at the end of a stream", "remove exact=False"
        return None

    @property
    def observes_order(self) -> bool:  # type: ignore[override]
        return self.kind.by_order

    @functools.cached_property
    def time(self) -> Type | None:
        return self.left.time if self.kind.timed and self.kind.stamped else None

    @property
    def clock(self) -> Type:
        if not self.kind.timed:
            return INT
        return DATETIME if self.kind.processing or self.left.time is None else self.left.time

    @property
    def shown_parameters(self) -> dict[str, str]:
        return super().shown_parameters | {"kind": self.kind.shown(self.clock)}

    @property
    def result(self) -> Type:
        return Tuple((arguments(self.left.type)[-1], arguments(self.right.type)[-1]))

"""The base class of all operators. A plan is a graph of frozen nodes with their inputs, type and location."""

from __future__ import annotations

import dataclasses
import functools
import re
from dataclasses import dataclass, field
from typing import ClassVar

from morisot.errors import Location
from morisot.plan.nodes.closure import Closure
from morisot.types.element import Keyed, Type
from morisot.types.moments import shown


@dataclass(frozen=True, eq=False, kw_only=True)
class Node:
    """One operator of a plan.

    Traversal, explain and drawings read the dataclass fields: fields of type Node are inputs, fields of type Closure
    are the user's functions, the rest are parameters. A field may also be a tuple of nodes or of closures.
    """

    type: Type
    location: Location
    operator: str = ""
    """The method that the user called; derived from the class name unless a derived method sets it."""
    label: str = field(default="", compare=False)
    """The name that the user set with `name("…")`."""

    observes_order: ClassVar[bool] = False
    """Whether the result depends on the order of the input's elements."""
    keeps_order: ClassVar[bool] = True
    """Whether the output's order follows from the input's."""
    keeps_time: ClassVar[bool] = True
    """Whether each output element has the timestamp of its input element."""
    meets: ClassVar[bool] = False
    """Whether it processes all its inputs as streams: a bounded input of an unbounded operator is read first."""
    only_bounded: ClassVar[str] = ""
    """Why it never runs on unbounded input, if so: it needs the end of the stream."""
    unbounded_if: ClassVar[str] = ""
    """The condition under which it runs on unbounded input, if there is one."""
    only_unbounded: ClassVar[str] = ""
    """Why it is never bounded, if so."""

    def __post_init__(self) -> None:
        if not self.operator:
            object.__setattr__(self, "operator", snake_case(type(self).__name__))

    @functools.cached_property
    def inputs(self) -> tuple[Node, ...]:
        return tuple(part for value in self._values() for part in _parts(value) if isinstance(part, Node))

    @property
    def seen_in_order(self) -> tuple[Node, ...]:
        """The inputs on whose order the operator depends, if it observes order."""
        return self.inputs

    @functools.cached_property
    def closures(self) -> tuple[tuple[str, Closure], ...]:
        """The user's functions, by field name."""
        found: list[tuple[str, Closure]] = []
        for f, value in self._fields_and_values():
            several = isinstance(value, tuple)
            for index, part in enumerate(_parts(value)):
                if isinstance(part, Closure):
                    found.append((f"{f.name}[{index}]" if several else f.name, part))
        return tuple(found)

    @property
    def bodies(self) -> tuple[tuple[str, Node], ...]:
        """The results of plans inside this node, such as the body of a loop, by name."""
        return ()

    @property
    def parameters(self) -> dict[str, object]:
        """The parameters other than inputs and functions, for explain and drawings."""
        own = {f.name for f in dataclasses.fields(Node)}
        return {
            f.name: value
            for f, value in self._fields_and_values()
            if f.name not in own and f.repr and value != f.default and not _is_graph(value)
        }

    @property
    def shown_parameters(self) -> dict[str, str]:
        """The parameters as text. Durations have a unit."""
        return {name: repr(value) for name, value in self.parameters.items()}

    @functools.cached_property
    def bounded(self) -> bool:
        """Whether the stream ends by itself. Unbounded sources override it."""
        return all(node.bounded for node in self.inputs)

    @functools.cached_property
    def time(self) -> Type | None:
        """The type of the elements' timestamps, int (milliseconds) or datetime; None if there are none."""
        times = {node.time for node in self.inputs}
        return times.pop() if self.keeps_time and len(times) == 1 else None

    @property
    def unbounded_problem(self) -> tuple[str, str] | None:
        """Why it cannot run on its unbounded input, and advice (or ""); None if it can."""
        return (self.only_bounded, "") if self.only_bounded else None

    @property
    def keyed(self) -> bool:
        return isinstance(self.type, Keyed)

    @property
    def leaves_out(self) -> bool:
        """Whether it may skip elements, and counts them: those on which a function fails, and late ones.

        Operators with timers skip late elements. On bounded input no element is late.
        """
        return self.has_timers and not self.bounded

    @property
    def files_by_age(self) -> bool:
        """Whether the files of an unbounded source are in the order of their age; else in that of their paths."""
        return True

    @property
    def has_timers(self) -> bool:
        """Whether it emits results on unbounded input only when the watermark has passed them."""
        return False

    @property
    def title(self) -> str:
        """The name of the operator in reports, and its location."""
        return f"{self.label or self.operator} ({self.location})"

    def signature(self, closure: str) -> tuple[Type, ...]:
        """The types of the arguments that the closure in the named field is called with."""
        raise NotImplementedError(f"{type(self).__name__}.{closure}")

    def _fields_and_values(self) -> list[tuple[dataclasses.Field[object], object]]:
        return [(f, getattr(self, f.name)) for f in dataclasses.fields(self)]

    def _values(self) -> list[object]:
        return [value for _, value in self._fields_and_values()]


def _parts(value: object) -> tuple[object, ...]:
    return value if isinstance(value, tuple) else (value,)


def _is_graph(value: object) -> bool:
    """Whether the value of a field consists of inputs or functions."""
    return bool(value) and all(isinstance(part, Node | Closure) for part in _parts(value))


def with_durations(texts: dict[str, str], node: Node, **times: Type) -> dict[str, str]:
    """The texts of parameters, with units for those that are durations in ticks of a type of timestamps."""
    durations = {name: repr(shown(getattr(node, name), time)) for name, time in times.items() if name in texts}
    return texts | durations


def snake_case(name: str) -> str:
    """The name of the method for the name of a class.

    >>> snake_case("FlatMap")
    'flat_map'
    """
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()

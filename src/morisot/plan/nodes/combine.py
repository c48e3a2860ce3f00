"""Several streams to one, and one to several."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from morisot.plan.nodes.closure import Closure
from morisot.plan.nodes.node import Node
from morisot.plan.nodes.rowwise import Rowwise
from morisot.types.element import INT, Type, arguments


@dataclass(frozen=True, eq=False)
class Merge(Node):
    """The elements of all streams: those of the first, then those of the second, and so on."""

    streams: tuple[Node, ...]
    meets: ClassVar[bool] = True


@dataclass(frozen=True, eq=False)
class Zip(Node):
    """The first element of one stream with the first of the other, the second with the second; rests are dropped.

    A pair has the later of the two timestamps.
    """

    left: Node
    right: Node
    meets: ClassVar[bool] = True
    observes_order: ClassVar[bool] = True
    keeps_order: ClassVar[bool] = False


@dataclass(frozen=True, eq=False)
class Marked(Rowwise):
    """The root of the operators that say for each element where it goes: (mark, element), which branches read."""

    several: bool = field(default=False, kw_only=True, repr=False)
    """Whether an element may go to more than one branch, or to none."""

    @property
    def mark(self) -> Type:
        """The type of the mark: int, a branch or a bit for each of several; or a list of branches."""
        return arguments(self.type)[-1].children[0][1]

    @property
    def masked(self) -> bool:
        """Whether a mark is an int that has a bit for each branch."""
        return self.several and self.mark == INT


@dataclass(frozen=True, eq=False)
class SplitBy(Marked):
    """Each element goes to the branch, or the branches, that `function` names: numbers from 0 below `n`."""

    function: Closure
    n: int


@dataclass(frozen=True, eq=False)
class Route(Marked):
    """Each element goes to the branch of the first of the `predicates` that is true; if none is, nowhere."""

    predicates: tuple[Closure, ...]


@dataclass(frozen=True, eq=False)
class Branch(Rowwise):
    """The elements that go to the branch with this number, without their marks."""

    input: Marked
    number: int

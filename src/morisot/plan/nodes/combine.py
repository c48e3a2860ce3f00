"""Operators that unite streams, and operators that split them."""

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
    """Pairs the n-th element of one stream with the n-th of the other. Elements without a partner are dropped.

    A pair has the later of the two timestamps.
    """

    left: Node
    right: Node
    meets: ClassVar[bool] = True
    observes_order: ClassVar[bool] = True
    keeps_order: ClassVar[bool] = False


@dataclass(frozen=True, eq=False)
class Branching(Rowwise):
    """The base class of operators that select branches for each element: they emit (branch numbers, element)."""

    several: bool = field(default=False, kw_only=True, repr=False)
    """Whether an element may go to more than one branch, or to none."""

    @property
    def branch_type(self) -> Type:
        """The type of the branch numbers: an int, which is a number or has a bit for each branch, or a list."""
        return arguments(self.type)[-1].children[0][1]

    @property
    def masked(self) -> bool:
        """Whether branch numbers are an int with a bit for each branch."""
        return self.several and self.branch_type == INT


@dataclass(frozen=True, eq=False)
class SplitBy(Branching):
    """Each element goes to the branch, or the branches, that `function` names: numbers from 0 below `n`."""

    function: Closure
    n: int


@dataclass(frozen=True, eq=False)
class Route(Branching):
    """Each element goes to the branch of the first of the `predicates` that is true; if none is, nowhere."""

    predicates: tuple[Closure, ...]


@dataclass(frozen=True, eq=False)
class Branch(Rowwise):
    """The elements of the branch with this number, without the branch numbers."""

    input: Branching
    number: int

"""The names of boundary nodes, and what several kinds of operators cause alike."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from morisot.physical.ops import Physical
from morisot.physical.passes.provide import Distribution
from morisot.physical.plan import Plan
from morisot.physical.widening import widens_by_columns
from morisot.plan.nodes.node import Node
from morisot.types.element import Keyed, Type, contains_any, leaves

Nodes = Counter[str]

SCAN, PYTHON, STATE = "Scan", "MapInArrow", "TransformWithState"
EXCHANGE, BROADCAST, SORT = "Exchange", "BroadcastExchange", "Sort"
AGGREGATE, WINDOW, JOIN = "Aggregate", "Window", "Join"


@dataclass(frozen=True)
class Sizes:
    """What only a run knows, by which Spark or a source chooses. The defaults are those of small inputs."""

    broadcasts: bool = True
    """Whether one side of each join is small enough to be sent to every task; otherwise both are moved and sorted."""
    files: int = 1
    """How many files each source has. Up to 64 are read one by one where their order is seen, more are sorted."""


@dataclass(frozen=True)
class Causing:
    """An operator as the statements of kinds look at it."""

    operator: Physical
    plan: Plan
    sizes: Sizes

    @property
    def node(self) -> Node:
        return self.operator.node

    @property
    def ordered(self) -> bool:
        """Whether the row order of its results is restored."""
        return self.node in self.plan.order.needed

    @property
    def key(self) -> Type | None:
        """The type of the keys that it reads."""
        type_ = self.node.inputs[0].type
        return type_.key if isinstance(type_, Keyed) else None

    @property
    def distribution(self) -> Distribution:
        """How the rows that it reads are distributed."""
        return self.plan.provides[self.operator.inputs[0]].distribution

    @property
    def together(self) -> bool:
        """Whether the rows of a key, or all if there are none, are in one partition already."""
        by_key = self.key is not None and not contains_any(self.key)
        return self.distribution == "single" or (self.distribution == "key" and by_key)


def nothing(cause: Causing) -> Nodes:
    """Expressions, which Spark computes in the stage of what they read."""
    return Counter()


def moved(together: bool) -> Nodes:
    """An exchange that brings the rows of a group together, unless they are."""
    return Counter() if together else Counter({EXCHANGE: 1})


def restored(cause: Causing, *, single: bool = False) -> Nodes:
    """The row order after a shuffle: a sort over ranges, of one partition without a shuffle."""
    return moved(single) + Counter({SORT: 1}) if cause.ordered else Counter()


def aggregated(together: bool, *, by_sort: bool = False) -> Nodes:
    """Partial results, a shuffle of those, final results; or all at once where the rows of a group are together."""
    steps = 1 if together else 2
    return moved(together) + Counter({AGGREGATE: steps, SORT: steps if by_sort else 0})


def canonical(key: Type | None, *, structs: bool = True) -> Nodes:
    """A pass in Python that adds bytes which are equal where keys are, if Spark cannot tell that.

    Aggregates of Spark group by structs and lists as they are; shuffles and joins do not (`structs`).
    """
    if key is None:
        return Counter()
    nested = structs and any(leaf.type.children for leaf in leaves(key))
    return Counter({PYTHON: 1 if contains_any(key) or nested else 0})


def converted(source: Type, target: Type) -> Nodes:
    """A pass in Python that makes elements of a wider type, where columns cannot."""
    return Counter({PYTHON: 0 if widens_by_columns(source, target) else 1})


def times(number: int, nodes: Nodes) -> Nodes:
    """The nodes so many times."""
    return Counter({name: number * count for name, count in nodes.items()})

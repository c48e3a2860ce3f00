"""The names of boundary nodes, and helpers for several kinds of operators."""

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
    """Sizes that are known only in a run, and by which Spark or a source chooses. The defaults are for small inputs."""

    broadcasts: bool = True
    """Whether one side of each join is small enough to be broadcast; otherwise both are shuffled and sorted."""
    files: int = 1
    """The files of each source. Where their order is restored, up to 64 are read one by one, and more are sorted."""


@dataclass(frozen=True)
class Causing:
    """An operator, with the properties that its boundary nodes depend on."""

    operator: Physical
    plan: Plan
    sizes: Sizes

    @property
    def node(self) -> Node:
        return self.operator.node

    @property
    def ordered(self) -> bool:
        """Whether the row order of its results is restored."""
        return self.node in self.plan.order.needed and not self.carries

    @property
    def carries(self) -> bool:
        """Whether its results have their row order in hidden columns."""
        return self.node in self.plan.order.carried

    @property
    def by_columns(self) -> bool:
        """Whether it reads elements whose row order is in several columns, which Spark compares as one struct."""
        order = self.plan.order
        return self.node in order.compared and any(value in order.carried for value in self.node.inputs)

    @property
    def compares_columns(self) -> bool:
        """Whether it aggregates the row order of its elements, which is in several columns."""
        return self.by_columns and self.node in self.plan.order.needed

    @property
    def key(self) -> Type | None:
        """The type of the keys that it reads."""
        type_ = self.node.inputs[0].type
        return type_.key if isinstance(type_, Keyed) else None

    @property
    def distribution(self) -> Distribution:
        """The distribution of the rows that it reads."""
        return self.plan.provides[self.operator.inputs[0]].distribution

    @property
    def together(self) -> bool:
        """Whether the rows of a key, or all rows without keys, are in one partition already."""
        by_key = self.key is not None and not contains_any(self.key)
        return self.distribution == "single" or (self.distribution == "key" and by_key)


def nothing(cause: Causing) -> Nodes:
    """Expressions, which Spark computes in the stage of their input."""
    return Counter()


def moved(together: bool) -> Nodes:
    """An exchange that brings the rows of a group into one partition, unless they are."""
    return Counter() if together else Counter({EXCHANGE: 1})


def restored(cause: Causing, *, single: bool = False) -> Nodes:
    """Restores the row order after a shuffle: a sort over ranges, or of one partition without a shuffle."""
    return moved(single) + Counter({SORT: 1}) if cause.ordered else Counter()


def aggregated(together: bool, *, by_sort: bool = False) -> Nodes:
    """Partial results, a shuffle, final results; or one aggregate if the rows of a group are in one partition."""
    steps = 1 if together else 2
    return moved(together) + Counter({AGGREGATE: steps, SORT: steps if by_sort else 0})


def canonical(key: Type | None, *, structs: bool = True) -> Nodes:
    """A pass in Python that adds canonical bytes of keys, if Spark does not compare them as Python does.

    Spark's aggregates can group by structs and lists; shuffles and joins need the bytes (`structs`).
    """
    if key is None:
        return Counter()
    nested = structs and any(leaf.type.children for leaf in leaves(key))
    return Counter({PYTHON: 1 if contains_any(key) or nested else 0})


def converted(source: Type, target: Type) -> Nodes:
    """A pass in Python that converts elements to a wider type, if columns cannot."""
    return Counter({PYTHON: 0 if widens_by_columns(source, target) else 1})


def times(number: int, nodes: Nodes) -> Nodes:
    """The nodes, `number` times."""
    return Counter({name: number * count for name, count in nodes.items()})

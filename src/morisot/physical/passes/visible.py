"""The leaves of each operator's elements that a later operator, a sink or the caller reads."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from morisot.compile.aggregates.extremes import NativeExtreme
from morisot.compile.ir.expressions import Expr, Input, walk
from morisot.compile.verdict import ColumnForm
from morisot.physical import ops
from morisot.physical.ops import Choice
from morisot.plan.nodes import aggregate, join, keyed, partition, rowwise, sink, state
from morisot.plan.nodes.node import Node
from morisot.types.element import Keyed, Type, leaves

Path = tuple[int, ...]
Paths = frozenset[Path]
NOTHING: Paths = frozenset()


def visible(nodes: Iterable[Node], roots: Container[Node], choices: Mapping[Node, Choice]) -> dict[Node, Paths]:
    """The paths of the leaves that are read, by node. `nodes` has inputs before their readers."""
    found: dict[Node, Paths] = {}
    for node in reversed(tuple(nodes)):
        if node in roots:
            found[node] = every(node.type)
        choice = choices.get(node)
        if choice is None:
            continue
        read = _Reading(node, choice, found.get(node, NOTHING))
        for value in dict.fromkeys(node.inputs):
            found[value] = found.get(value, NOTHING) | read.of(value)
    return found


def every(type_: Type) -> Paths:
    """The paths of all leaves of a type."""
    return frozenset(leaf.path for leaf in leaves(type_))


def reads(forms: Iterable[ColumnForm], *parts: Path) -> Paths:
    """The leaves that column forms read, if their parameters are these parts of the element."""
    return frozenset((*parts[each.parameter], *each.path) for form in forms for each in _inputs(form))


def _inputs(form: ColumnForm) -> Iterator[Input]:
    for expr in (*form.result.leaves(), *(expr for _, expr in form.shared)):
        yield from inputs_of(expr)


def inputs_of(expr: Expr) -> Iterator[Input]:
    """The leaves of parameters that an expression reads."""
    return (each for each in walk(expr) if isinstance(each, Input))


def value_path(type_: Type) -> Path:
    """The path of the value of an element: of a keyed one without its key."""
    return (1,) if isinstance(type_, Keyed) else ()


@dataclass(frozen=True)
class _Reading:
    """An operator, and the leaves of its elements that are read."""

    node: Node
    choice: Choice
    live: Paths

    def of(self, value: Node) -> Paths:
        """The leaves that it reads of the elements of an input."""
        node, all_leaves = self.node, every(value.type)
        if isinstance(node, join.Join) and self.choice.kind is ops.NativeJoinOp:
            return self._joined(node, value) & all_leaves
        of = next((_RULES[cls] for cls in type(node).__mro__ if cls in _RULES), None)
        if of is None or self.choice.kind not in (ops.ColumnsOp, *_KINDS.get(type(node), ())):
            return all_leaves
        found = of(self, node)
        return all_leaves if found is None else found & all_leaves

    @property
    def forms(self) -> tuple[ColumnForm, ...]:
        return tuple(self.choice.columns.values())

    @property
    def source(self) -> Type:
        return self.node.inputs[0].type

    @property
    def parameters(self) -> tuple[Path, ...]:
        """The parts of the element that the parameters of a row-wise function are."""
        return ((0,), (1,)) if isinstance(self.source, Keyed) else ((),)

    def same(self) -> Paths | None:
        """The leaves of an element that is passed on; None if the columns change."""
        return self.live if every(self.source) == every(self.node.type) else None

    def under(self, path: Path, to: Path) -> Paths:
        """The live leaves under a path of the result, as leaves under a path of the input."""
        size = len(path)
        return frozenset((*to, *each[size:]) for each in self.live if each[:size] == path)

    def produced(self, form: ColumnForm, path: Path, *parts: Path) -> Paths:
        """The leaves that the live results of a form read. An expression that may fail is always computed."""
        shared = [expr for _, expr in form.shared]
        live = [
            expr
            for leaf, expr in zip(leaves(form.type), form.result.leaves(), strict=True)
            if expr.raises or (*path, *leaf.path) in self.live
        ]
        return frozenset((*parts[each.parameter], *each.path) for expr in (*live, *shared) for each in inputs_of(expr))

    def _joined(self, node: join.Join, value: Node) -> Paths:
        """The key, and the live leaves of the side's value. A missing value is one column, which needs all of it."""
        found = frozenset(path for path in every(value.type) if path[0] == 0)
        for index, side in enumerate((node.left, node.right)):
            if side is value:
                whole = any(path == (1, index) for path in self.live)
                found |= every(value.type) if whole else self.under((1, index), (1,))
        return found


def _map(read: _Reading, node: rowwise.Map | rowwise.MapMemo) -> Paths | None:
    form = read.choice.columns.get(node.function)
    if form is None:
        return None
    key = read.under((0,), (0,)) if node.keyed else NOTHING
    return key | read.produced(form, value_path(node.type), *read.parameters)


def _filter(read: _Reading, _node: rowwise.Filter) -> Paths | None:
    same = read.same()
    return None if same is None else same | reads(read.forms, *read.parameters)


def _key_by(read: _Reading, _node: keyed.KeyBy) -> Paths:
    at = value_path(read.source)
    (form,) = read.forms
    return read.under((1,), at) | read.produced(form, (0,), at)


def _unkey(read: _Reading, node: keyed.Unkey) -> Paths:
    return read.under((), {"both": (), "key": (0,), "value": (1,)}[node.keep])


def _aggregate(read: _Reading, node: aggregate.Aggregation) -> Paths | None:
    """The key, the aggregated values, and of a selected element the live leaves."""
    at = value_path(read.source)
    found = frozenset(path for path in every(read.source) if at and path[0] == 0)
    if isinstance(node, aggregate.MinElement | aggregate.MaxElement | aggregate.First):
        found |= read.under(at, at)
    return found | reads(read.forms, at)


def _extreme(read: _Reading, _node: aggregate.Reduce | aggregate.ReduceAssoc) -> Paths | None:
    """A fold that selects an element reads its key, and the live leaves of the selected one."""
    fold = read.choice.detail
    if not isinstance(fold, NativeExtreme):
        return None
    at = value_path(read.source)
    key = frozenset((*at, *each.path) for each in inputs_of(fold.key))
    return key | frozenset(path for path in every(read.source) if at and path[0] == 0) | read.under(at, at)


def _passed_on(read: _Reading, _node: Node) -> Paths | None:
    same = read.same()
    return None if same is None else same | reads(read.forms, *read.parameters)


def _nothing(_read: _Reading, _node: Node) -> Paths:
    return NOTHING


_RULES: dict[type[Node], Callable[[_Reading, Any], Paths | None]] = {
    rowwise.Map: _map,
    state.WithoutIds: _map,
    rowwise.MapMemo: _map,
    rowwise.Filter: _filter,
    keyed.KeyBy: _key_by,
    keyed.Unkey: _unkey,
    partition.Broadcast: _passed_on,
    partition.Batched: _passed_on,
    partition.Shuffle: _passed_on,
    partition.Parallelism: _passed_on,
    aggregate.Count: _aggregate,
    aggregate.Sum: _aggregate,
    aggregate.Avg: _aggregate,
    aggregate.MinElement: _aggregate,
    aggregate.MaxElement: _aggregate,
    aggregate.First: _aggregate,
    aggregate.Reduce: _extreme,
    aggregate.ReduceAssoc: _extreme,
    aggregate.SortedBy: _passed_on,
    aggregate.Limit: _passed_on,
    sink.CollectCount: _nothing,
}
"""What operators read; the others read all leaves. None: all leaves."""
_AGGREGATES = (aggregate.Count, aggregate.Sum, aggregate.Avg, aggregate.MinElement, aggregate.MaxElement)
_KINDS: dict[type[Node], tuple[type[ops.Physical], ...]] = {
    **dict.fromkeys((*_AGGREGATES, aggregate.First), (ops.NativeAggregateOp,)),
    **dict.fromkeys((aggregate.Reduce, aggregate.ReduceAssoc), (ops.NativeAggregateOp,)),
    **dict.fromkeys((aggregate.SortedBy, aggregate.Limit), (ops.SortOp,)),
    **dict.fromkeys((partition.Shuffle, partition.Parallelism), (ops.ExchangeOp,)),
    sink.CollectCount: (ops.WriteOp,),
}
"""The kinds, besides columns, for which the rules hold."""

"""The rung of aggregates that select an element: whether it can be seen which of several equal ones they select."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping

from morisot.compile.aggregates.extremes import ELEMENT, NativeExtreme
from morisot.compile.ir.expressions import Expr, Input
from morisot.physical import ops
from morisot.physical.facts import Facts
from morisot.physical.ops import COMPARED, GUARDED, SELECTED, UNREAD, Choice, SelectedLeaf, Selection
from morisot.physical.passes.visible import Path, Paths, every, inputs_of, value_path
from morisot.plan.nodes import aggregate, keyed, partition, rowwise, sink
from morisot.plan.nodes.closure import Closure
from morisot.plan.nodes.iterate import DeltaIterate, Loop
from morisot.plan.nodes.join import Join
from morisot.plan.nodes.node import Node
from morisot.types.element import BOOL, DATE, DATETIME, FLOAT, INT, STR, Keyed, Leaf, contains_any, leaves
from morisot.types.infer import without_none

_SAME_IF_EQUAL = frozenset({INT, STR, BOOL, DATE, DATETIME})
"""The types whose equal values cannot be distinguished. 0.0 and -0.0 can."""
_FIXED = frozenset({INT, BOOL, DATE, DATETIME, FLOAT})
"""The types of which Spark keeps the value of a selected element in a hash map."""
_GUARDED = frozenset({INT, BOOL, DATE, DATETIME})
"""The types of which Spark keeps an extreme in a hash map."""
_AT_ONCE = (sink.CollectVec, sink.CollectCount, sink.WriteTo, sink.WriteSink)
"""The sinks that get elements only when all of them are computed."""


def may_guard(roots: Iterable[Node], nodes: Iterable[Node], facts: Facts) -> bool:
    """Whether a plan may fail because of a guard: no sink gets a part of its elements, and no later job reads any."""
    plain = (root for root in roots if isinstance(root, sink.SinkNode))
    kept = (Loop, DeltaIterate, partition.Cache)
    return facts.guards and all(isinstance(each, _AT_ONCE) for each in plain) and not _has(nodes, kept)


def _has(nodes: Iterable[Node], classes: tuple[type[Node], ...]) -> bool:
    return any(isinstance(node, classes) for node in nodes)


def select_rungs(
    choices: Mapping[Node, Choice], live: Mapping[Node, Paths], *, guards: bool, failed: frozenset[Node]
) -> dict[Node, Choice]:
    """The choices, with the rung of each aggregate that selects an element. `failed` are those whose guard failed."""
    found = dict(choices)
    for node, choice in choices.items():
        if isinstance(node, aggregate.SortedBy) and choice.kind is ops.SortOp:
            found[node] = dataclasses.replace(choice, unique_keys=_are_unique(node, found))
            continue
        compared = _compared(node, choice)
        if compared is None:
            continue
        selecting = _Selecting(node, choices, compared, live.get(node, every(node.type)))
        selection = selecting.best(exact=_may_fail(choice), guards=guards and node not in failed)
        may_fail = choice.may_fail or selection.may_fail
        found[node] = dataclasses.replace(choice, selection=selection, may_fail=may_fail)
    return found


def _are_unique(node: aggregate.SortedBy, choices: Mapping[Node, Choice]) -> bool:
    """Whether no two elements have equal sort keys: these contain the key of an aggregate, which is unique."""
    (form,) = choices[node].columns.values()
    parts = ((0,), (1,)) if node.input.keyed else ((),)
    read = [
        _of_key(_origin(node.input, (*parts[expr.parameter], *expr.path), choices), choices)
        for expr in form.result.leaves()
        if isinstance(expr, Input)
    ]
    groups = {each[0] for each in read if each is not None and isinstance(each[0], aggregate.Aggregation)}
    return any(all((group, leaf.path) in read for leaf in _leaves_of_key(group)) for group in groups if group.keyed)


def _of_key(origin: tuple[Node, Path] | None, choices: Mapping[Node, Choice]) -> tuple[Node, Path] | None:
    """The leaf of the key that a leaf of a selected element is; the leaf itself if it is none."""
    if origin is None or not isinstance(origin[0], aggregate.Aggregation) or origin[1][:1] != (1,):
        return origin
    node, path = origin
    choice = choices.get(node)
    part = choice.selection.parts.get(path[1:]) if choice is not None and choice.selection is not None else None
    return (node, _leaves_of_key(node)[part.index].path) if part is not None and part.how == "key" else origin


def _may_fail(choice: Choice) -> bool:
    """Whether the compared value may fail, or is a float: then all values are compared in row order."""
    fold = choice.detail
    return fold.raises or fold.is_float if isinstance(fold, NativeExtreme) else choice.may_fail


def _compared(node: Node, choice: Choice) -> Expr | None:
    """The value that an aggregate compares, over the element as parameter 0; None if it selects no element."""
    if choice.kind is not ops.NativeAggregateOp:
        return None
    if isinstance(node, aggregate.MinElement | aggregate.MaxElement):
        (expr,) = choice.columns[node.value].result.leaves()
        return expr
    if isinstance(node, aggregate.Reduce | aggregate.ReduceAssoc) and isinstance(choice.detail, NativeExtreme):
        key = choice.detail.key
        return Input(0, key.path) if isinstance(key, Input) and key.parameter == ELEMENT else key
    return None


@dataclasses.dataclass(frozen=True)
class _Selecting:
    """An aggregate that selects the element with an extreme value."""

    node: Node
    choices: Mapping[Node, Choice]
    compared: Expr
    live: Paths
    """The leaves of its results that are read."""

    @property
    def source(self) -> Node:
        return self.node.inputs[0]

    def best(self, *, exact: bool, guards: bool) -> Selection:
        """The first rung that gives the element of the last one, as far as it is read; the last one if `exact`."""
        source, at = self.source.type, value_path(self.source.type)
        element = source.value if isinstance(source, Keyed) else source
        read = [leaf for leaf in leaves(element) if (*at, *leaf.path) in self.live]
        unread = dict.fromkeys(every(element) - {leaf.path for leaf in read}, UNREAD)
        last = Selection("struct", unread | dict.fromkeys((leaf.path for leaf in read), SELECTED))
        if exact or (isinstance(source, Keyed) and contains_any(source.key)):
            return last
        parts = {leaf.path: self._part(leaf) for leaf in read}
        if SELECTED not in parts.values():
            return Selection("value", unread | parts)
        guarded = [leaf for leaf in read if parts[leaf.path] == SELECTED]
        if not guards:
            return last
        if not self._agree(guarded):
            return Selection("packed", unread | parts) if self._packs(guarded) else last
        return Selection("guard", unread | parts | dict.fromkeys((leaf.path for leaf in guarded), GUARDED))

    def _part(self, leaf: Leaf) -> SelectedLeaf:
        """How a leaf is computed: it may be the same for all elements with one key and one compared value."""
        if without_none(leaf.type) not in _SAME_IF_EQUAL:
            return SELECTED
        if self.compared == Input(0, leaf.path):
            return COMPARED
        index = self._key_with(leaf.path)
        return SELECTED if index is None else SelectedLeaf("key", index)

    def _key_with(self, path: Path) -> int | None:
        """The index of the key's leaf that has the values of a leaf of the element."""
        if not isinstance(self.source.type, Keyed):
            return None
        keys = [_origin(self.source, leaf.path, self.choices, joins=False) for leaf in _leaves_of_key(self.source)]
        own = _origin(self.source, (1, *path), self.choices, joins=False)
        return keys.index(own) if own is not None and own in keys else None

    def _agree(self, guarded: list[Leaf]) -> bool:
        """Whether all elements of a group are expected to agree in some leaves: they are of one element of a side.

        The side is joined by a key that the group has, and the compared value is from the other side.
        """
        if not isinstance(self.source.type, Keyed) or any(without_none(leaf.type) not in _GUARDED for leaf in guarded):
            return False
        found = {_side(_origin(self.source, (1, *leaf.path), self.choices)) for leaf in guarded}
        compared = {_side(_origin(self.source, (1, *each.path), self.choices)) for each in inputs_of(self.compared)}
        if len(found) != 1 or None in found | compared or found & compared:
            return False
        ((join, side),) = (each for each in found if each is not None)
        group = [_origin(self.source, leaf.path, self.choices) for leaf in _leaves_of_key(self.source)]
        return all(each in group for each in self._keys_of(join, side))

    def _packs(self, selected: list[Leaf]) -> bool:
        """Whether value and row order may fit into one int, by which Spark selects leaves in a hash map.

        The row order is one number: of the elements of a source, or of the right side of a join. Then all elements of a
        group are expected to be of one element of the left side.
        """
        if not isinstance(self.node, aggregate.MinElement | aggregate.MaxElement) or not self.node.keyed:
            return False
        if self.choices[self.node].columns[self.node.value].type != INT:
            return False
        if any(without_none(leaf.type) not in _FIXED for leaf in selected):
            return False
        before = self._not_rowwise(self.source)
        if not isinstance(before, Join):
            return not before.inputs
        group = [_origin(self.source, leaf.path, self.choices) for leaf in _leaves_of_key(self.source)]
        return (
            before.variant == "inner"
            and all(not self._not_rowwise(side).inputs for side in before.inputs)
            and all(each in group for each in self._keys_of(before, 0))
        )

    def _not_rowwise(self, node: Node) -> Node:
        """The last operator that is not a row-wise one as columns."""
        while len(node.inputs) == 1 and (choice := self.choices.get(node)) is not None:
            if choice.kind is not ops.ColumnsOp:
                return node
            (node,) = node.inputs
        return node

    def _keys_of(self, join: Join, side: int) -> Iterator[tuple[Node, Path] | None]:
        """The values by which a side is joined, as leaves of the result of the join."""
        value = (join.left, join.right)[side]
        values = {
            _origin(value, leaf.path, self.choices): leaf.path for leaf in leaves(value.type) if leaf.path[0] == 1
        }
        for leaf in _leaves_of_key(value):
            path = values.get(_origin(value, leaf.path, self.choices))
            yield None if path is None else (join, (1, side, *path[1:]))


def _leaves_of_key(node: Node) -> list[Leaf]:
    return [leaf for leaf in leaves(node.type) if leaf.path[:1] == (0,)]


def _side(origin: tuple[Node, Path] | None) -> tuple[Join, int] | None:
    """The side of a join that a leaf is from."""
    if origin is None or not isinstance(origin[0], Join) or origin[1][0] != 1:
        return None
    return origin[0], origin[1][1]


def _origin(node: Node, path: Path, choices: Mapping[Node, Choice], *, joins: bool = True) -> tuple[Node, Path] | None:
    """The operator and the leaf that a leaf is copied from; None if it is computed.

    With `joins`, the origin of a leaf of a join with all partners of an element is the join.
    """
    while True:
        choice = choices.get(node)
        if choice is None or (isinstance(node, Join) and joins):
            return node, path
        before = _copied_from(node, path, choice)
        if before is None:
            return node, path
        if before == COMPUTED:
            return None
        node, path = node.inputs[0], before


COMPUTED: Path = (-1,)


def _copied_from(node: Node, path: Path, choice: Choice) -> Path | None:
    """The leaf of the input that a row-wise operator copies; COMPUTED, or None if the operator is no such one."""
    source = node.inputs[0].type if node.inputs else None
    match node:
        case keyed.Unkey():
            return {"both": path, "key": (0, *path), "value": (1, *path)}[node.keep]
        case rowwise.Filter() | partition.Broadcast() | partition.Batched() if source == node.type:
            return path
        case keyed.KeyBy() if path[0] == 1:
            return (*value_path(node.inputs[0].type), *path[1:])
        case keyed.KeyBy():
            return _copied(choice, node.key, path[1:], value_path(node.inputs[0].type))
        case rowwise.Map() if node.keyed and path[0] == 0:
            return path
        case rowwise.Map():
            parts = ((0,), (1,)) if isinstance(source, Keyed) else ((),)
            return _copied(choice, node.function, path[1:] if node.keyed else path, *parts)
    return None


def _copied(choice: Choice, closure: Closure, path: Path, *parts: Path) -> Path:
    """The leaf that a leaf of the result of a function is."""
    form = choice.columns.get(closure)
    if form is None:
        return COMPUTED
    for leaf, expr in zip(leaves(form.type), form.result.leaves(), strict=True):
        if leaf.path == path and isinstance(expr, Input):
            return (*parts[expr.parameter], *expr.path)
    return COMPUTED

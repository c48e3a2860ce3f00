"""Native joins: by the key's columns, or by canonical bytes if Spark does not compare keys as Python does."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark program uses

from morisot.engines.spark.emit.core.emission import Emission
from morisot.engines.spark.emit.core.registry import emits
from morisot.engines.spark.emit.frames.frame import ROW_ORDER, TIME, Frame, named, unquoted
from morisot.engines.spark.emit.frames.sql import quoted
from morisot.engines.spark.emit.frames.widen import as_type
from morisot.engines.spark.emit.python.fused_stage import dumps
from morisot.engines.spark.emit.python.in_order import NUMBER, ORDER, numbered, restored, with_canonical
from morisot.engines.spark.emit.stateful.row_order import with_own_row_order
from morisot.physical.choose.join import compares_natively, is_broadcast
from morisot.physical.ops import NativeJoinOp, TableJoinOp
from morisot.plan.nodes.join import IntervalJoin, Join
from morisot.plan.nodes.node import Node
from morisot.types.element import ANY, Keyed, Leaf, Optional, Type, arguments, leaves
from morisot.worker.codec.batches import field_name

_MATCHED = "matched"
_HINTS = {"hash": "shuffle_hash", "sort_merge": "merge"}
_VARIANTS = {"inner": "inner", "left": "left", "outer": "full"}
_FIRST, _LAST = -(2**63), 2**63 - 1


@dataclass(frozen=True)
class Side:
    """One side of a join: rows whose columns have names that do not occur on the other side."""

    df: DataFrame
    frame: Frame
    prefix: str

    def column(self, name: str) -> str:
        return quoted(f"{self.prefix}/{name}")

    def names(self, part: list[Leaf]) -> list[str]:
        return [self.column(leaf.column) for leaf in part]

    @property
    def key(self) -> list[Leaf]:
        return self.frame.leaves_under(0) if isinstance(self.frame.type, Keyed) else []

    @property
    def order(self) -> list[str]:
        """The columns with the row order of the side, if its rows are numbered."""
        return [self.column(unquoted(name)) for name in self.frame.order or [ORDER]]

    def value(self, missing: bool) -> list[str]:
        """The columns of the value in the result. With `missing` there may be none: a product is then one struct."""
        type_ = arguments(self.frame.type)[-1]
        path = (1,) if isinstance(self.frame.type, Keyed) else ()
        if not missing or not type_.children:
            columns = self.names(self.frame.leaves_under(*path))
            if missing and type_ == ANY:  # a missing object is None, which is pickled like every object
                return [f"coalesce({columns[0]}, X'{dumps(None).hex()}')"]
            return columns
        return [f"CASE WHEN {self.column(_MATCHED)} THEN {self._struct(path, type_)} END"]

    def _struct(self, path: tuple[int, ...], type_: Type) -> str:
        if not type_.children:
            return self.names([leaf for leaf in leaves(self.frame.type) if leaf.path == path])[0]
        parts = [
            f"{self._struct((*path, index), child)} AS {quoted(field_name(type_, name))}"
            for index, (name, child) in enumerate(type_.children)
        ]
        return f"struct({', '.join(parts)})"


def side(frame: Frame, prefix: str, *, ordered: bool, extra: tuple[str, ...] = ()) -> Side:
    """A frame as one side of a join: its rows are numbered if their order matters, and its columns are renamed."""
    if extra and ordered and not frame.order:  # numbered before `extra` copies rows
        frame = Frame(numbered(frame.df), frame.type, frame.timed)
        return side(frame, prefix, ordered=False, extra=extra)
    if frame.pending.expressions is None:  # there may be other columns than the leaves
        columns = {name: quoted(name) for name in frame.df.columns}
    else:
        columns = dict(zip((leaf.column for leaf in leaves(frame.type)), frame.references_to(), strict=True))
        columns |= {unquoted(name): name for name in frame.hidden}
    if ordered and not frame.order:
        columns[unquoted(ORDER)] = NUMBER
    named = [f"{column} AS {quoted(f'{prefix}/{name}')}" for name, column in columns.items()]
    return Side(frame.projected([*named, f"true AS {quoted(f'{prefix}/{_MATCHED}')}", *extra]), frame, prefix)


@emits(NativeJoinOp, Join)
def emit_join(node: Join, emission: Emission, left: Frame, right: Frame) -> Frame:
    ordered = emission.needs_order(node)
    if node.variant == "outer":  # the key may come from either side, so both must have its columns
        left, right = (with_key(frame, node.type, node) for frame in (left, right))
    native = compares_natively(left.type, right.type)
    if not native:
        left, right = (canonical(node, frame) for frame in (left, right))
    sides = side(left, "left", ordered=ordered), side(right, "right", ordered=ordered)
    both = joined(node, sides, equal_keys(*sides) if native else [equal_canonical(*sides)])
    first, second = sides
    key = key_of(sides) if node.variant == "outer" else first.names(first.key)
    values = [*first.value(node.variant == "outer"), *second.value(node.variant != "inner")]
    if ordered:
        return restored(node, emission, both, [*first.order, *second.order], [*key, *values])
    return Frame(both, node.type).select(node.type, [*key, *values])


def key_of(sides: tuple[Side, Side]) -> list[str]:
    """The key of a pair of which one side may be missing: the left one, if it exists."""
    first, second = sides
    pairs = zip(first.names(first.key), second.names(second.key), strict=True)
    return [f"CASE WHEN {first.column(_MATCHED)} THEN {one} ELSE {other} END" for one, other in pairs]


@emits(TableJoinOp, Join)
def emit_join_with_table(node: Join, emission: Emission, left: Frame, right: Frame) -> Frame:
    """A join of a stream with a bounded stream: each micro-batch is joined with the whole table.

    A result has the row order of the stream's element. If the order is needed, elements are numbered before the join
    moves them, and partners of one element are in the order of the table.
    """
    ordered = emission.needs_order(node)
    native = compares_natively(left.type, right.type)

    def prepared(input_: Node, frame: Frame, prefix: str) -> Side:
        given = frame if input_.bounded or not ordered else with_own_row_order(frame)
        rows = given if native else canonical(node, given)
        if input_.bounded:
            table = numbered(rows.df) if ordered else rows.df
            rows = rows.over(emission.beside_stream(input_, table, broadcast=node.ship is None and node.local is None))
        return side(rows, prefix, ordered=False)

    first, second = prepared(node.left, left, "left"), prepared(node.right, right, "right")
    stream, table = (second, first) if node.left.bounded else (first, second)
    both = joined(node, (first, second), equal_keys(first, second) if native else [equal_canonical(first, second)])
    values = [*first.value(missing=False), *second.value(node.variant != "inner")]
    columns = named([*first.names(first.key), *values], node.type)
    if not stream.frame.has_row_order:
        return Frame(both.selectExpr(*columns), node.type)
    partner = f", coalesce(unhex(lpad(hex({table.order[0]}), 16, '0')), X'')" if ordered else ""
    row_order = f"concat({stream.column('at')}{partner}) AS {ROW_ORDER}"
    return Frame(both.selectExpr(*columns, row_order), node.type, has_row_order=True)


def with_key(frame: Frame, result: Type, node: Node) -> Frame:
    assert isinstance(frame.type, Keyed)
    assert isinstance(result, Keyed)
    return as_type(frame, Keyed(result.key, frame.type.value), node)


def canonical(node: Node, frame: Frame) -> Frame:
    """The frame with a column of canonical bytes of the keys."""
    assert isinstance(frame.type, Keyed)
    return frame.over(with_canonical(node, frame.df, frame.type.key))


def equal_canonical(left: Side, right: Side) -> str:
    return f"{left.column('canonical')} = {right.column('canonical')}"


def equal_keys(left: Side, right: Side) -> list[str]:
    """Compares keys column by column. None equals None; only nullable columns need the slower operator."""
    conditions = []
    for one, other in zip(left.key, right.key, strict=True):
        may_be_none = isinstance(one.type, Optional) and isinstance(other.type, Optional)
        same = "<=>" if may_be_none else "="
        conditions.append(f"{left.column(one.column)} {same} {right.column(other.column)}")
    return conditions


def joined(node: Join, sides: tuple[Side, Side], conditions: list[str]) -> DataFrame:
    left, right = (each.df for each in sides)
    if node.ship == "broadcast_right":
        right = F.broadcast(right)
    elif node.local is not None:
        right = right.hint(_HINTS[node.local])
    elif node.ship is None and node.variant != "outer" and is_broadcast(node.right):
        right = F.broadcast(right)
    elif node.ship is None and node.variant == "inner" and is_broadcast(node.left):
        left = F.broadcast(left)
    return left.join(right, F.expr(" AND ".join(conditions)), _VARIANTS[node.variant])


@emits(NativeJoinOp, IntervalJoin)
def emit_interval_join(node: IntervalJoin, emission: Emission, left: Frame, right: Frame) -> Frame:
    """If only pairs are emitted, time is split into buckets as long as the interval: a left element is in at most two.

    An element without a partner has none in any bucket. So if those are emitted, all elements of a key are compared
    with each other, as in a join.
    """
    ordered = emission.needs_order(node)
    keyed, inner = isinstance(node.type, Keyed), node.variant == "inner"
    if node.variant == "outer":
        left, right = (with_key(frame, node.type, node) for frame in (left, right))
    native = not keyed or compares_natively(left.type, right.type)
    if not native:
        left, right = (canonical(node, frame) for frame in (left, right))
    length = node.lower + node.upper + 1
    first, last = shifted(-node.lower), shifted(node.upper)
    buckets = f"explode(sequence({bucket(first, length)}, {bucket(last, length)})) AS {quoted('left/bucket')}"
    own_bucket = f"{bucket(TIME, length)} AS {quoted('right/bucket')}"
    sides = (
        side(left, "left", ordered=ordered, extra=(buckets,) if inner else ()),
        side(right, "right", ordered=ordered, extra=(own_bucket,) if inner else ()),
    )
    one, other = sides
    keys = ([equal_canonical(*sides)] if not native else equal_keys(*sides)) if keyed else []
    start, end = (shifted(by, one.column("time")) for by in (-node.lower, node.upper))
    moment = other.column("time")
    inside = [f"{moment} >= {start}", f"{moment} <= {end}"]
    same_bucket = [f"{one.column('bucket')} = {other.column('bucket')}"] if inner else []
    both = one.df.join(other.df, F.expr(" AND ".join([*keys, *same_bucket, *inside])), _VARIANTS[node.variant])
    if ordered:
        both = both.orderBy(*(F.expr(order).asc_nulls_last() for each in sides for order in each.order))
    key = key_of(sides) if node.variant == "outer" else one.names(one.key)
    columns = [*key, *one.value(node.variant == "outer"), *other.value(not inner)]
    later = f"greatest({one.column('time')}, {moment}) AS {TIME}"
    return Frame(both.selectExpr(*named(columns, node.type), later), node.type, timed=True)


def shifted(by: int, moment: str = TIME) -> str:
    """A timestamp plus an offset, clamped to 64 bits."""
    return f"coalesce(try_add({moment}, {by}L), {_FIRST if by < 0 else _LAST}L)"


def bucket(moment: str, length: int) -> str:
    """The number of the bucket of a timestamp: a division that rounds down, also before the epoch."""
    return f"({moment} div {length}L - CASE WHEN {moment} % {length}L < 0 THEN 1L ELSE 0L END)"

"""Union and splitting of streams: unions, joins by index, and branch numbers that branches filter by."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from pyspark.sql import DataFrame

from morisot.compile.ir.branch_conditions import branch_condition
from morisot.compile.ir.expressions import Call, Case, Expr, Literal
from morisot.compile.ir.truth import truth
from morisot.compile.verdict import ColumnForm
from morisot.engines.spark.emit.core.emission import Emission
from morisot.engines.spark.emit.core.registry import emits
from morisot.engines.spark.emit.frames.frame import ROW_ORDER, TIME, Frame
from morisot.engines.spark.emit.frames.narrow import narrowed
from morisot.engines.spark.emit.frames.sql import NameOf, guard, quoted, render
from morisot.engines.spark.emit.frames.widen import as_type
from morisot.engines.spark.emit.stateful.keyed_state import in_buckets
from morisot.engines.spark.emit.stateful.tagged_union import both_sides, types_of_sides
from morisot.physical.ops import ColumnsOp, KeyedStateOp, NativeJoinOp, UnionOp
from morisot.plan.nodes.combine import Branch, Merge, Route, SplitBy, Zip
from morisot.types.element import BOOL, INT, Keyed
from morisot.worker.rowwise import branches
from morisot.worker.rowwise.branches import NOWHERE
from morisot.worker.stateful.pairs import Zipper

_BRANCHES = quoted("branches")
_NO_SUCH_BRANCH = "there is no such branch"


@emits(UnionOp, Merge)
def emit_merge(node: Merge, emission: Emission, *frames: Frame) -> Frame:
    """A union preserves the order: its partitions are those of the first frame, then those of the second.

    Spark merges the partitions of frames with the same hash partitioning instead. But such frames have no order, or are
    sorted afterwards.
    """
    parts = [as_type(frame, node.type, node) for frame in frames]
    if any(frame.has_row_order for frame in parts):  # a machine upstream of one of them has added a row order
        parts = [frame if frame.has_row_order else with_empty_row_order(frame) for frame in parts]
    return parts[0].over(functools.reduce(lambda one, other: one.unionAll(other), (frame.df for frame in parts)))


def with_empty_row_order(frame: Frame) -> Frame:
    """A frame without a row order, with an empty column for it."""
    return Frame(frame.df.selectExpr("*", f"X'' AS {ROW_ORDER}"), frame.type, frame.timed, has_row_order=True)


@emits(NativeJoinOp, Zip)
def emit_zip(node: Zip, emission: Emission, left: Frame, right: Frame) -> Frame:
    """Rows are joined by their index in the stream, for which Spark counts the rows of all partitions."""
    sides = [indexed(frame, name) for frame, name in ((left, "left"), (right, "right"))]
    pairs = sides[0].join(sides[1], "index")
    pairs = pairs.orderBy("index") if emission.is_ordered(node) else pairs
    columns = [name for side in sides for name in side.columns if name != "index" and not name.endswith("time")]
    timed = [f"greatest({quoted('left/time')}, {quoted('right/time')}) AS {TIME}"] if left.timed else []
    named = [f"{quoted(a)} AS {b}" for a, b in zip(columns, Frame(pairs, node.type).columns, strict=True)]
    return Frame(pairs.selectExpr(*named, *timed), node.type, left.timed)


@emits(KeyedStateOp, Zip)
def emit_zip_unbounded(node: Zip, emission: Emission, left: Frame, right: Frame) -> Frame:
    """Both sides are in one bucket, which buffers elements without a partner."""
    frame = both_sides(node, left, right)
    return in_buckets(node, emission, frame, Zipper(*types_of_sides(frame)))


def indexed(frame: Frame, side: str) -> DataFrame:
    """The rows with their index, from 0, and names that the other side does not have."""
    names = [f"{side}/{number}" for number in range(len(frame.columns))]
    hidden = [f"{side}/time"] if frame.timed else []
    return frame.df.toDF(*names, *hidden).zipWithIndex("index")


@emits(ColumnsOp, SplitBy)
def emit_split_by(node: SplitBy, emission: Emission, frame: Frame) -> Frame:
    form = emission.column_form(node, node.function)
    assert form is not None, "a function that names no branches natively should have been a stage"
    columns = frame.columns
    frame, numbers = frame.evaluate(form, frame.names())
    if node.masked:
        branches = mask(form, frame.names(), node.n)
        return with_branches(node, with_branch_column(frame, columns, branches), columns, _BRANCHES)
    if form.type in (INT, BOOL):
        branches, exists = f"CAST({numbers[0]} AS BIGINT)", f"{_BRANCHES} >= 0 AND {_BRANCHES} < {node.n}"
    else:
        branches = numbers[0] if not form.type.children else f"array({', '.join(numbers)})"
        exists = f"forall({_BRANCHES}, number -> number >= 0 AND number < {node.n})"
    checked = f"CASE WHEN {exists} THEN {_BRANCHES} ELSE {guard(_NO_SUCH_BRANCH)} END"
    return with_branches(node, with_branch_column(frame, columns, branches), columns, checked)


def mask(form: ColumnForm, name_of: NameOf, n: int) -> str:
    """The branches that the function names, as bits: constant numbers need no array."""
    if form.result.expr is None:
        return bits(form.result.leaves(), name_of, n)
    return mask_of(form.result.expr, name_of, n)


def mask_of(expr: Expr, name_of: NameOf, n: int) -> str:
    match expr:
        case Case(branches, otherwise):
            cases = " ".join(
                f"WHEN {render(condition, name_of)} THEN {mask_of(then, name_of, n)}" for condition, then in branches
            )
            return f"CASE {cases} ELSE {mask_of(otherwise, name_of, n)} END"
        case Call("array", numbers):
            return bits(numbers, name_of, n)
    return f"aggregate({render(expr, name_of)}, 0L, (mask, number) -> mask | {bit('number', n)})"


def bits(numbers: Sequence[Expr], name_of: NameOf, n: int) -> str:
    """One mask of several numbers."""
    known = [each.value for each in numbers if isinstance(each, Literal) and 0 <= each.value < n]
    if len(known) == len(numbers):
        return f"{branches.mask(set(known))}L"
    return f"({' | '.join(bit(render(each, name_of), n) for each in numbers)})"


def bit(number: str, n: int) -> str:
    shifted = f"shiftleft(1L, CAST({number} AS INT))"
    return f"CASE WHEN {number} >= 0 AND {number} < {n} THEN {shifted} ELSE {guard(_NO_SUCH_BRANCH)} END"


@emits(ColumnsOp, Route)
def emit_route(node: Route, emission: Emission, frame: Frame) -> Frame:
    columns, name_of = frame.columns, frame.names()
    for index, predicate in enumerate(node.predicates):
        form = emission.column_form(node, predicate)
        assert form is not None, "a predicate without a column form should have been a stage"
        widened, _ = frame.evaluate(form, name_of)
        decided = f"WHEN {_BRANCHES} <> {NOWHERE}L THEN {_BRANCHES} " if index else ""
        test = f"CASE {decided}WHEN {render(truth(form.result), name_of)} THEN {index}L ELSE {NOWHERE}L END"
        frame = with_branch_column(widened, columns, test)
    return with_branches(node, frame, columns, _BRANCHES)


def with_branch_column(frame: Frame, columns: list[str], branches: str) -> Frame:
    """The frame with the branch numbers in an additional column."""
    rows = frame.df.selectExpr(*columns, f"{branches} AS {_BRANCHES}", *frame.hidden)
    return frame.over(rows)


def with_branches(node: SplitBy | Route, frame: Frame, columns: list[str], branches: str) -> Frame:
    """The branch numbers as a part of the element, before it, and after the key of a keyed stream."""
    at = len(frame.columns_under(0)) if isinstance(frame.type, Keyed) else 0
    return frame.select(node.type, [*columns[:at], branches, *columns[at:]])


def known_condition(node: Branch, emission: Emission) -> Expr | None:
    """The condition of a branch over the element; None if it depends on branch numbers that are computed."""
    split = node.input
    computed = split in emission.plan.shared or split in emission.plan.given
    if not isinstance(split, SplitBy) or computed:  # numbers in memory are cheaper
        return None
    form = emission.column_form(split, split.function)
    return None if form is None or form.shared else branch_condition(form.result, node.number, split.n)


@emits(ColumnsOp, Branch)
def emit_branch(node: Branch, emission: Emission, frame: Frame) -> Frame:
    keyed = isinstance(frame.type, Keyed)
    known = known_condition(node, emission)
    if known is not None:  # of the element: Spark does not compute the branch numbers
        parts = ((0,), (1, 1)) if keyed else ((1,),)
        chosen = frame.where(render(known, frame.names(*parts)))
        columns = [*(frame.columns_under(0) if keyed else []), *frame.columns_under(*parts[-1])]
        return chosen.select(node.type, narrowed(columns, node.input.input.type, node.type))
    (branches,) = frame.columns_under(1, 0) if keyed else frame.columns_under(0)
    if node.input.masked:
        condition = f"({branches} & {1 << node.number}L) <> 0L"
    elif node.input.several:
        condition = f"array_contains({branches}, {node.number}L)"
    else:
        condition = f"{branches} = {node.number}"
    value = frame.columns_under(1, 1) if keyed else frame.columns_under(1)
    key = frame.columns_under(0) if keyed else []
    source = node.input.input.type
    return frame.where(condition).select(node.type, narrowed([*key, *value], source, node.type))

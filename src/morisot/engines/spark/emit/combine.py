"""Several streams to one, and one to several: unions, joins by place, and marks that branches filter by."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from pyspark.sql import DataFrame

from morisot.compile.ir.expressions import Call, Case, Expr, Literal
from morisot.compile.ir.truth import truth
from morisot.compile.verdict import ColumnForm
from morisot.engines.spark.emit.core.emission import Emission
from morisot.engines.spark.emit.core.registry import emits
from morisot.engines.spark.emit.frames.frame import PLACE, TIME, Frame
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

_MARK = quoted("mark")
_NO_SUCH_BRANCH = "there is no such branch"


@emits(UnionOp, Merge)
def emit_merge(node: Merge, emission: Emission, *frames: Frame) -> Frame:
    """A union keeps the order: its partitions are those of the first frame, then those of the second.

    Spark puts the partitions of frames that are hashed alike together instead; but what was hashed has no order, or got
    it back by sorting.
    """
    parts = [as_type(frame, node.type, node) for frame in frames]
    if any(frame.placed for frame in parts):  # a machine before one of them has given its elements places
        parts = [frame if frame.placed else without_places(frame) for frame in parts]
    return parts[0].over(functools.reduce(DataFrame.unionAll, (frame.df for frame in parts)))


def without_places(frame: Frame) -> Frame:
    """A frame whose elements have no places, with the column of those that have."""
    return Frame(frame.df.selectExpr("*", f"X'' AS {PLACE}"), frame.type, frame.timed, placed=True)


@emits(NativeJoinOp, Zip)
def emit_zip(node: Zip, emission: Emission, left: Frame, right: Frame) -> Frame:
    """Every row gets its place in the stream, which Spark finds by counting the partitions before its own."""
    sides = [placed(frame, name) for frame, name in ((left, "left"), (right, "right"))]
    pairs = sides[0].join(sides[1], "place")
    pairs = pairs.orderBy("place") if emission.is_ordered(node) else pairs
    columns = [name for side in sides for name in side.columns if name != "place" and not name.endswith("time")]
    timed = [f"greatest({quoted('left/time')}, {quoted('right/time')}) AS {TIME}"] if left.timed else []
    named = [f"{quoted(a)} AS {b}" for a, b in zip(columns, Frame(pairs, node.type).columns, strict=True)]
    return Frame(pairs.selectExpr(*named, *timed), node.type, left.timed)


@emits(KeyedStateOp, Zip)
def emit_zip_unbounded(node: Zip, emission: Emission, left: Frame, right: Frame) -> Frame:
    """Both sides meet in one place, which holds what has no partner yet."""
    frame = both_sides(node, left, right)
    return in_buckets(node, emission, frame, Zipper(*types_of_sides(frame)))


def placed(frame: Frame, side: str) -> DataFrame:
    """The rows with their place, from 0, and names that the other side does not have."""
    names = [f"{side}/{place}" for place in range(len(frame.columns))]
    hidden = [f"{side}/time"] if frame.timed else []
    return frame.df.toDF(*names, *hidden).zipWithIndex("place")


@emits(ColumnsOp, SplitBy)
def emit_split_by(node: SplitBy, emission: Emission, frame: Frame) -> Frame:
    form = emission.column_form(node, node.function)
    assert form is not None, "a function that names no branches natively should have been a stage"
    columns = frame.columns
    frame, numbers = frame.evaluate(form, frame.names())
    if node.masked:
        mark = mask(form, frame.names(), node.n)
        return with_mark(node, marked(frame, columns, mark), columns, _MARK)
    if form.type in (INT, BOOL):
        mark, exists = f"CAST({numbers[0]} AS BIGINT)", f"{_MARK} >= 0 AND {_MARK} < {node.n}"
    else:
        mark = numbers[0] if not form.type.children else f"array({', '.join(numbers)})"
        exists = f"forall({_MARK}, number -> number >= 0 AND number < {node.n})"
    checked = f"CASE WHEN {exists} THEN {_MARK} ELSE {guard(_NO_SUCH_BRANCH)} END"
    return with_mark(node, marked(frame, columns, mark), columns, checked)


def mask(form: ColumnForm, name_of: NameOf, n: int) -> str:
    """The branches that the function names, as bits: no array is made of numbers that stand in the program."""
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
        assert form is not None, "a predicate that is no column should have been a stage"
        widened, _ = frame.evaluate(form, name_of)
        decided = f"WHEN {_MARK} <> {NOWHERE}L THEN {_MARK} " if index else ""
        test = f"CASE {decided}WHEN {render(truth(form.result), name_of)} THEN {index}L ELSE {NOWHERE}L END"
        frame = marked(widened, columns, test)
    return with_mark(node, frame, columns, _MARK)


def marked(frame: Frame, columns: list[str], mark: str) -> Frame:
    """The frame with the mark in a column beside the element's."""
    rows = frame.df.selectExpr(*columns, f"{mark} AS {_MARK}", *frame.hidden)
    return frame.over(rows)


def with_mark(node: SplitBy | Route, frame: Frame, columns: list[str], mark: str) -> Frame:
    """The mark as a part of the element, before it; the key of a keyed stream stays in front."""
    at = len(frame.columns_under(0)) if isinstance(frame.type, Keyed) else 0
    return frame.select(node.type, [*columns[:at], mark, *columns[at:]])


@emits(ColumnsOp, Branch)
def emit_branch(node: Branch, emission: Emission, frame: Frame) -> Frame:
    keyed = isinstance(frame.type, Keyed)
    (mark,) = frame.columns_under(1, 0) if keyed else frame.columns_under(0)
    if node.input.masked:
        condition = f"({mark} & {1 << node.number}L) <> 0L"
    elif node.input.several:
        condition = f"array_contains({mark}, {node.number}L)"
    else:
        condition = f"{mark} = {node.number}"
    value = frame.columns_under(1, 1) if keyed else frame.columns_under(1)
    key = frame.columns_under(0) if keyed else []
    return frame.where(condition).select(node.type, [*key, *value])

"""A DataFrame whose columns are the leaves of an element type."""

from __future__ import annotations

import dataclasses
import functools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame

from morisot.compile.ir.expressions import Input
from morisot.compile.verdict import ColumnForm
from morisot.engines.spark.emit.frames import schema
from morisot.engines.spark.emit.frames.sql import quoted, render
from morisot.types.element import Keyed, Leaf, Type, leaves

NameOf = Callable[[Input], str]

ROW_ORDER = quoted("at")
"""The hidden column with the row order of an unbounded stream: bytes that sort in stream order."""
ORDERS = tuple(quoted(f"rank{number}") for number in range(64))
"""The names of order columns."""
TIME = quoted("time")
"""The hidden column with the timestamps, in ticks: milliseconds, or microseconds for datetimes."""


_NAME = re.compile("`[^`]+`")
"""The quoted name of a column."""
_REFERENCE = re.compile("\0(.*?)\0")
"""A reference to a leaf of a frame in SQL text, which is replaced later. No literal contains this character."""
_LONGEST = 400
"""The most characters of an expression of several operators in one select. Each select costs Spark 10 ms."""
_LONGEST_TWICE = 120
"""The same for an expression that is computed twice, for a condition and for the result."""


@dataclass(frozen=True)
class Pending:
    """Operators that are not emitted yet, so that several become one filter and one select."""

    conditions: tuple[str, ...] = ()
    expressions: tuple[str, ...] | None = None
    """An expression for each leaf, over the rows; None: the rows have these columns."""


@dataclass(frozen=True)
class Frame:
    """Elements as a DataFrame: one column for each leaf of `type`, in the order of `leaves`; then TIME if `timed`.

    The order of partitions, and of rows in them, is the stream order if the plan has one.
    """

    rows: DataFrame
    type: Type
    timed: bool = False
    has_row_order: bool = False
    """Whether ROW_ORDER is the last column: on unbounded input, if a reader needs the order."""
    order: tuple[str, ...] = ()
    """The hidden columns by which the elements are ordered, ascending; none: they are in partition order."""
    pending: Pending = Pending()

    @functools.cached_property
    def df(self) -> DataFrame:
        """The rows after the pending operators."""
        if self.pending.expressions is None:
            return self._kept
        return self._kept.selectExpr(*named(self.pending.expressions, self.type), *self.hidden)

    @property
    def _kept(self) -> DataFrame:
        """The rows for which the pending conditions hold."""
        if not self.pending.conditions:
            return self.rows
        return self.rows.where(" AND ".join(f"({condition})" for condition in self.pending.conditions))

    @property
    def hidden(self) -> list[str]:
        """The quoted names of the hidden columns."""
        return [*([TIME] if self.timed else []), *self.order, *([ROW_ORDER] if self.has_row_order else [])]

    def ddl(self, type_: Type) -> str:
        """The schema of a frame of another type with the same hidden columns, for mapInArrow."""
        kinds = {TIME: "BIGINT", ROW_ORDER: "BINARY"}
        if self.order:
            types = {quoted(field.name): field.dataType.simpleString() for field in self.df.schema.fields}
            kinds |= {name: types[name] for name in self.order}
        return ", ".join([schema.ddl(type_), *(f"{name} {kinds[name]}" for name in self.hidden)])

    def over(self, df: DataFrame, type_: Type | None = None) -> Frame:
        """A frame over other rows, which have the same hidden columns."""
        return Frame(df, self.type if type_ is None else type_, self.timed, self.has_row_order, self.order)

    @property
    def columns(self) -> list[str]:
        """The quoted names of the leaf columns."""
        return [quoted(leaf.column) for leaf in leaves(self.type)]

    def columns_under(self, *path: int) -> list[str]:
        """The quoted names of the leaf columns of one part: (0,) the key of a keyed stream, (1,) its value."""
        return [quoted(leaf.column) for leaf in self.leaves_under(*path)]

    def leaves_under(self, *path: int) -> list[Leaf]:
        return [leaf for leaf in leaves(self.type) if leaf.path[: len(path)] == path]

    def select(self, type_: Type, expressions: Sequence[str]) -> Frame:
        """The frame of another type whose leaves are the given SQL expressions. New names of columns are pending."""
        if all(map(_NAME.fullmatch, expressions)):
            return dataclasses.replace(self.emitted(), type=type_, pending=Pending((), tuple(expressions)))
        return self.over(self.df.selectExpr(*named(expressions, type_), *self.hidden), type_)

    def where(self, condition: str) -> Frame:
        """The elements for which a condition over the columns holds."""
        return self.over(self.df.where(condition))

    # -- several operators in one select ---------------------------------------------------------------------------

    def references_to(self, *path: int) -> list[str]:
        """References to the leaves of one part."""
        return [f"\0{leaf.column}\0" for leaf in self.leaves_under(*path)]

    def compose(self, type_: Type, expressions: Sequence[str]) -> Frame:
        """The frame of another type whose leaves are SQL expressions over references to this one's leaves."""
        frame = self if self._may_replace(expressions, _LONGEST) else self.emitted()
        resolved = tuple(frame._resolved(expression) for expression in expressions)
        pending = Pending(frame.pending.conditions, resolved)
        return dataclasses.replace(frame, type=type_, pending=pending)

    def filtered(self, condition: str) -> Frame:
        """The elements for which a condition over references to the leaves holds."""
        frame = self if self._may_replace([condition], _LONGEST_TWICE) else self.emitted()
        conditions = (*frame.pending.conditions, frame._resolved(condition))
        return dataclasses.replace(frame, pending=Pending(conditions, frame.pending.expressions))

    def projected(self, expressions: Sequence[str]) -> DataFrame:
        """One select of SQL expressions over references to the leaves, and over hidden columns."""
        frame = self if self._may_replace(expressions, _LONGEST) else self.emitted()
        return frame._kept.selectExpr(*map(frame._resolved, expressions))

    def emitted(self) -> Frame:
        """The frame with its pending expressions in a DataFrame: what is added reads this one, if it is persisted."""
        return self.over(self.df)

    def _resolved(self, text: str) -> str:
        expressions = self._expressions_by_column()
        return _REFERENCE.sub(lambda found: expressions[found[1]], text)

    def _expressions_by_column(self) -> dict[str, str]:
        columns = [leaf.column for leaf in leaves(self.type)]
        expressions = self.pending.expressions or [quoted(column) for column in columns]
        return dict(zip(columns, expressions, strict=True))

    def _may_replace(self, texts: Iterable[str], longest: int) -> bool:
        """Whether references may be replaced by pending expressions: none is computed twice, or for each item."""
        if self.pending.expressions is None:
            return True
        uses = Counter(column for text in texts for column in _REFERENCE.findall(text))
        computed = {
            column: text
            for column, text in self._expressions_by_column().items()
            if uses[column] and not _NAME.fullmatch(text)
        }
        if not computed:
            return True
        if any("->" in text for text in texts) or max(uses[column] for column in computed) > 1:
            return False
        return max(map(len, texts)) + sum(map(len, computed.values())) <= longest

    def untimed(self) -> Frame:
        """The frame without its elements' timestamps."""
        if not self.timed:
            return self
        return Frame(self.df.drop("time"), self.type, has_row_order=self.has_row_order, order=self.order)

    def without_order_columns(self) -> Frame:
        """The frame without the columns by which its elements are ordered."""
        if not self.order:
            return self
        return Frame(self.df.drop(*(unquoted(name) for name in self.order)), self.type, self.timed, self.has_row_order)

    def names(self, *parts: tuple[int, ...]) -> NameOf:
        """The column of each input of a closure whose parameters are the given parts of the element.

        By default the parameters are those of row-wise functions: the element, or (key, value).
        """
        parameters = parts or (((0,), (1,)) if isinstance(self.type, Keyed) else ((),))
        by_path = {leaf.path: quoted(leaf.column) for leaf in leaves(self.type)}
        return lambda leaf: by_path[(*parameters[leaf.parameter], *leaf.path)]

    def references(self, *parts: tuple[int, ...]) -> NameOf:
        """Like `names`, but references, for `compose` and `filtered`."""
        name_of = self.names(*parts)
        columns = {quoted(leaf.column): leaf.column for leaf in leaves(self.type)}
        return lambda leaf: f"\0{columns[name_of(leaf)]}\0"

    def composable(self, form: ColumnForm, *parts: tuple[int, ...]) -> tuple[Frame, list[str]]:
        """The closure's result over references to the leaves of this frame, or of one with shared values added."""
        frame = self.evaluate(form, self.names(*parts))[0] if form.shared else self
        return frame, [render(leaf, frame.references(*parts)) for leaf in form.result.leaves()]

    def evaluate(self, form: ColumnForm, name_of: NameOf) -> tuple[Frame, list[str]]:
        """The closure's result as SQL, an expression for each leaf, over this frame or one with shared values added."""
        frame = self
        for name, expr in form.shared:
            widened = frame.df.selectExpr("*", f"{render(expr, name_of)} AS {quoted(name)}")
            frame = self.over(widened)
        return frame, [render(leaf, name_of) for leaf in form.result.leaves()]


def unquoted(name: str) -> str:
    return name.removeprefix("`").removesuffix("`")


def named(expressions: Sequence[str], type_: Type) -> list[str]:
    """The expressions with the names of the type's leaves."""
    return [
        expression if expression == quoted(leaf.column) else f"{expression} AS {quoted(leaf.column)}"
        for expression, leaf in zip(expressions, leaves(type_), strict=True)
    ]

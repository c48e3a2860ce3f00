"""A DataFrame whose columns are the leaves of an element type."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame

from morisot.compile.expr import Input
from morisot.compile.verdict import ColumnForm
from morisot.lower.columns import quoted, render
from morisot.types.element import Keyed, Leaf, Type, leaves

NameOf = Callable[[Input], str]

TIME = quoted("time")
"""The hidden column of the elements' timestamps: milliseconds, or microseconds where they are datetimes."""


@dataclass(frozen=True)
class Frame:
    """Elements as Spark has them: one column per leaf of `type`, in the order of `leaves`; then TIME if `timed`.

    The order of partitions, and of rows in them, is the stream's order wherever the plan keeps one.
    """

    df: DataFrame
    type: Type
    timed: bool = False

    @property
    def hidden(self) -> list[str]:
        """The quoted names of the columns that travel with an element but are no part of it."""
        return [TIME] if self.timed else []

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
        """The frame of another type whose leaves are the given SQL expressions."""
        named = [
            expression if expression == quoted(leaf.column) else f"{expression} AS {quoted(leaf.column)}"
            for expression, leaf in zip(expressions, leaves(type_), strict=True)
        ]
        return Frame(self.df.selectExpr(*named, *self.hidden), type_, self.timed)

    def where(self, condition: str) -> Frame:
        return Frame(self.df.where(condition), self.type, self.timed)

    def untimed(self) -> Frame:
        """The frame without its elements' timestamps."""
        return Frame(self.df.drop("time"), self.type) if self.timed else self

    def names(self, *parts: tuple[int, ...]) -> NameOf:
        """The column behind each input of a closure whose parameters are the given parts of the element.

        None given: what row-wise functions take, the element or (key, value).
        """
        places = parts or (((0,), (1,)) if isinstance(self.type, Keyed) else ((),))
        by_path = {leaf.path: quoted(leaf.column) for leaf in leaves(self.type)}
        return lambda leaf: by_path[(*places[leaf.parameter], *leaf.path)]

    def evaluate(self, form: ColumnForm, name_of: NameOf) -> tuple[Frame, list[str]]:
        """The closure's result as SQL, one expression a leaf, over this frame or one with its shared values added."""
        frame = self
        for name, expr in form.shared:
            widened = frame.df.selectExpr("*", f"{render(expr, name_of)} AS {quoted(name)}")
            frame = Frame(widened, self.type, self.timed)
        return frame, [render(leaf, name_of) for leaf in form.result.leaves()]

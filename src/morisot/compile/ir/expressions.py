"""Expressions over columns, independent of Spark. Compiled closures consist of them; SQL text is rendered from them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

from morisot.types.element import Type


@dataclass(frozen=True)
class Expr:
    """The root of all expressions. `raises`: whether evaluating it may fail on some input."""

    @property
    def parts(self) -> tuple[Expr, ...]:
        return ()

    @property
    def raises(self) -> bool:
        return any(part.raises for part in self.parts)


@dataclass(frozen=True)
class Input(Expr):
    """A leaf column of a parameter: the leaf at `path` (see `types.element.leaves`) of parameter `parameter`."""

    parameter: int
    path: tuple[int, ...] = ()


@dataclass(frozen=True)
class Shared(Expr):
    """A value computed once beforehand, under a name, because it is used more than once."""

    name: str


@dataclass(frozen=True)
class Literal(Expr):
    """A constant of a given type."""

    value: Any
    type: Type


@dataclass(frozen=True)
class Call(Expr):
    """A Spark SQL function, operator or cast. `name` is a key of the renderer's table of templates."""

    name: str
    arguments: tuple[Expr, ...]
    fails: bool = False
    """Whether the function itself can fail (overflow, division by zero), even if its arguments do not."""

    @property
    def parts(self) -> tuple[Expr, ...]:
        return self.arguments

    @property
    def raises(self) -> bool:
        return self.fails or any(part.raises for part in self.arguments)


@dataclass(frozen=True)
class Case(Expr):
    """CASE WHEN … THEN … ELSE … END. Only the branch taken is evaluated."""

    branches: tuple[tuple[Expr, Expr], ...]
    otherwise: Expr

    @property
    def parts(self) -> tuple[Expr, ...]:
        return (*(part for branch in self.branches for part in branch), self.otherwise)


@dataclass(frozen=True)
class Struct(Expr):
    """A tuple or record as one value: an item of a list of tuples, or a tuple that may be None."""

    names: tuple[str, ...]
    items: tuple[Expr, ...]

    @property
    def parts(self) -> tuple[Expr, ...]:
        return self.items


@dataclass(frozen=True)
class Field(Expr):
    """One part of a struct."""

    struct: Expr
    name: str

    @property
    def parts(self) -> tuple[Expr, ...]:
        return (self.struct,)


@dataclass(frozen=True)
class Variable(Expr):
    """The current item of an enclosing `Each`."""

    name: str


@dataclass(frozen=True)
class Each(Expr):
    """`function` (transform, filter, exists, forall) of a list: `body` for each of the `items`, named `variable`."""

    function: str
    items: Expr
    variable: str
    body: Expr
    index: str = ""
    """The name of the item's index, from 0, if the body reads it."""

    @property
    def parts(self) -> tuple[Expr, ...]:
        return (self.items, self.body)


@dataclass(frozen=True)
class Raise(Expr):
    """Fails. Python then processes the element, and gives its value or its exception."""

    reason: str

    @property
    def raises(self) -> bool:
        return True


def walk(expr: Expr) -> Iterator[Expr]:
    """The expression and all its parts, recursively."""
    yield expr
    for part in expr.parts:
        yield from walk(part)


def rebuilt(expr: Expr, change: Callable[[Expr], Expr | None]) -> Expr:
    """The expression with each part replaced for which `change` gives another one."""
    changed = change(expr)
    if changed is not None:
        return changed
    parts = {field.name: _rebuilt_part(getattr(expr, field.name), change) for field in fields(expr)}
    return replace(expr, **parts)


def _rebuilt_part(part: Any, change: Callable[[Expr], Expr | None]) -> Any:
    if isinstance(part, Expr):
        return rebuilt(part, change)
    return tuple(_rebuilt_part(one, change) for one in part) if type(part) is tuple else part

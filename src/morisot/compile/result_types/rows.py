"""The rows of the table of result types: what a function or a method of Python returns for arguments of some types."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from morisot.compile.ir.values import Known
from morisot.compile.result_types.domain import Found, is_plain, type_of
from morisot.types.element import ANY, Type

Caller = Callable[[Found, list[Found]], Type]
"""The result type of a call of a function that is an argument, such as `key=`."""


class Unknown(Exception):  # noqa: N818 - a rule raises it where the user's code may run, and the interpreter catches it
    """The result is not known, and the call may change objects in place."""


@dataclass(frozen=True)
class TypedCall:
    """The arguments of a call. The first one of a method is the object."""

    arguments: list[Found]
    keywords: dict[str, Found]
    call: Caller

    @property
    def types(self) -> list[Type]:
        return [type_of(argument) for argument in self.arguments]

    def constant(self, index: int) -> Any:
        """The constant argument at a position; None if it is not constant."""
        found = self.arguments[index] if index < len(self.arguments) else None
        return found.object if isinstance(found, Known) else None


Rule = Callable[[TypedCall], Type]


@dataclass(frozen=True)
class ResultRow:
    """The result of a function: a type, or a rule that computes it. CPython returns nothing else, or raises."""

    result: Type | Rule
    keywords: frozenset[str] = frozenset()
    """The keyword arguments that the result type does not depend on, or that the rule reads."""
    of_objects: bool = False
    """Whether it holds for arguments of any class: `len` returns an int, or raises."""
    only_moves: bool = False
    """Whether the function calls no method of the items: `zip` does not, `sorted` does."""

    def applied(self, call: TypedCall) -> tuple[Type, bool]:
        """The result type, and whether the call surely runs no code of the user."""
        if not set(call.keywords) <= self.keywords:
            return ANY, False
        plain = self.only_moves or all(map(_is_plain, (*call.arguments, *call.keywords.values())))
        if not plain and not self.of_objects:
            return ANY, False
        if isinstance(self.result, Type):
            return self.result, plain
        try:
            return self.result(call), plain
        except (Unknown, IndexError):  # an argument is missing: the call raises
            return ANY, False


def _is_plain(found: Found) -> bool:
    return is_plain(type_of(found)) or (isinstance(found, Known) and isinstance(found.object, type))


def fixed(result: Type, *functions: Any, keywords: str = "", of_objects: bool = False) -> dict[Any, ResultRow]:
    """Rows of functions that return one type for all arguments."""
    return dict.fromkeys(functions, ResultRow(result, frozenset(keywords.split()), of_objects))

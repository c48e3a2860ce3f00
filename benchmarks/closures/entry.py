"""What an entry of the corpus is, and how the files of the corpus register theirs."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from morisot.types.element import Type
from morisot.types.infer import of_annotation, of_return

if TYPE_CHECKING:
    from benchmarks.closures.rows import Rows

F = TypeVar("F", bound=Callable[..., Any])
Kind = Literal["loop-free", "numeric loop", "other loop"]


@dataclass(frozen=True, eq=False)
class Entry:
    """A closure, the rows it is for, and whether it loops."""

    name: str
    theme: str
    function: Callable[..., Any]
    rows: Rows
    kind: Kind
    returns: Type
    repeatable: bool = True
    """Whether CPython itself gives the same value twice; a random one is not compared."""

    @property
    def key(self) -> str:
        """How the command line and the report call it."""
        return f"{self.theme}.{self.name}"


ENTRIES: list[Entry] = []


def closure(rows: Rows, name: str = "", returns: Any = None, *, repeatable: bool = True) -> Callable[[F], F]:
    """Registers a closure without loops; a lambda needs a name and, for the Arrow UDF, a return type."""
    return _registering(rows, "loop-free", name, returns, repeatable)


def numeric_loop(rows: Rows) -> Callable[[F], F]:
    """Registers a closure that loops over numbers."""
    return _registering(rows, "numeric loop", "", None, True)


def other_loop(rows: Rows) -> Callable[[F], F]:
    """Registers a closure that loops over something else, or builds something else."""
    return _registering(rows, "other loop", "", None, True)


def _registering(rows: Rows, kind: Kind, name: str, returns: Any, repeatable: bool) -> Callable[[F], F]:
    theme = sys._getframe(2).f_globals["__name__"].rpartition(".")[2]  # builtins and partials have no module of ours

    def register(function: F) -> F:
        type_ = of_annotation(returns) if returns is not None else of_return(function)
        assert type_ is not None, f"{function} has no return type"
        ENTRIES.append(Entry(name or function.__name__, theme, function, rows, kind, type_, repeatable))
        return function

    return register

"""What is known at one place of a function: its variables, what it captured, and the conditions that led there."""

from __future__ import annotations

import ast
import builtins
import dataclasses
import itertools
import types
from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

from morisot.compile.ir.expressions import Call, Expr, Field, Input, Literal, Shared, Variable, rebuilt, walk
from morisot.compile.ir.strictness import Debt, has_variables, may_raise, settled
from morisot.compile.ir.values import TRUE, Known, conjunction, constant, facts, negate, pack, when
from morisot.compile.verdict import Refusal, Value
from morisot.types.element import Type

if TYPE_CHECKING:
    from morisot.compile.syntax.try_except import Failure

_LARGEST = 20_000
"""So many expressions are translated; a closure that needs more would take Spark longer to plan than Python to run."""
_LARGEST_PER_ITEM = 500
_CHEAP = frozenset({"add", "subtract", "multiply", "negative", "bigint", "double", "is_null", "is_not_null", "not"})
"""Calls that cost less to repeat than to keep."""


class Refused(Exception):  # noqa: N818 - it carries a value out of the recursion, it is not an error
    """Unwinds the translator; caught in one place, where it becomes the `Refusal` it carries."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.reason)
        self.refusal = refusal


def refuse(node: ast.AST | None, reason: str, advice: str = "") -> NoReturn:
    """Give up on the column form, for a reason at a line."""
    raise Refused(Refusal(reason, getattr(node, "lineno", None), advice))


class Sharing:
    """The values of one closure that are computed once because they are used more often."""

    def __init__(self) -> None:
        self.entries: list[tuple[str, Expr]] = []
        self.debts: list[Debt] = []
        """What Python evaluates, whether or not its value is used."""
        self._names: dict[Expr, Shared] = {}
        self._steps = 0

    def step(self, node: ast.AST) -> None:
        self._steps += 1
        if self._steps > _LARGEST:
            refuse(node, "the function is too large for one expression", "split it into several operators")

    def bind(self, expr: Expr, type_: Type, condition: Expr) -> Expr:
        """A small expression with the same value; where it could fail it is computed only if `condition` holds."""
        if _is_small(expr):
            return expr
        if expr.raises and condition != TRUE:
            expr = when(condition, expr, Literal(None, type_))
        if expr not in self._names:
            name = f"s{len(self.entries)}"
            self.entries.append((name, expr))
            self._names[expr] = Shared(name)
        return self._names[expr]

    def may_raise(self, expr: Expr) -> bool:
        """Whether an expression, or a shared value in it, may fail."""
        return may_raise(expr, dict(self.entries))

    def written_out(self, expr: Expr) -> Expr:
        """What a shared value stands for."""
        return next((kept for name, kept in self.entries if expr == Shared(name)), expr)

    def expanded(self, expr: Expr, known: Container[str]) -> Expr:
        """The expression with every shared value written out but those with a known name."""
        kept = dict(self.entries)

        def change(part: Expr) -> Expr | None:
            written = isinstance(part, Shared) and part.name not in known
            return self.expanded(kept[part.name], known) if written and isinstance(part, Shared) else None

        return rebuilt(expr, change)

    def copy(self) -> Sharing:
        """For a try: what is shared in the copy stays there."""
        other = Sharing()
        other.entries, other._names, other._steps = list(self.entries), dict(self._names), self._steps
        other.debts = list(self.debts)
        return other


def _is_small(expr: Expr) -> bool:
    """Whether repeating the expression costs less than keeping its value."""
    if isinstance(expr, Input | Shared | Literal | Variable):
        return True
    if isinstance(expr, Field):
        return _is_small(expr.struct)
    if isinstance(expr, Call):
        return expr.name in _CHEAP and all(isinstance(part, Input | Shared | Literal) for part in expr.arguments)
    return False


@dataclass(frozen=True)
class Scope:
    """The names, facts and condition at one place of a function."""

    function: types.FunctionType
    sharing: Sharing
    names: Mapping[str, Value | Known | None] = field(default_factory=dict)
    """Local variables; None for one that is set on some ways only."""
    facts: dict[Expr, bool] = field(default_factory=dict)
    condition: Expr = TRUE
    per_item: bool = False
    """Inside a comprehension nothing can be shared: it differs from item to item."""
    depth: int = 0
    """How many of the user's functions call each other around this place."""
    loops: int = 0
    """How many comprehensions are around this place."""
    set_here: dict[str, Value | Known] = field(default_factory=dict)
    """Variables set by := on the way to here; it grows as expressions are read, in Python's order."""
    set_if: dict[Expr, dict[str, Value | Known]] = field(default_factory=dict)
    """Variables that are set where a condition came out true: by a := inside an `and`."""
    trial: list[Failure] | None = None
    """Where operations note when they surely fail: inside a try, and nowhere else."""

    def where(self, condition: Expr, truth: bool = True) -> Scope:
        """The scope of the branch taken if `condition` comes out as `truth`."""
        known = self.facts | facts(self.sharing.written_out(condition), truth)
        taken = condition if truth else negate(condition)
        also = self.set_if.get(self.sharing.written_out(condition), {}) if truth else {}
        here = {**self.set_here, **also}
        return dataclasses.replace(self.forked(here), facts=known, condition=conjunction(self.condition, taken))

    def forked(self, set_here: dict[str, Value | Known] | None = None) -> Scope:
        """The same scope, for a way of its own: what is set by := there stays there."""
        return dataclasses.replace(self, set_here=dict(self.set_here if set_here is None else set_here), set_if={})

    def having(self, names: Mapping[str, Value | Known | None]) -> Scope:
        return dataclasses.replace(self, names={**self.names, **names})

    def small(self, value: Value) -> Value:
        """The same value, cheap to repeat."""
        if value.expr is None:
            return Value(value.type, items=tuple(map(self.small, value.items)))
        if self.per_item:
            if any(True for _ in itertools.islice(walk(value.expr), _LARGEST_PER_ITEM, None)):
                refuse(None, "what is done with each item is too large for one expression", "use flat_map and map")
            return value
        return Value(value.type, self.sharing.bind(value.expr, value.type, self.condition))

    def owe(self, value: Value) -> None:
        """Python evaluates the value here, even if nobody reads it: where it may fail the result has to fail."""
        for leaf, type_ in _leaves(value):
            if self.sharing.may_raise(leaf):
                self.sharing.debts.append(Debt(self.condition, leaf, type_))

    def settle(self, result: Value, since: int) -> Value:
        """The result of what was read since there were so many debts; it evaluates all that is owed."""
        debts, self.sharing.debts[since:] = self.sharing.debts[since:], []
        if not self.per_item and any(map(has_variables, debts)):
            refuse(None, "what is done with an item and then dropped may fail", "leave it out")
        return settled(result, debts, self.sharing.entries) if debts else result

    def small_expr(self, expr: Expr, type_: Type) -> Expr:
        return pack(self.small(Value(type_, expr)))

    def lookup(self, node: ast.Name) -> Value | Known:
        """What a name stands for: a local, a captured variable, a global or a builtin."""
        if node.id.startswith("__") and not node.id.endswith("__"):
            refuse(
                node, f"{node.id} is private to a class and has another name there", "use a name with one underscore"
            )
        if node.id in self.names:
            found = self.names[node.id]
            if found is None:
                refuse(
                    node, f"{node.id} is not set on every way to here", f"give {node.id} a value before the branches"
                )
            return found
        if node.id in self.set_here:
            return self.set_here[node.id]
        return known(self.outside(node))

    def outside(self, node: ast.Name) -> Any:
        """The object behind a name that is no local: captured, global or builtin."""
        code = self.function.__code__
        if node.id in code.co_freevars:
            return self._captured(node)
        if node.id in code.co_varnames or node.id in code.co_cellvars:
            refuse(node, f"{node.id} is used before it is set")
        if node.id in self.function.__globals__:
            return self.function.__globals__[node.id]
        if hasattr(builtins, node.id):
            return getattr(builtins, node.id)
        return refuse(node, f"the name {node.id} is not defined")

    def _captured(self, node: ast.Name) -> Any:
        cells = self.function.__closure__ or ()
        try:
            return cells[self.function.__code__.co_freevars.index(node.id)].cell_contents
        except ValueError:
            refuse(node, f"the captured variable {node.id} has no value yet")


def known(value: Any) -> Value | Known:
    """A Python object met while compiling: a constant column if it can be one."""
    return constant(value) or Known(value)


def _leaves(value: Value) -> list[tuple[Expr, Type]]:
    if value.expr is not None:
        return [(value.expr, value.type)]
    return [leaf for item in value.items for leaf in _leaves(item)]

"""What is known at a point of a function: its variables, captured objects, and the conditions of the path to it."""

from __future__ import annotations

import ast
import builtins
import dataclasses
import itertools
import types
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

from morisot.compile.ir.expressions import Call, Expr, Field, Input, Literal, Shared, Variable, rebuilt, walk
from morisot.compile.ir.strictness import StrictExpr, enforced, has_variables, may_raise
from morisot.compile.ir.values import TRUE, Known, conjunction, constant, facts, negate, pack, when
from morisot.compile.verdict import Refusal, Value
from morisot.types.element import Type

if TYPE_CHECKING:
    from morisot.compile.syntax.try_except import TryBody

_LARGEST = 20_000
"""The most expressions that are translated: Spark would plan a larger closure for longer than Python runs it."""
_LARGEST_PER_ITEM = 500
_CHEAP = frozenset({"add", "subtract", "multiply", "negative", "bigint", "double", "is_null", "is_not_null", "not"})
"""Calls that cost less to repeat than to store."""


class Refused(Exception):  # noqa: N818 - it carries a value out of the recursion, it is not an error
    """Unwinds the translator. The entry points catch it, and return the `Refusal` that it carries."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.reason)
        self.refusal = refusal


def refuse(node: ast.AST | None, reason: str, advice: str = "") -> NoReturn:
    """Refuses the form, with a reason and the line of the node."""
    raise Refused(Refusal(reason, getattr(node, "lineno", None), advice))


class Sharing:
    """The values of one closure that are used several times and computed once."""

    def __init__(self) -> None:
        self.entries: list[tuple[str, Expr]] = []
        self.strict: list[StrictExpr] = []
        """The expressions that Python evaluates whether or not their values are used."""
        self._names: dict[Expr, Shared] = {}
        self._steps = 0

    def step(self, node: ast.AST) -> None:
        self._steps += 1
        if self._steps > _LARGEST:
            refuse(node, "the function is too large for one expression", "split it into several operators")

    def bind(self, expr: Expr, type_: Type, condition: Expr) -> Expr:
        """A small expression with the same value. If it can fail, it is computed only where `condition` holds."""
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
        """The expression of a shared value; other expressions unchanged."""
        return next((shared for name, shared in self.entries if expr == Shared(name)), expr)

    def expanded(self, expr: Expr, known: Container[str]) -> Expr:
        """The expression with every shared value replaced by its expression, except those with a known name."""
        shared = dict(self.entries)

        def change(part: Expr) -> Expr | None:
            written = isinstance(part, Shared) and part.name not in known
            return self.expanded(shared[part.name], known) if written and isinstance(part, Shared) else None

        return rebuilt(expr, change)

    def copy(self) -> Sharing:
        """A copy for translating a `try`: values shared in the copy are not shared here."""
        other = Sharing()
        other.entries, other._names, other._steps = list(self.entries), dict(self._names), self._steps
        other.strict = list(self.strict)
        return other


def _is_small(expr: Expr) -> bool:
    """Whether repeating the expression costs less than storing its value."""
    if isinstance(expr, Input | Shared | Literal | Variable):
        return True
    if isinstance(expr, Field):
        return _is_small(expr.struct)
    if isinstance(expr, Call):
        return expr.name in _CHEAP and all(isinstance(part, Input | Shared | Literal) for part in expr.arguments)
    return False


@dataclass(frozen=True)
class Scope:
    """The names, facts and condition at a point of a function."""

    function: types.FunctionType
    sharing: Sharing
    names: Mapping[str, Value | Known | None] = field(default_factory=dict)
    """Local variables; None for one that is set on some paths only."""
    facts: dict[Expr, bool] = field(default_factory=dict)
    condition: Expr = TRUE
    per_item: bool = False
    """Whether this is inside a comprehension, where no value can be shared because it differs for each item."""
    depth: int = 0
    """The depth of nested calls of the user's functions."""
    loops: int = 0
    """The number of enclosing comprehensions."""
    set_here: dict[str, Value | Known] = field(default_factory=dict)
    """Variables set by := before this point. It grows as expressions are translated, in order of evaluation."""
    set_if: dict[Expr, dict[str, Value | Known]] = field(default_factory=dict)
    """Variables that are set if a condition is true: by a := inside an `and`."""
    trial: TryBody | None = None
    """Where operations inside a `try` record the conditions under which they fail; None outside of a `try`."""

    def where(self, condition: Expr, truth: bool = True) -> Scope:
        """The scope of the branch taken if `condition` has the value `truth`."""
        known = self.facts | facts(self.sharing.written_out(condition), truth)
        taken = condition if truth else negate(condition)
        also = self.set_if.get(self.sharing.written_out(condition), {}) if truth else {}
        here = {**self.set_here, **also}
        return dataclasses.replace(self.on_path(here), facts=known, condition=conjunction(self.condition, taken))

    def on_path(self, set_here: dict[str, Value | Known] | None = None) -> Scope:
        """A copy of the scope for one path: variables set by := on it are not set outside."""
        return dataclasses.replace(self, set_here=dict(self.set_here if set_here is None else set_here), set_if={})

    def having(self, names: Mapping[str, Value | Known | None]) -> Scope:
        return dataclasses.replace(self, names={**self.names, **names})

    def small(self, value: Value) -> Value:
        """The same value, shared if it is not cheap to repeat."""
        if value.expr is None:
            return Value(value.type, items=tuple(map(self.small, value.items)))
        if self.per_item:
            if any(True for _ in itertools.islice(walk(value.expr), _LARGEST_PER_ITEM, None)):
                refuse(None, "the code for each item is too large for one expression", "use flat_map and map")
            return value
        return Value(value.type, self.sharing.bind(value.expr, value.type, self.condition))

    def add_strict(self, value: Value) -> None:
        """Records that Python evaluates the value here, even if it is unused: if it fails, the result has to fail."""
        self.sharing.strict += self._failing(value)

    def note_evaluated(self, value: Value) -> None:
        """Records that the body of a `try` evaluates the value here, before what follows."""
        if self.trial is not None and not self.per_item:
            self.trial.evaluated.extend(self._failing(value))

    def _failing(self, value: Value) -> Iterator[StrictExpr]:
        leaves = ((leaf, type_) for leaf, type_ in _leaves(value) if self.sharing.may_raise(leaf))
        return (StrictExpr(self.condition, leaf, type_) for leaf, type_ in leaves)

    def enforce_strict(self, result: Value, since: int) -> Value:
        """The result, extended to evaluate the strict expressions that were recorded after the first `since`."""
        strict, self.sharing.strict[since:] = self.sharing.strict[since:], []
        if not self.per_item and any(map(has_variables, strict)):
            refuse(None, "an unused value of an item may fail", "remove it")
        return enforced(result, strict, self.sharing.entries) if strict else result

    def small_expr(self, expr: Expr, type_: Type) -> Expr:
        return pack(self.small(Value(type_, expr)))

    def lookup(self, node: ast.Name) -> Value | Known:
        """The value of a name: a local, a captured variable, a global or a builtin."""
        if node.id.startswith("__") and not node.id.endswith("__"):
            refuse(
                node, f"{node.id} is private to a class and has another name there", "use a name with one underscore"
            )
        if node.id in self.names:
            found = self.names[node.id]
            if found is None:
                refuse(
                    node, f"{node.id} is not set on every path to here", f"give {node.id} a value before the branches"
                )
            return found
        if node.id in self.set_here:
            return self.set_here[node.id]
        return known(self.outside(node))

    def outside(self, node: ast.Name) -> Any:
        """The object of a name that is not local: captured, global or builtin."""
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
            refuse(
                node, f"the captured variable {node.id} has no value yet", f"set {node.id} before the stream is made"
            )


def known(value: Any) -> Value | Known:
    """A Python object found while compiling, as a constant column if it can be one."""
    return constant(value) or Known(value)


def _leaves(value: Value) -> list[tuple[Expr, Type]]:
    if value.expr is not None:
        return [(value.expr, value.type)]
    return [leaf for item in value.items for leaf in _leaves(item)]

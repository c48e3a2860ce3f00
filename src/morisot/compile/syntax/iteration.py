"""The iterables of loops: lists, texts, ranges, dicts, sets, and zip, enumerate, map, filter and reversed of these."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from morisot.compile.exact import text_edges
from morisot.compile.exact.forms import call, checked, guard, integer, number
from morisot.compile.ir.expressions import Call, Each, Expr, Field, Literal, Struct, Variable
from morisot.compile.ir.values import NEVER, Known, expand, pack, when
from morisot.compile.syntax.calls import apply
from morisot.compile.syntax.lists import list_of, of_constants
from morisot.compile.syntax.scope import Scope, refuse
from morisot.compile.syntax.scope import known as from_object
from morisot.compile.syntax.translate import STAGE, expression, operand, shown, truth_of, usable
from morisot.compile.verdict import Value
from morisot.types.element import BOOL, INT, NONE, STR, Dict, List, Record, Tuple, Type

LAZY = frozenset({"map", "filter", "zip", "enumerate", "reversed"})
"""The names of functions that return iterators."""
ITEM = "<item>"
"""A name that no variable of a program has."""
_MOST_UNROLLED = 32
_LONGEST_RANGE = 1_000_000


@dataclass(frozen=True)
class Unrolled:
    """Items that are known individually: of a tuple, of a list display, of a short constant."""

    items: tuple[Value, ...]


@dataclass(frozen=True)
class Listed:
    """The items of a column that holds a list."""

    expr: Expr
    type: Type
    """The type of the items."""
    entries: bool = False
    """Whether the items are the entries of a map, with the fields key and value."""

    def item(self, scope: Scope) -> Value:
        """The current item of a loop in this scope."""
        here = Variable(variable(scope))
        if not self.entries:
            return expand(self.type, here)
        assert isinstance(self.type, Tuple)
        key, held = (
            expand(type_, Field(here, name)) for type_, name in zip(self.type.items, ("key", "value"), strict=True)
        )
        return Value(Tuple((key.type, held.type)), items=(key, held))


def variable(scope: Scope) -> str:
    """The name of the current item of a loop in this scope."""
    return f"v{scope.loops}"


def inside(scope: Scope) -> Scope:
    """The scope inside a loop."""
    return dataclasses.replace(scope.on_path(), per_item=True, loops=scope.loops + 1)


def source(node: ast.expr, scope: Scope) -> Unrolled | Listed:
    """The items that a `for` iterates over."""
    match node:
        case ast.GeneratorExp(element, loops):
            return source(ast.copy_location(ast.ListComp(element, loops), node), scope)
        case ast.Call(ast.Name() as name, arguments, []):
            found = expression(name, scope)
            rule = _LOOPED.get(found.object) if isinstance(found, Known) and isinstance(found.object, type) else None
            if rule is not None:
                items: Unrolled | Listed = rule(node, arguments, scope)
                return items
        case ast.Call(ast.Attribute(inner, "keys" | "values" | "items" as view), [], []):
            return _view(node, expression(inner, scope), view)
    return _of(node, expression(node, scope), scope)


def _of(node: ast.expr, found: Value | Known, scope: Scope) -> Unrolled | Listed:
    """The items of a value."""
    if isinstance(found, Known):
        members = list(found.object) if type(found.object) in (list, tuple, dict) else None
        if members is not None and len(members) <= _MOST_UNROLLED:
            return Unrolled(tuple(_constant(node, member) for member in members))
        whole = of_constants(members) if members is not None else None
        if whole is None:
            refuse(node, f"a loop over {shown(found.object)} has no column form", STAGE)
        found = whole
    found = usable(found, node)
    if isinstance(found.type, Tuple) or (isinstance(found.type, Record) and found.type.is_tuple):
        scope.add_strict(found)
        return Unrolled(found.items)
    written = scope.sharing.written_out(found.expr) if found.expr is not None else None
    if isinstance(written, Call) and written.name == "array" and len(written.arguments) <= _MOST_UNROLLED:
        assert isinstance(found.type, List)
        scope.add_strict(found)
        return Unrolled(tuple(expand(found.type.item, item) for item in written.arguments))
    whole = as_list(found, scope)
    if not isinstance(whole.type, List) or whole.type.item == NONE:
        refuse(node, f"a loop over {found.type} has no column form", STAGE)
    return Listed(pack(whole), whole.type.item)


def _constant(node: ast.AST, member: Any) -> Value:
    found = from_object(member)
    if isinstance(found, Known):
        refuse(node, f"a loop over {shown(member)} has no column form", STAGE)
    return found


def as_list(found: Value, scope: Scope) -> Value:
    """The items of a text or dict as a list; other values unchanged."""
    if found.type == STR:
        return Value(List(STR), text_edges.characters(pack(scope.small(found))))
    return Value(List(STR), Call("keys", (pack(found),))) if isinstance(found.type, Dict) else found


def as_listed(node: ast.AST, items: Unrolled | Listed) -> Listed:
    """The items in one column."""
    if isinstance(items, Listed) and not items.entries:
        return items
    if isinstance(items, Listed):
        here = Variable("entry")
        names = tuple(zip(("_0", "_1"), ("key", "value"), strict=True))
        pair = Struct(tuple(name for name, _ in names), tuple(Field(here, part) for _, part in names))
        return Listed(Each("transform", items.expr, here.name, pair), items.type)
    whole = list_of(node, items.items)
    assert isinstance(whole.type, List)
    if whole.type.item == NONE:
        refuse(node, "a loop over nothing has no column form", STAGE)
    return Listed(pack(whole), whole.type.item)


def _view(node: ast.expr, owner: Value | Known, view: str) -> Unrolled | Listed:
    if isinstance(owner, Known):
        if type(owner.object) is not dict or len(owner.object) > _MOST_UNROLLED:
            refuse(node, f"a loop over {shown(owner.object)}.{view}() has no column form", STAGE)
        return Unrolled(tuple(_constant(node, member) for member in getattr(owner.object, view)()))
    owner = usable(owner, node)
    if not isinstance(owner.type, Dict):
        refuse(node, f"the method {view} of {owner.type} has no column form", STAGE)
    if view == "items":
        return Listed(Call("entries", (pack(owner),)), Tuple((STR, owner.type.value)), entries=True)
    return Listed(Call(view, (pack(owner),)), STR if view == "keys" else owner.type.value)


# ---- functions that return iterators


def _range(node: ast.expr, nodes: list[ast.expr], scope: Scope) -> Unrolled | Listed:
    """`range(stop)`, `range(start, stop)`, `range(start, stop, step)` with a constant step."""
    arguments = [operand(one, scope) for one in nodes]
    if not 1 <= len(arguments) <= 3 or any(one.type != INT for one in arguments):
        refuse(node, "a range of other than ints has no column form", STAGE)
    bounds = [pack(scope.small(one)) for one in arguments]
    start, stop = (integer(0), bounds[0]) if len(bounds) == 1 else (bounds[0], bounds[1])
    step = 1 if len(bounds) < 3 else number(bounds[2])
    if not step:
        refuse(node, "a range whose step is not constant has no column form", STAGE)
    first, last_ = number(start), number(stop)
    if first is not None and last_ is not None and len(range(int(first), int(last_), int(step))) <= _MOST_UNROLLED:
        return Unrolled(tuple(Value(INT, integer(i)) for i in range(int(first), int(last_), int(step))))
    last = checked("subtract", stop, integer(1 if step > 0 else -1))
    empty = call("greater_equal" if step > 0 else "less_equal", start, stop)
    reach = integer(int(step) * _LONGEST_RANGE)
    short_enough = call("less" if step > 0 else "greater", stop, checked("add", start, reach))
    numbers = guard(short_enough, call("sequence", start, last, integer(int(step))), "a very long range")
    return Listed(when(empty, Literal((), List(INT)), numbers), INT)


def _zip(node: ast.expr, nodes: list[ast.expr], scope: Scope) -> Unrolled | Listed:
    """`zip` ends with the shortest list; Spark's arrays_zip ends with the longest."""
    sources = [source(one, scope) for one in nodes]
    if not sources:
        refuse(node, "zip of nothing has no column form", STAGE)
    if all(isinstance(one, Unrolled) for one in sources):
        columns = [one.items for one in sources if isinstance(one, Unrolled)]
        return Unrolled(tuple(_pair(items) for items in zip(*columns, strict=False)))
    lists = [_computed_once(as_listed(node, one), scope) for one in sources]
    sizes = [call("size", one.expr) for one in lists]
    shortest = sizes[0] if len(sizes) == 1 else Call("least", tuple(sizes))
    first = call("slice", lists[0].expr, integer(1), shortest)
    index = _index_name(scope)
    others = [dataclasses.replace(one, expr=call("get", one.expr, Variable(index))) for one in lists[1:]]
    parts = [lists[0].item(scope), *(_at(one) for one in others)]
    return _paired(first, parts, scope)


def _at(one: Listed) -> Value:
    """The value of a column that holds one item."""
    if not one.entries:
        return expand(one.type, one.expr)
    assert isinstance(one.type, Tuple)
    named = zip(one.type.items, ("key", "value"), strict=True)
    return _pair([expand(type_, Field(one.expr, name)) for type_, name in named])


def _computed_once(one: Listed, scope: Scope) -> Listed:
    """The list, computed once, because the body reads it for every item."""
    if one.entries:
        return one
    return dataclasses.replace(one, expr=scope.small_expr(one.expr, List(one.type)))


def _enumerate(node: ast.expr, nodes: list[ast.expr], scope: Scope) -> Unrolled | Listed:
    if len(nodes) not in (1, 2):
        refuse(node, "enumerate is not called with one or two arguments", STAGE)
    items = source(nodes[0], scope)
    start = operand(nodes[1], scope) if len(nodes) == 2 else Value(INT, integer(0))
    if start.type != INT:
        refuse(node, f"enumerate from {start.type} has no column form", STAGE)
    begin = pack(scope.small(start))
    if isinstance(items, Unrolled):
        counts = [Value(INT, _moved(begin, integer(index))) for index in range(len(items.items))]
        return Unrolled(tuple(_pair(pair) for pair in zip(counts, items.items, strict=True)))
    counted = Value(INT, _moved(begin, call("bigint", Variable(_index_name(scope)))))
    return _paired(items.expr, [counted, items.item(scope)], scope)


def _moved(start: Expr, index: Expr) -> Expr:
    first, second = number(start), number(index)
    if first is not None and second is not None:
        return integer(int(first) + int(second))
    return index if first == 0 else checked("add", start, index)


def _map(node: ast.expr, nodes: list[ast.expr], scope: Scope) -> Unrolled | Listed:
    if len(nodes) != 2:
        refuse(node, "map over several lists has no column form", "use a comprehension over zip")
    function, items = expression(nodes[0], scope), source(nodes[1], scope)
    if isinstance(function, Value):
        refuse(node, f"a value of type {function.type} is called", STAGE)
    if isinstance(items, Unrolled):
        return Unrolled(tuple(apply(node, function.object, [item], {}, scope) for item in items.items))
    inner, strict_before = inside(scope), len(scope.sharing.strict)
    made = inner.enforce_strict(apply(node, function.object, [items.item(scope)], {}, inner), strict_before)
    if made.type in (NONE, NEVER):
        refuse(node, "a list of None has no column form", STAGE)
    return Listed(Each("transform", items.expr, variable(scope), pack(made)), made.type)


def _filter(node: ast.expr, nodes: list[ast.expr], scope: Scope) -> Listed:
    if len(nodes) != 2:
        refuse(node, "filter is not called with a function and a list", STAGE)
    function, items = expression(nodes[0], scope), as_listed(nodes[1], source(nodes[1], scope))
    item, inner = items.item(scope), inside(scope)
    if isinstance(function, Value) and function.type != NONE:
        refuse(node, f"a value of type {function.type} is called", STAGE)
    strict_before = len(scope.sharing.strict)
    tested = item if isinstance(function, Value) else apply(node, function.object, [item], {}, inner)
    test = pack(inner.enforce_strict(Value(BOOL, truth_of(tested, node, inner)), strict_before))
    filtered = Each("filter", items.expr, variable(scope), test)
    return dataclasses.replace(items, expr=filtered)


def _reversed(node: ast.expr, nodes: list[ast.expr], scope: Scope) -> Unrolled | Listed:
    if len(nodes) != 1:
        refuse(node, "reversed is not called with one argument", STAGE)
    items = source(nodes[0], scope)
    if isinstance(items, Unrolled):
        return Unrolled(items.items[::-1])
    return dataclasses.replace(items, expr=Call("reverse_list", (items.expr,)))


def _index_name(scope: Scope) -> str:
    return f"i{scope.loops}"


def _pair(items: Sequence[Value]) -> Value:
    return Value(Tuple(tuple(item.type for item in items)), items=tuple(items))


def _paired(items: Expr, parts: Sequence[Value], scope: Scope) -> Listed:
    """A list of tuples, each built from an item and its index."""
    names = tuple(f"_{number}" for number in range(len(parts)))
    body = Struct(names, tuple(map(pack, parts)))
    return Listed(Each("transform", items, variable(scope), body, _index_name(scope)), _pair(parts).type)


_LOOPED: dict[Any, Any] = {
    range: _range,
    zip: _zip,
    enumerate: _enumerate,
    map: _map,
    filter: _filter,
    reversed: _reversed,
}

"""Dicts: displays, merges, and dicts made of pairs. Keys have insertion order, as in Python."""

from __future__ import annotations

import ast
from typing import Any

from morisot.compile.exact.forms import call, guard, integer
from morisot.compile.ir.expressions import Call, Each, Expr, Field, Literal, Struct, Variable
from morisot.compile.ir.values import TRUE, Known, constant, convert, expand, join_types, negate, pack, when
from morisot.compile.syntax.scope import Scope, refuse
from morisot.compile.syntax.translate import STAGE, translates, usable, value
from morisot.compile.table import rows
from morisot.compile.verdict import Value
from morisot.types.element import NONE, STR, Dict, List, Tuple, Type


@translates(ast.Dict)
def _dict(node: ast.Dict, scope: Scope) -> Value | Known:
    """`{"a": x, "b": y}` and `{**d, "a": x}`. The written keys have to be constants, so that duplicates are known."""
    constants = _all_constant(node)
    if constants is not None and not all(type(key) is str for key in constants):
        return Known(constants)  # a lookup table
    merged: Value | None = None
    found: dict[str, Value] = {}
    for key_node, value_node in zip(node.keys, node.values, strict=True):
        if key_node is None:
            merged, found = merge(node, _joined(node, merged, found, scope), value(value_node, scope), scope), {}
            continue
        known, key = rows.constant_of(value(key_node, scope))
        if not known or type(key) is not str or key in found:
            refuse(node, "a dict whose keys are not constant texts has no column form", STAGE)
        found[key] = value(value_node, scope)
    result = _joined(node, merged, found, scope)
    return result or refuse(node, "the type of the values of an empty dict is not known", STAGE)


def _all_constant(node: ast.Dict) -> dict[Any, Any] | None:
    """The dict, if it has only constants; None otherwise."""
    made = {}
    for key_node, value_node in zip(node.keys, node.values, strict=True):
        if not isinstance(key_node, ast.Constant) or not isinstance(value_node, ast.Constant):
            return None
        made[key_node.value] = value_node.value
    return made or None


def _joined(node: ast.AST, merged: Value | None, found: dict[str, Value], scope: Scope) -> Value | None:
    if not found:
        return merged
    type_ = next(iter(found.values())).type
    for one in found.values():
        type_ = _common(node, type_, one.type)
    if type_ == NONE:
        refuse(node, "a dict of None has no column form", STAGE)
    pairs = ((Literal(key, STR), pack(convert(one, type_))) for key, one in found.items())
    display = Value(Dict(type_), Call("map", tuple(part for pair in pairs for part in pair)))
    return display if merged is None else merge(node, merged, display, scope)


def _common(node: ast.AST, left: Type, right: Type) -> Type:
    joined = join_types(left, right)
    if joined is None:
        refuse(node, f"the dict has values of type {left} and {right}", "give all values one type")
    return joined


def as_dict(found: Value | Known) -> Value | None:
    """A captured dict of plain constants as a column; None for other values."""
    if isinstance(found, Value):
        return found if isinstance(found.type, Dict) else None
    if type(found.object) is not dict or not found.object or len(found.object) > 100:
        return None
    items = {key: constant(one) for key, one in found.object.items()}
    type_: Type | None = None
    for key, one in items.items():
        if type(key) is not str or one is None or one.expr is None:
            return None
        type_ = one.type if type_ is None else join_types(type_, one.type)
        if type_ is None or type_ == NONE:
            return None
    assert type_ is not None
    pairs = ((Literal(key, STR), pack(convert(one, type_))) for key, one in items.items() if one is not None)
    return Value(Dict(type_), Call("map", tuple(part for pair in pairs for part in pair)))


def merge(node: ast.AST, left: Value | None, right: Value | Known, scope: Scope) -> Value:
    """`left | right`: left's keys first, with right's values where right has the key, then right's other keys.

    Spark's map_concat fails on a key that both have.
    """
    merged = as_dict(right)
    if merged is None:
        refuse(node, "a dict is merged with something other than a dict of texts and values of one type", STAGE)
    merged = usable(merged, node)
    if left is None:
        return merged
    left = usable(left, node)
    assert isinstance(left.type, Dict)
    assert isinstance(merged.type, Dict)
    if left.type != merged.type:
        refuse(node, f"{left.type} is merged with {merged.type}", "give all values one type")
    a, b = pack(scope.small(left)), pack(scope.small(merged))
    key, old = Variable(f"k{scope.loops}"), Variable(f"o{scope.loops}")
    newer = when(call("has_key", b, key), call("value_at", b, key), old)
    updated = Each("transform_values", a, key.name, newer, old.name)
    added = Each("map_filter", b, key.name, negate(call("has_key", a, key)), old.name)
    return Value(left.type, call("map_concat", updated, added))


def of_pairs(node: ast.AST, pairs: Value, scope: Scope) -> Value:
    """`dict(pairs)`: a repeated key has its first position and its last value. Spark's function would fail."""
    if not isinstance(pairs.type, List):
        refuse(node, f"a dict of {pairs.type} has no column form", STAGE)
    item = pairs.type.item
    pairs = scope.small(pairs)
    here = Variable(f"v{scope.loops}")
    if item == List(STR):
        entry = Struct(("key", "value"), (call("get", here, integer(0)), call("get", here, integer(1))))
        two = call("equal", call("size", here), integer(2))
        whole: Expr = Each("forall", pack(pairs), here.name, two)
        type_: Type = STR
    elif isinstance(item, Tuple) and len(item.items) == 2 and item.items[0] == STR and item.items[1] != NONE:
        entry = Struct(("key", "value"), tuple(map(pack, expand(item, here).items)))
        whole, type_ = TRUE, item.items[1]
    else:
        refuse(node, f"a dict of {item} has no column form", STAGE)
    entries: Expr = Each("transform", pack(pairs), here.name, entry)
    keys = call("distinct", Each("transform", entries, here.name, Field(here, "key")))
    once = call("equal", call("size", keys), call("size", pack(pairs)))
    key, other = Variable(f"k{scope.loops}"), Variable(f"o{scope.loops}")
    its_own = Each("filter", call("reverse_list", entries), other.name, call("equal", Field(other, "key"), key))
    lasts = Each("transform", keys, key.name, Field(call("get", its_own, integer(0)), "value"))
    made = when(once, call("map_of_entries", entries), call("map_of_lists", keys, lasts))
    return Value(Dict(type_), guard(whole, made, "a pair of other than two"))

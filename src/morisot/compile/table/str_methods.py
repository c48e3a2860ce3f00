"""Methods of str that are not rows of the table: their result has parts, or an argument is a table."""

from __future__ import annotations

import ast

from morisot.compile.exact import text_edges, texts
from morisot.compile.exact.characters import WHITESPACE
from morisot.compile.exact.forms import call
from morisot.compile.ir.values import Known, pack, when
from morisot.compile.syntax import calls
from morisot.compile.syntax.scope import Scope, refuse
from morisot.compile.syntax.translate import STAGE, expression, value
from morisot.compile.table import rows
from morisot.compile.verdict import Value
from morisot.types.element import STR, Tuple


def _partition(node: ast.Call, owner: Value, scope: Scope) -> Value:
    assert isinstance(node.func, ast.Attribute)
    name = node.func.attr
    known, separator = rows.constant_of(value(node.args[0], scope)) if len(node.args) == 1 else (False, None)
    if not known or type(separator) is not str or not separator or node.keywords:
        refuse(node, f"str.{name} with a separator that is not constant has no column form", STAGE)
    parts = text_edges.partition(pack(scope.small(owner)), separator, last=name == "rpartition")
    return Value(Tuple((STR, STR, STR)), items=tuple(Value(STR, part) for part in parts))


def _stripped(node: ast.Call, owner: Value, scope: Scope) -> Value:
    """`s.strip()`. Removing spaces is fast. If both ends are visible ASCII characters then, nothing else is removed."""
    assert isinstance(node.func, ast.Attribute)
    name = node.func.attr
    known, characters = (True, None) if not node.args else rows.constant_of(value(node.args[0], scope))
    if not known or type(characters) not in (str, type(None)) or len(node.args) > 1 or node.keywords:
        refuse(node, f"str.{name} of characters that are not constant has no column form", STAGE)
    whole = pack(scope.small(owner))
    if characters is not None or scope.per_item:  # inside a comprehension values cannot be shared
        return Value(STR, texts.text_strip(name, whole, WHITESPACE if characters is None else characters))
    bare = scope.small_expr(call(texts.TRIMS[name], whole), STR)
    return Value(STR, when(texts.is_bare(name, bare), bare, texts.text_strip(name, whole, WHITESPACE)))


for _name in texts.TRIMS:
    calls.SPECIAL_METHODS[STR, _name] = _stripped


calls.SPECIAL_METHODS[STR, "partition"] = calls.SPECIAL_METHODS[STR, "rpartition"] = _partition


def _translate(node: ast.Call, owner: Value, scope: Scope) -> Value:
    """`s.translate(str.maketrans(…))`."""
    table = expression(node.args[0], scope) if len(node.args) == 1 and not node.keywords else None
    plain = isinstance(table, Known) and type(table.object) is dict and all(type(key) is int for key in table.object)
    made = text_edges.translated(pack(owner), table.object) if plain and isinstance(table, Known) else None
    if made is None:
        refuse(node, "str.translate with a table that is not of single characters has no column form", STAGE)
    return Value(STR, made)


calls.SPECIAL_METHODS[STR, "translate"] = _translate

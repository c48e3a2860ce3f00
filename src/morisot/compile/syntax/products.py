"""The parts of tuples: of a target that is unpacked, and of `*pair` in a call or a display."""

from __future__ import annotations

import ast
from typing import Any

from morisot.compile.ir.values import join_types
from morisot.compile.syntax.lists import list_of
from morisot.compile.syntax.scope import refuse
from morisot.compile.syntax.translate import STAGE
from morisot.compile.verdict import Value
from morisot.types.element import Record


def unpacked(node: ast.AST, targets: list[ast.expr], found: Value) -> list[tuple[Any, Value | None]]:
    """Each target with its value; None for the starred part of a tuple whose items have no common type."""
    stars = [index for index, target in enumerate(targets) if isinstance(target, ast.Starred)]
    if isinstance(found.type, Record) and not found.type.is_tuple:
        refuse(node, f"{found.type} is not a tuple and does not unpack", "read the fields by their names")
    more = len(found.items) - len(targets)
    if more < -1 if stars else more != 0:
        refuse(node, f"{found.type} does not unpack into {len(targets)} names", "give each item a name")
    if not stars:
        return list(zip(targets, found.items, strict=True))
    (star,) = stars
    rest = found.items[star : star + more + 1]
    type_ = rest[0].type if rest else None
    for item in rest[1:]:
        type_ = join_types(type_, item.type) if type_ is not None else None
    middle = list_of(node, rest) if type_ is not None else None
    before = list(zip(targets[:star], found.items[:star], strict=True))
    after = list(zip(targets[star + 1 :], found.items[star + more + 1 :], strict=True))
    starred = targets[star]
    assert isinstance(starred, ast.Starred)
    if middle is None and not isinstance(starred.value, ast.Name):
        refuse(node, f"{found.type} does not unpack into {ast.unparse(starred)}", STAGE)
    return [*before, (starred.value, middle), *after]

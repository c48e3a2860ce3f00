"""Methods and functions of dates that are not rows of the table."""

from __future__ import annotations

import ast
import calendar
import sys

from morisot.compile.exact import dates
from morisot.compile.exact.forms import call
from morisot.compile.ir.expressions import Expr
from morisot.compile.ir.values import DAY, pack
from morisot.compile.syntax import calls
from morisot.compile.syntax.scope import Scope, refuse
from morisot.compile.syntax.translate import STAGE, Arguments, Keywords, operand, usable
from morisot.compile.verdict import Value
from morisot.types.element import DATE, DATETIME, INT, Tuple

_DATE = ("year", "month", "day")
_TIME = (*_DATE, "hour", "minute", "second", "microsecond")


def _replaced(node: ast.Call, owner: Value, scope: Scope) -> Value:
    """`d.replace(day=1)`, `t.replace(minute=0, second=0)`."""
    names = _DATE if owner.type == DATE else _TIME
    owner = scope.small(owner)
    given = dict(zip(names, node.args, strict=False))
    for keyword in node.keywords:
        if keyword.arg is None or keyword.arg not in names or keyword.arg in given:
            refuse(node, f"replace({keyword.arg}=…) of {owner.type} has no column form", STAGE)
        given[keyword.arg] = keyword.value
    if len(node.args) > len(names) or any(isinstance(one, ast.Starred) for one in node.args):
        refuse(node, f"replace of {owner.type} gets too many arguments", STAGE)
    changed = {name: scope.small(operand(one, scope)) for name, one in given.items()}
    for name, one in changed.items():
        if one.type != INT:
            refuse(node, f"replace({name}=…) gets {one.type} and not an int", STAGE)
    parts: dict[str, Expr] = {name: call(name, pack(owner)) for name in names}
    parts |= {name: pack(one) for name, one in changed.items()}
    if owner.type == DATE:
        return Value(DATE, dates.date_replaced(parts))
    return Value(DATETIME, dates.time_replaced(pack(owner), parts, set(changed)))


for _type in (DATE, DATETIME):
    calls.SPECIAL_METHODS[_type, "replace"] = _replaced


@calls.special(calendar.monthrange)
def _month_range(node: ast.AST, arguments: Arguments, keywords: Keywords, scope: Scope) -> Value:
    given = calls.plain(node, calendar.monthrange, arguments, keywords, 2)
    year, month = (scope.small(usable(one, node)) for one in given)
    if (year.type, month.type) != (INT, INT):
        refuse(node, f"calendar.monthrange({year.type}, {month.type}) has no exact column form", STAGE)
    first, days = dates.month_range(pack(year), pack(month))
    weekday = Value(INT if sys.version_info < (3, 12) else DAY, first)
    return Value(Tuple((weekday.type, INT)), items=(weekday, Value(INT, days)))

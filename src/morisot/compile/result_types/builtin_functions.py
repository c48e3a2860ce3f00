"""The result types of builtins, and of functions over iterables."""

from __future__ import annotations

import ast
import collections
import functools
import heapq
import itertools
import math
import random
from collections.abc import Callable
from typing import Any

from morisot.compile.ir.values import NEVER, Known
from morisot.compile.result_types.domain import (
    INTS,
    NUMBERS,
    WIDE,
    Instance,
    Items,
    Mapping,
    is_plain,
    item_type,
    join,
    join_all,
    type_of,
)
from morisot.compile.result_types.operators import binary
from morisot.compile.result_types.rows import ResultRow, TypedCall, Unknown, fixed
from morisot.types.element import ANY, BOOL, BYTES, FLOAT, INT, NONE, STR, Decimal, List, Tuple, Type
from morisot.types.infer import without_none

_ROUNDS = 5
"""The most rounds until the type of an accumulator is stable."""


def _item(call: TypedCall, index: int = 0) -> Type:
    """The type of the items of an argument. Iterating over an object of another class runs its code."""
    if index >= len(call.types):
        raise Unknown
    found = item_type(call.types[index])
    if found == ANY and not isinstance(call.types[index], List | Items | Mapping | Tuple):
        raise Unknown
    return found


def _absolute(call: TypedCall) -> Type:
    type_ = without_none(call.types[0]) if call.types else ANY
    if type_ in INTS:
        return WIDE if type_ == WIDE else INT
    return type_ if type_ == FLOAT or (isinstance(type_, Instance) and type_.cls.__name__ == "timedelta") else ANY


def _rounded(call: TypedCall) -> Type:
    types = [*call.types, *(type_of(each) for each in call.keywords.values())]
    type_, digits = without_none(types[0]) if types else ANY, types[1] if len(types) > 1 else NONE
    if type_ in INTS:
        return WIDE if type_ == WIDE else INT
    if type_ != FLOAT or (digits != NONE and digits not in INTS):
        return ANY
    return INT if digits == NONE else FLOAT


def _whole(call: TypedCall) -> Type:
    """`int(…)`. Text in another base is often a digest of more than 64 bits."""
    if len(call.arguments) != 1:
        return INT if not call.arguments else WIDE
    return WIDE if without_none(call.types[0]) in (WIDE, BYTES) or _is_decimal(call.types[0]) else INT


def _is_decimal(type_: Type) -> bool:
    return isinstance(type_, Decimal | Instance)


def _integral(call: TypedCall) -> Type:
    """A function of ints that returns an int of their size."""
    return WIDE if WIDE in map(without_none, call.types) else INT


def _rounded_number(call: TypedCall) -> Type:
    """`math.floor` and its like."""
    return _integral(call) if all(without_none(each) in NUMBERS for each in call.types) else WIDE


def _division(call: TypedCall) -> Type:
    a, b = (*map(without_none, call.types), ANY, ANY)[:2]
    if not {a, b} <= NUMBERS:
        return ANY
    if FLOAT in (a, b):
        return Tuple((FLOAT, FLOAT))
    return Tuple((WIDE if a == WIDE else INT, WIDE if b == WIDE else INT))


def _power(call: TypedCall) -> Type:
    types = [without_none(each) for each in call.types]
    if len(types) == 3:
        return (WIDE if types[2] == WIDE else INT) if set(types) <= INTS else ANY
    return binary(ast.Pow(), *call.arguments) if len(types) == 2 else ANY


def _extreme(call: TypedCall) -> Type:
    """`min` and `max` return one of their arguments, or one of the items."""
    candidates = call.types if len(call.types) > 1 else [_item(call)]
    joined = join_all(candidates)
    _compared(call, joined)
    return join(joined, type_of(call.keywords["default"])) if "default" in call.keywords else joined


def _compared(call: TypedCall, item: Type) -> None:
    """Checks that comparing items, or their keys, runs no code of the user."""
    key = call.keywords.get("key", Known(None))
    compared = item if type_of(key) == NONE else call.call(key, [item])
    if not is_plain(compared):
        raise Unknown


def _sorted(call: TypedCall) -> Type:
    item = _item(call)
    _compared(call, item)
    return List(item)


def _total(call: TypedCall) -> Type:
    """`sum`. The sum of no items is the start, the int 0."""
    item = _item(call)
    start = type_of(call.keywords["start"]) if "start" in call.keywords else (*call.types, INT)[1]
    if len(call.types) == 1 and "start" not in call.keywords:
        start = INT
    if item in INTS and start in (INT, WIDE):
        return WIDE if WIDE in (item, start) else INT
    return FLOAT if start == FLOAT and item in NUMBERS else ANY


def _list(call: TypedCall) -> Type:
    return List(_item(call) if call.arguments else NEVER)


def _items_of(cls: type) -> Callable[[TypedCall], Type]:
    def rule(call: TypedCall) -> Type:
        return Items(cls, _item(call) if call.arguments else NEVER)

    return rule


def _tuple(call: TypedCall) -> Type:
    if call.arguments and isinstance(call.types[0], Tuple):
        return call.types[0]
    return Items(tuple, _item(call)) if call.arguments else Tuple(())


def _dict(call: TypedCall) -> Type:
    if len(call.types) == 1 and not call.keywords:
        given = without_none(call.types[0])
        if isinstance(given, Mapping):
            return Mapping(given.key, given.value)
        match _item(call):
            case Tuple((key, value)):
                return Mapping(key, value)
    raise Unknown


def _numbered(call: TypedCall) -> Type:
    return Items(object, Tuple((INT, _item(call))))


def _zipped(call: TypedCall) -> Type:
    return Items(object, Tuple(tuple(_item(call, index) for index in range(len(call.types)))))


def _mapped(call: TypedCall) -> Type:
    rows: list[Any] = [_item(call, index) for index in range(1, len(call.types))]
    return Items(object, call.call(call.arguments[0], rows)) if rows else ANY


def _filtered(call: TypedCall) -> Type:
    item = _item(call, 1)
    function = call.arguments[0]
    if isinstance(function, Known) and function.object is None:
        if not is_plain(item):
            raise Unknown
        return Items(object, without_none(item))
    if not is_plain(call.call(function, [item])):
        raise Unknown
    return Items(object, item)


def _kept(call: TypedCall) -> Type:
    """`takewhile` and `dropwhile`."""
    return _filtered(call)


def _next(call: TypedCall) -> Type:
    """The next item of an iterator, or the default."""
    match (*call.types, ANY)[0]:
        case Items(cls, item) if cls is object:
            return join_all([item, *call.types[1:2]])
    raise Unknown


def _reduced(call: TypedCall) -> Type:
    """`functools.reduce`: the type of the accumulator, once another round does not change it."""
    item = _item(call, 1)
    found = call.types[2] if len(call.types) > 2 else item
    for _ in range(_ROUNDS):
        wider = join(found, call.call(call.arguments[0], [found, item]))
        if wider == found:
            return found
        found = wider
    raise Unknown


def _chained(call: TypedCall) -> Type:
    return Items(object, join_all(_item(call, index) for index in range(len(call.types))))


def _flattened(call: TypedCall) -> Type:
    inner = item_type(_item(call))
    if inner == ANY:
        raise Unknown
    return Items(object, inner)


def _pairs(call: TypedCall) -> Type:
    return Items(object, Tuple((_item(call),) * 2))


def _products(call: TypedCall) -> Type:
    return _zipped(call)


def _combined(call: TypedCall) -> Type:
    size = call.constant(1)
    item = _item(call)
    return Items(object, Tuple((item,) * size)) if type(size) is int and 0 < size < 20 else Items(object, ANY)


def _chosen(call: TypedCall) -> Type:
    if not isinstance(without_none(call.types[0]), List | Tuple | Items) and without_none(call.types[0]) != STR:
        raise Unknown
    return _item(call)


def _sampled(call: TypedCall) -> Type:
    return List(_chosen(call))


def _most(call: TypedCall) -> Type:
    """`heapq.nlargest` and `nsmallest`."""
    return _sorted(TypedCall([call.arguments[1]], call.keywords, call.call)) if len(call.arguments) == 2 else ANY


def _counted(call: TypedCall) -> Type:
    """A Counter, which is read like a dict of ints."""
    counts_values = not call.arguments or isinstance(without_none(call.types[0]), Mapping)
    return ANY if counts_values else Mapping(_item(call), INT, collections.Counter)


def _text(call: TypedCall) -> Type:
    """`str(value)`. With an encoding it decodes bytes."""
    return STR if len(call.arguments) < 2 else ANY


FUNCTIONS: dict[Any, ResultRow] = {
    **fixed(INT, len, hash, id, ord, of_objects=True),
    **fixed(BOOL, bool, callable, isinstance, issubclass, any, all, hasattr, of_objects=True),
    **fixed(STR, repr, ascii, bin, hex, oct, chr, format),
    **fixed(FLOAT, float),
    **fixed(NONE, print, keywords="sep end flush file", of_objects=True),
    type: ResultRow(ANY, only_moves=True),
    **fixed(BYTES, bytes),
    str: ResultRow(_text),
    int: ResultRow(_whole),
    abs: ResultRow(_absolute),
    round: ResultRow(_rounded, frozenset({"ndigits"})),
    divmod: ResultRow(_division),
    pow: ResultRow(_power),
    min: ResultRow(_extreme, frozenset({"key", "default"}), only_moves=True),
    max: ResultRow(_extreme, frozenset({"key", "default"}), only_moves=True),
    sorted: ResultRow(_sorted, frozenset({"key", "reverse"}), only_moves=True),
    sum: ResultRow(_total, frozenset({"start"})),
    list: ResultRow(_list, only_moves=True),
    tuple: ResultRow(_tuple, only_moves=True),
    set: ResultRow(_items_of(set)),
    frozenset: ResultRow(_items_of(frozenset)),
    dict: ResultRow(_dict),
    enumerate: ResultRow(_numbered, frozenset({"start"}), only_moves=True),
    zip: ResultRow(_zipped, frozenset({"strict"}), only_moves=True),
    map: ResultRow(_mapped, only_moves=True),
    filter: ResultRow(_filtered, only_moves=True),
    reversed: ResultRow(_items_of(object), only_moves=True),
    iter: ResultRow(_items_of(object), only_moves=True),
    next: ResultRow(_next, only_moves=True),
    range: ResultRow(Items(range, INT)),
    functools.reduce: ResultRow(_reduced, only_moves=True),
    itertools.chain: ResultRow(_chained, only_moves=True),
    itertools.chain.from_iterable: ResultRow(_flattened, only_moves=True),
    itertools.islice: ResultRow(_items_of(object), only_moves=True),
    itertools.pairwise: ResultRow(_pairs, only_moves=True),
    itertools.product: ResultRow(_products, only_moves=True),
    itertools.combinations: ResultRow(_combined, only_moves=True),
    itertools.permutations: ResultRow(_combined, only_moves=True),
    itertools.takewhile: ResultRow(_kept, only_moves=True),
    itertools.dropwhile: ResultRow(_kept, only_moves=True),
    random.choice: ResultRow(_chosen, only_moves=True),
    random.sample: ResultRow(_sampled, only_moves=True),
    heapq.nlargest: ResultRow(_most, frozenset({"key"}), only_moves=True),
    heapq.nsmallest: ResultRow(_most, frozenset({"key"}), only_moves=True),
    collections.Counter: ResultRow(_counted),
    math.floor: ResultRow(_rounded_number),
    math.ceil: ResultRow(_rounded_number),
    math.trunc: ResultRow(_rounded_number),
    math.gcd: ResultRow(_integral),
    math.lcm: ResultRow(_integral),
    math.isqrt: ResultRow(_integral),
    random.randint: ResultRow(_integral),
    random.randrange: ResultRow(_integral),
}
"""The rows of builtins, and of functions whose result type depends on the arguments."""

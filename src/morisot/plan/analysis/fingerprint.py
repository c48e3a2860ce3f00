"""Descriptions of saved plans, with which a resumed program is compared."""

from __future__ import annotations

import difflib
import hashlib
import re
import sys
import types
from collections.abc import Mapping, Sequence
from typing import Any

from morisot.plan.analysis.graph import walk
from morisot.plan.nodes.closure import Closure, global_names
from morisot.plan.nodes.node import Node
from morisot.plan.nodes.rowwise import Rowwise
from morisot.plan.nodes.window import Window
from morisot.types.element import Dict, Keyed, List, Optional, Record, Tuple, Type

Description = dict[str, Any]
"""A description as JSON values."""

_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
_OWN = __name__.partition(".")[0]
_TYPES = 2
"""The number of the rules by which types are inferred. Descriptions without a number have the first ones.

By the second ones a filter excludes None, and more functions have a result type.
"""
_OR_NONE = re.compile(r"(?<=\w) \| None")
"""None besides a plain value. Besides a product it is not found, because a product that may be None is one column."""
_PLAIN = (int, float, complex, bool, str, bytes, type(None))


def describe(*roots: Node, **settings: int) -> Description:
    """The operators that lead to some nodes, inputs first, and the settings on which saved states depend."""
    return {
        "python": f"{sys.version_info.major}.{sys.version_info.minor}",
        "types": _TYPES,
        "settings": settings,
        "operators": [_operator(node) for node in walk(*roots)],
    }


def _operator(node: Node) -> Description:
    return {
        "operator": node.operator,
        "name": node.label,
        "line": str(node.location),
        "type": type_text(node.type),
        "state": _state(node),
        "rowwise": isinstance(node, Rowwise),
        "parameters": {name: _ADDRESS.sub("", repr(value)) for name, value in node.parameters.items()},
        "functions": {name: fingerprint(closure) for name, closure in node.closures},
    }


def type_text(type_: Type) -> str:
    """A type with the fields of its records, because the rows of all tables have the same class name.

    >>> from morisot.types.infer import row_type
    >>> from morisot.types.element import INT, STR
    >>> type_text(Keyed(STR, Optional(row_type([("a", INT)]))))
    'str → Row(a: int) | None'
    """
    match type_:
        case Optional(inner):
            return f"{type_text(inner)} | None"
        case List(item):
            return f"list[{type_text(item)}]"
        case Dict(value):
            return f"dict[str, {type_text(value)}]"
        case Tuple(items):
            return f"tuple[{', '.join(map(type_text, items))}]"
        case Keyed(key, value):
            return f"{type_text(key)} → {type_text(value)}"
        case Record():
            return f"{type_}({', '.join(f'{name}: {type_text(child)}' for name, child in type_.children)})"
        case _:
            return str(type_)


def _state(node: Node) -> str:
    """The content of the state of an operator, if its name does not determine it."""
    return ", ".join(measure.kind for measure in node.measures) if isinstance(node, Window) else ""


def differences(saved: Description, now: Description) -> list[str]:
    """The differences that prevent a program from resuming a saved one, as sentences.

    The function of an operator with a name may change if the type of its elements stays the same. A row-wise operator
    with a name may be added or removed. Everything else must be unchanged. If a program was saved with earlier rules
    for types, None besides plain values is ignored: states and columns are the same without it.
    """
    earlier = saved.get("types", 1) < _TYPES
    found = [
        f"{name} was {value} and is {now['settings'].get(name)}"
        for name, value in saved["settings"].items()
        if value != now["settings"].get(name)
    ]
    # another version of Python compiles the same function to other instructions
    with_functions = saved["python"] == now["python"]
    before, after = (_lasting(each) for each in (saved, now))
    was, is_ = ([_identity(each, with_functions, earlier) for each in operators] for operators in (before, after))
    for kind, i1, i2, j1, j2 in difflib.SequenceMatcher(None, was, is_, autojunk=False).get_opcodes():
        if kind != "equal":
            found.extend(_changes(before[i1:i2], after[j1:j2], earlier))
    return found


def _lasting(description: Description) -> list[Description]:
    """The operators that both programs must have."""
    return [each for each in description["operators"] if not (each["rowwise"] and each["name"])]


def _identity(operator: Description, with_functions: bool, earlier: bool) -> str:
    """The part of a description that must not change. `earlier`: the saved program had earlier rules for types."""
    parts = ["operator", "name", "state"]
    if not operator["name"]:
        parts += ["parameters", *(["functions"] if with_functions else [])]
    return repr([_compared_type(operator, earlier), *(operator[part] for part in parts)])


def _compared_type(operator: Description, earlier: bool) -> str:
    return _OR_NONE.sub("", operator["type"]) if earlier else operator["type"]


def _changes(before: Sequence[Description], after: Sequence[Description], earlier: bool) -> list[str]:
    sentences = [_change(old, new, earlier) for old, new in zip(before, after, strict=False)]
    both = len(sentences)
    sentences += [f"{_title(old)} is not there any more" for old in before[both:]]
    return sentences + [f"{_title(new)} is new" for new in after[both:]]


def _change(old: Description, new: Description, earlier: bool) -> str:
    if old["operator"] != new["operator"]:
        return f"{_title(old)} has become {_title(new)}"
    if old["name"] != new["name"]:
        return f"{_title(old)} is now called {new['name']!r}" if new["name"] else f"{_title(old)} has lost its name"
    if _compared_type(old, earlier) != _compared_type(new, earlier):
        inferred = " (this version of Morisot infers more types)" if earlier else ""
        return f"{_title(new)} gives {new['type']}, and gave {old['type']}{inferred}"
    if old["state"] != new["state"]:
        return f"{_title(new)} computes {new['state']}, and computed {old['state']}"
    for name, value in new["parameters"].items() | old["parameters"].items():
        if old["parameters"].get(name) != new["parameters"].get(name):
            was, is_ = (_shown(each["parameters"], name) for each in (old, new))
            return f"{_title(new)}: {name} was {was} and is {is_}" if value else f"{_title(new)}: {name} changed"
    changed = [name for name, found in new["functions"].items() if old["functions"].get(name) != found]
    return f"{_title(new)}: its {' and '.join(changed) or 'function'} changed"


def _shown(parameters: Mapping[str, str], name: str) -> str:
    return parameters.get(name, "not given")


def _title(operator: Description) -> str:
    name = f' "{operator["name"]}"' if operator["name"] else ""
    return f"{operator['operator']}{name} ({operator['line']})"


# -- functions ----------------------------------------------------------------------------------------------------


def fingerprint(closure: Closure) -> str:
    """A short text that changes when the function, the user's functions it calls, or plain values it captured do."""
    return hashlib.sha256(repr(_content_of(closure.function, set())).encode()).hexdigest()[:16]


def _content_of(function: Any, seen: set[int]) -> Any:
    if not isinstance(function, types.FunctionType):
        kind = type(function)
        where = getattr(function, "__module__", None) or kind.__module__
        name = getattr(function, "__qualname__", kind.__qualname__)
        return (_OWN, name.rpartition(".")[2]) if _is_own(where) else (where, name)
    if id(function.__code__) in seen:
        return function.__qualname__
    seen.add(id(function.__code__))
    if _is_own(function.__module__):  # Morisot's own code may change; the user's function is in the cells
        inside = [*(_content(cell) for cell in function.__closure__ or ()), *(function.__defaults__ or ())]
        return (_OWN, sorted(repr(_value_or_function(value, _OWN, seen)) for value in inside))
    captured = {name: function.__globals__.get(name) for name in sorted(global_names(function.__code__))}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        captured[name] = _content(cell)
    home = (function.__module__ or "").partition(".")[0]  # a function created by exec may have no module
    return (
        _code(function.__code__),
        _value(function.__defaults__),
        [(name, _value_or_function(value, home, seen)) for name, value in captured.items()],
    )


def _content(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # the variable has no value yet
        return None


def _value_or_function(value: Any, home: str, seen: set[int]) -> Any:
    """The fingerprints of functions of the same program. Those of libraries would change with every release.

    Functions that a Morisot function captured are the user's: it wraps the function that the user passed.
    """
    is_users = isinstance(value, types.FunctionType) and home in ((value.__module__ or "").partition(".")[0], _OWN)
    return _content_of(value, seen) if is_users else _value(value)


def _is_own(module: str | None) -> bool:
    return (module or "").partition(".")[0] == _OWN


def _value(value: Any) -> Any:
    """Plain values by their repr, others by their type, because their repr may contain a memory address."""
    if isinstance(value, _PLAIN):
        return repr(value)
    if isinstance(value, tuple | list):
        return [_value(each) for each in value]
    if isinstance(value, set | frozenset):
        return sorted(str(_value(each)) for each in value)
    if isinstance(value, dict):
        return [(str(_value(key)), _value(each)) for key, each in value.items()]
    return type(value).__qualname__


def _code(code: types.CodeType) -> Any:
    """The code of a function, independent of its location."""
    constants = [_code(each) if isinstance(each, types.CodeType) else _value(each) for each in code.co_consts]
    return (code.co_code.hex(), constants, code.co_names, code.co_varnames)

"""Record classes: which classes are records, and how a record is read and rebuilt without running user code."""

from __future__ import annotations

import dataclasses
import dis
import enum
import functools
import inspect
import itertools
import operator
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any

_HEAP_TYPE = 1 << 9
"""The flag of classes that are defined in Python. The state of other classes, such as exceptions, is not in fields."""
COLUMNS = "_morisot_columns"
"""The attribute of a class of rows that has the names of the columns."""
_TYPING = frozenset({"__orig_class__"})
"""What `Box[int](1)` stores in a record. It has no influence on the record."""


def is_record_class(cls: type) -> bool:
    """Whether instances are records: a NamedTuple, or a dataclass, that stores its fields and nothing else.

    An instance of any other class has the type `object` and is pickled.

    >>> @dataclasses.dataclass
    ... class Price:
    ...     text: str
    ...     def __post_init__(self):
    ...         self.cents = int(self.text.replace(".", ""))
    >>> is_record_class(Price)
    False
    """
    return (issubclass(cls, tuple) or dataclasses.is_dataclass(cls)) and _stores_only_fields(cls)


@functools.lru_cache(maxsize=1024)
def _stores_only_fields(cls: Any) -> bool:
    if issubclass(cls, enum.Enum):  # a member is one object
        return False
    if issubclass(cls, tuple):
        return bool(getattr(cls, "_fields", ())) and _reads_as(
            cls, tuple, "__getattribute__", "__getitem__", "__iter__"
        )
    return (
        bool(field_names(cls))
        and _reads_as(cls, object, "__getattribute__")
        and all(base is object or base.__flags__ & _HEAP_TYPE for base in cls.__mro__)
        and _slots(cls) <= set(field_names(cls))
        and all(_is_stored(cls, name) for name in field_names(cls))
        and not _stored_by_constructors(cls) - set(field_names(cls))
    )


def field_names(cls: type) -> tuple[str, ...]:
    """The names of a record class's fields, in order."""
    if issubclass(cls, tuple):
        return tuple(cls._fields)  # type: ignore[attr-defined]
    return tuple(field.name for field in dataclasses.fields(cls))  # type: ignore[arg-type]


def column_names(cls: type) -> tuple[str, ...]:
    """The names of the columns of a table for the fields of a record class, which may be no identifiers."""
    return getattr(cls, COLUMNS, None) or field_names(cls)


def is_generated(function: Any) -> bool:
    """Whether NamedTuple or dataclass generated the method. A method of a program without a file is not one of them."""
    code = getattr(function, "__code__", None)
    if code is None or not code.co_filename.startswith(("<string>", "<namedtuple", "namedtuple_")):
        return False
    of_tuple = str(function.__globals__.get("__name__", "")).startswith("namedtuple_")
    return of_tuple or code.co_qualname.startswith("__create_fn__.")


# -- what an instance stores ----------------------------------------------------------------------------------------


def _reads_as(cls: type, owner: type, *methods: str) -> bool:
    return all(getattr(cls, name) is getattr(owner, name) for name in methods)


def _is_stored(cls: type, name: str) -> bool:
    """Whether a field is in a slot or in the dict of the instance. A property computes it instead."""
    found = inspect.getattr_static(cls, name, None)
    return inspect.ismemberdescriptor(found) or not hasattr(type(found), "__set__")


def _slots(cls: type) -> set[str]:
    """The names of the slots of a class and its bases."""
    found: set[str] = set()
    for base in cls.__mro__:
        slots = base.__dict__.get("__slots__", ())
        found.update((slots,) if isinstance(slots, str) else slots)
    return found - {"__dict__", "__weakref__"}


def _stored_by_constructors(cls: type) -> set[str]:
    """The attributes that the user's `__init__`, `__new__` and `__post_init__` seem to store."""
    found: set[str] = set()
    seen: set[Any] = set()
    for name in ("__new__", "__init__", "__post_init__"):
        _add_stored(cls, name, found, seen)
    return found


def _add_stored(cls: type, name: str, found: set[str], seen: set[Any]) -> None:
    """Adds what all methods of a name store, and what the methods store that they call."""
    for base in cls.__mro__:
        method = base.__dict__.get(name)
        function = getattr(method, "__func__", method)
        if not isinstance(function, types.FunctionType) or function in seen or is_generated(function):
            continue
        seen.add(function)
        found |= _stored_by(function.__code__)
        for called in function.__code__.co_names:
            _add_stored(cls, called, found, seen)


def _stored_by(code: types.CodeType) -> set[str]:
    """The names of attributes in assignments, and in calls of `setattr` and `object.__setattr__`."""
    steps = list(dis.get_instructions(code))
    found = {step.argval for step in steps if step.opname == "STORE_ATTR"}
    names = set(code.co_names)
    if names & {"__dict__", "vars"}:
        found.add("__dict__")
    if names & {"setattr", "__setattr__"}:  # setattr(self, "name", …), super().__setattr__("name", …)
        before = ("__setattr__", *code.co_varnames[:1])
        pairs = [(first.argval, then.argval) for first, then in itertools.pairwise(steps)]
        found.update(
            then for first, then in pairs if first in before and isinstance(then, str) and then in code.co_consts
        )
    return found.union(*(_stored_by(inner) for inner in code.co_consts if isinstance(inner, types.CodeType)))


@functools.lru_cache(maxsize=1024)
def is_intact(cls: type) -> Callable[[Any], bool]:
    """A function that tests whether an instance stores all its fields and nothing else."""
    names = field_names(cls)
    if issubclass(cls, tuple):
        return _has_only(cls, frozenset())
    has_only, read = _has_only(cls, frozenset(names)), operator.attrgetter(*names)

    def test(value: Any) -> bool:
        try:
            read(value)
        except AttributeError:  # a field without a value
            return False
        return has_only(value)

    return test


def _has_only(cls: type, names: frozenset[str]) -> Callable[[Any], bool]:
    if not cls.__dictoffset__:
        return lambda _: True

    def test(value: Any) -> bool:
        others = vars(value).keys() - names - _TYPING
        return all(isinstance(inspect.getattr_static(cls, each, None), functools.cached_property) for each in others)

    return test


def attributes_without_field(value: Any) -> list[str]:
    """The attributes of a record that are no fields."""
    stored = getattr(value, "__dict__", {})
    return sorted(stored.keys() - set(field_names(type(value))) - _TYPING)


def quick_test(cls: type, value: str, names: dict[str, Any]) -> str:
    """A Python expression with the result of `is_intact`; it calls the function only for unusual instances."""
    test, stored = f"c{len(names)}", f"c{len(names) + 1}"
    names[test] = is_intact(cls)
    if issubclass(cls, tuple):
        names[stored] = None
        return f"(not {value}.__dict__ or {test}({value}))" if cls.__dictoffset__ else "True"
    if _slots(cls) or not cls.__dictoffset__:
        names[stored] = None
        return f"{test}({value})"
    names[stored] = set(field_names(cls))
    return f"({value}.__dict__.keys() == {stored} or {test}({value}))"


# -- reading and rebuilding -----------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=1024)
def first_not_intact(cls: type) -> Callable[[Sequence[Any]], Any]:
    """A function that finds the first instance that is not intact, or None."""
    names: dict[str, Any] = {}
    condition = quick_test(cls, "value", names)
    if condition == "True":
        return lambda _: None
    find: Callable[[Sequence[Any]], Any] = eval(
        f"lambda values: next((value for value in values if not {condition}), None)", names
    )
    return find


@functools.lru_cache(maxsize=1024)
def maker(cls: type) -> Callable[..., Any]:
    """A function that makes a record of the values of its fields, in order. No user code runs: fields are set directly.

    >>> @dataclasses.dataclass(kw_only=True)
    ... class Doubled:
    ...     n: int
    ...     def __post_init__(self):
    ...         self.n *= 2
    >>> maker(Doubled)(4)
    Doubled(n=4)
    """
    if issubclass(cls, tuple):
        return lambda *values: tuple.__new__(cls, values)
    names = field_names(cls)
    parameters = [f"p{index}" for index in range(len(names))]
    plain = cls.__setattr__ is object.__setattr__
    stores = [
        f"new.{name} = {parameter}" if plain else f"store(new, {name!r}, {parameter})"
        for name, parameter in zip(names, parameters, strict=True)
    ]
    lines = [f"def make({', '.join(parameters)}):", "new = blank(cls)", *stores, "return new"]
    made: dict[str, Any] = {"blank": object.__new__, "cls": cls, "store": object.__setattr__}
    exec("\n ".join(lines), made)
    make: Callable[..., Any] = made["make"]
    return make


def make_all(cls: Any, columns: Sequence[Sequence[Any]]) -> list[Any]:
    """The records of columns: one column for each field."""
    if issubclass(cls, tuple):
        rows: Iterator[tuple[Any, ...]] = zip(*columns, strict=True)
        return list(map(tuple.__new__, itertools.repeat(cls), rows))
    return list(map(maker(cls), *columns))

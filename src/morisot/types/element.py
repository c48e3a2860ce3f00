"""The types of elements, as values.

A type defines the Python values of elements, and their columns. A product type (tuple, record, keyed pair) that can
not be None has one column for each leaf, so that Spark reads, shuffles and caches only the leaves that are used.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Type:
    """The base class of all element types."""

    @property
    def children(self) -> tuple[tuple[str, Type], ...]:
        """The named parts that have columns of their own. Only products have any."""
        return ()


@dataclass(frozen=True)
class Scalar(Type):
    """A plain Python value: int (64 bit), float, bool, str, bytes, date, datetime (naive) or None."""

    name: str

    def __str__(self) -> str:
        return self.name


INT = Scalar("int")
FLOAT = Scalar("float")
BOOL = Scalar("bool")
STR = Scalar("str")
BYTES = Scalar("bytes")
DATE = Scalar("date")
DATETIME = Scalar("datetime")
NONE = Scalar("None")
ANY = Scalar("object")
"""Any Python object, which is pickled: the type of values without a known type."""

NUMBERS = frozenset({INT, FLOAT, BOOL})


@dataclass(frozen=True)
class Decimal(Type):
    """A decimal number of a table's column. It can be passed on; closures that read it are not compiled."""

    precision: int
    scale: int

    def __str__(self) -> str:
        return f"Decimal({self.precision}, {self.scale})"


@dataclass(frozen=True)
class Optional(Type):
    """A value of `inner`, or None."""

    inner: Type

    def __str__(self) -> str:
        return f"{self.inner} | None"


@dataclass(frozen=True)
class Tuple(Type):
    """A plain tuple with a type for each item."""

    items: tuple[Type, ...]

    @property
    def children(self) -> tuple[tuple[str, Type], ...]:
        return tuple((str(index), item) for index, item in enumerate(self.items))

    def __str__(self) -> str:
        return f"tuple[{', '.join(map(str, self.items))}]"


@dataclass(frozen=True)
class Record(Type):
    """A NamedTuple or dataclass: fields with names, read as attributes."""

    cls: type
    names: tuple[str, ...]
    items: tuple[Type, ...]

    @property
    def is_tuple(self) -> bool:
        return issubclass(self.cls, tuple)

    @property
    def children(self) -> tuple[tuple[str, Type], ...]:
        return tuple(zip(self.names, self.items, strict=True))

    def __str__(self) -> str:
        return self.cls.__name__


@dataclass(frozen=True)
class List(Type):
    """A list whose items have one type."""

    item: Type

    def __str__(self) -> str:
        return f"list[{self.item}]"


@dataclass(frozen=True)
class Dict(Type):
    """A dict with str keys whose values have one type."""

    value: Type

    def __str__(self) -> str:
        return f"dict[str, {self.value}]"


@dataclass(frozen=True)
class Keyed(Type):
    """The (key, value) pair of a keyed stream."""

    key: Type
    value: Type

    @property
    def children(self) -> tuple[tuple[str, Type], ...]:
        return (("key", self.key), ("value", self.value))

    def __str__(self) -> str:
        return f"{self.key} → {self.value}"


Product = Tuple | Record | Keyed


@dataclass(frozen=True)
class Leaf:
    """A part of an element that is one column."""

    path: tuple[int, ...]
    names: tuple[str, ...]
    type: Type

    @property
    def column(self) -> str:
        """The name of the column in every DataFrame. The separator is "/", because "." is syntax in Spark."""
        return "/".join(self.names)


def leaves(type_: Type, root: str = "value") -> tuple[Leaf, ...]:
    """The columns of an element of `type_`, in order.

    >>> [leaf.column for leaf in leaves(Keyed(STR, Tuple((INT, FLOAT))))]
    ['key', 'value/0', 'value/1']
    """
    names = () if isinstance(type_, Keyed) else (root,)
    return tuple(_leaves(type_, (), names))


def _leaves(type_: Type, path: tuple[int, ...], names: tuple[str, ...]) -> Iterator[Leaf]:
    if not type_.children:
        yield Leaf(path, names, type_)
    for index, (name, child) in enumerate(type_.children):
        yield from _leaves(child, (*path, index), (*names, name.replace(".", "·").replace("`", "'")))


def table_columns(type_: Type) -> list[tuple[str, tuple[int, ...], Type]]:
    """The columns of a table with elements of the type: name, path in the element, type.

    A record's names, `_0`, `_1`… for tuples, key and value, or value.

    >>> [name for name, _, _ in table_columns(Tuple((INT, STR)))]
    ['_0', '_1']
    """
    match type_:
        case Record() | Keyed():
            return [(name, (index,), child) for index, (name, child) in enumerate(type_.children)]
        case Tuple():
            return [(f"_{name}", (index,), child) for index, (name, child) in enumerate(type_.children)]
        case _:
            return [("value", (), type_)]


def is_hashable(type_: Type) -> bool:
    """Whether Python can hash values of the type. Lists and dicts cannot be hashed; `object` is assumed to be."""
    match type_:
        case List() | Dict():
            return False
        case Optional(inner):
            return is_hashable(inner)
        case Record(cls=cls) if getattr(cls, "__hash__", None) is None:
            return False  # a dataclass with == that is not frozen
        case _:
            return all(is_hashable(child) for _, child in type_.children)


def may_be_equal(left: Type, right: Type) -> bool:
    """Whether values of the two types can be equal: int, float and bool can."""
    if isinstance(left, Optional) and isinstance(right, Optional):
        return True
    left, right = (each.inner if isinstance(each, Optional) else each for each in (left, right))
    if left == right or ANY in (left, right):
        return True
    if all(each in NUMBERS or isinstance(each, Decimal) for each in (left, right)):
        return True
    if not all(isinstance(each, Tuple) or (isinstance(each, Record) and each.is_tuple) for each in (left, right)):
        return isinstance(left, Record) and isinstance(right, Record) and left.cls is right.cls
    pairs = list(zip(left.children, right.children, strict=False))
    return len(left.children) == len(right.children) and all(may_be_equal(a, b) for (_, a), (_, b) in pairs)


def contains_any(type_: Type) -> bool:
    """Whether some part of the type is pickled."""
    match type_:
        case Optional(inner) | List(inner) | Dict(inner):
            return contains_any(inner)
        case _:
            return type_ == ANY or any(contains_any(child) for _, child in type_.children)


def arguments(type_: Type) -> tuple[Type, ...]:
    """The types of the arguments of a row-wise function: (key, value) on a keyed stream, else the element."""
    return (type_.key, type_.value) if isinstance(type_, Keyed) else (type_,)


def key_of(type_: Type) -> Type:
    """The type of the keys; NONE for a stream without keys."""
    return type_.key if isinstance(type_, Keyed) else NONE


def with_value(type_: Type, value: Type) -> Type:
    """The type of a stream with other values. A keyed stream has the same keys."""
    return Keyed(type_.key, value) if isinstance(type_, Keyed) else value


def holds(type_: Type, part: Type) -> bool:
    """Whether a type contains `part`."""
    match type_:
        case Optional(inner) | List(inner) | Dict(inner):
            return holds(inner, part)
        case _:
            return type_ == part or any(holds(child, part) for _, child in type_.children)


def holds_dict(type_: Type) -> bool:
    """Whether a type contains a dict, which Spark neither sorts nor hashes."""
    match type_:
        case Optional(inner) | List(inner):
            return holds_dict(inner)
        case _:
            return isinstance(type_, Dict) or any(holds_dict(child) for _, child in type_.children)

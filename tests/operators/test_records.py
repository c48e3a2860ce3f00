"""Records of unusual classes on every engine: they come back as they were, and no user code runs on the way."""

from __future__ import annotations

import functools
import math
import pickle
from dataclasses import InitVar, dataclass, field
from pathlib import Path
from typing import Any, Generic, NamedTuple, Self, TypeVar

import pytest

import morisot as mo
from morisot.types.infer import of_value
from morisot.types.records import is_record_class
from morisot.worker.codec.batches import decode, encode
from morisot.worker.codec.fits import fitting
from tests.operators.engines import Runner

T = TypeVar("T")


@dataclass
class Post:
    n: int

    def __post_init__(self) -> None:
        self.n += 1


@dataclass
class Scaled:
    n: int
    by: InitVar[int] = 10

    def __post_init__(self, by: int) -> None:
        self.n *= by


@dataclass(kw_only=True)
class Kw:
    n: int
    name: str = "k"


@dataclass
class Mixed:
    name: str = field(kw_only=True)
    n: int


@dataclass(frozen=True, slots=True)
class Slots:
    n: int
    tags: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Total:
    price: float
    count: int
    total: float = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "total", self.price * self.count)


@dataclass
class Constant:
    n: int
    unit: str = field(init=False, default="m")


@dataclass
class Hidden:
    n: int

    def __post_init__(self) -> None:
        self._prepare()

    def _prepare(self) -> None:
        self.square = self.n**2


@dataclass(frozen=True)
class FrozenHidden:
    n: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "cents", self.n * 100)


@dataclass
class Own:
    n: int

    def __init__(self, text: str) -> None:
        self.n = int(text)


class _Pair(NamedTuple):
    low: int
    high: int


class Ordered(_Pair):
    def __new__(cls, a: int, b: int = 0) -> Self:
        return super().__new__(cls, min(a, b), max(a, b))


class Noted(_Pair):
    note: str


@dataclass
class Strict:
    n: int

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value + 1)


@dataclass
class Cached:
    n: int

    @functools.cached_property
    def square(self) -> int:
        return self.n**2


@dataclass
class Box(Generic[T]):
    item: T


@dataclass
class CodeError(Exception):
    code: int


@dataclass
class Empty:
    pass


def noted() -> Noted:
    pair = Noted(1, 2)
    pair.note = "low"
    return pair


VALUES: list[Any] = [
    Post(1), Scaled(2, 3), Scaled(4), Kw(n=1), Mixed(2, name="m"), Slots(1, ["a"]), Total(1.5, 3), Constant(4),
    Hidden(3), FrozenHidden(2), Own("7"), Ordered(9, 3), noted(), Strict(1), Box(1), Box[int](1), Empty(),
]  # fmt: skip
RECORDS = {Post, Scaled, Kw, Mixed, Slots, Total, Constant, Own, Ordered, Noted, Strict, Cached, Box}


def state(value: Any) -> Any:
    """All that a record stores. A default of the class is as good as its own."""
    stored = dict(getattr(value, "__dict__", {}))
    for name in ("__orig_class__", "unit"):
        stored.pop(name, None)
    return type(value), repr(value), stored


@pytest.mark.parametrize("cls", sorted({type(value) for value in VALUES} | {Cached, CodeError}, key=str))
def test_a_class_that_stores_more_than_its_fields_is_no_record(cls: type) -> None:
    assert is_record_class(cls) == (cls in RECORDS)


def opaque(value: Any) -> Any:
    """A function without a column form."""
    return value if math.sin(1) else None


def through(s: Any) -> Any:
    """Elements cross a shuffle between two passes in Python, as columns where they are records."""
    return s.map(opaque, returns=s.type).shuffle().map(opaque, returns=s.type)


def test_records_survive(runner: Runner) -> None:
    (found,) = runner.run(through, [tuple(VALUES)])
    assert [*map(state, found)] == [*map(state, VALUES)]


def last(_: Any, new: Any) -> Any:
    return opaque(new)


def test_records_survive_in_states(runner: Runner) -> None:
    made = [Post(1), Post(5)]
    found = runner.run(lambda s: s.key_by(lambda p: 0).reduce(last), made)
    assert found[-1] == (0, made[-1])


def test_closures_construct_as_python_does(runner: Runner) -> None:
    program = lambda s: s.map(  # noqa: E731
        lambda n: (
            Post(n),
            Scaled(n, 2),
            Kw(n=n),
            Mixed(n, name="m"),
            Total(0.5, n),
            Constant(n),
            Strict(n),
            Ordered(n),
        )
    )
    n = 3
    expected = (
        Post(n), Scaled(n, 2), Kw(n=n), Mixed(n, name="m"), Total(0.5, n), Constant(n), Strict(n), Ordered(n)
    )  # fmt: skip
    (found,) = runner.run(program, [n])
    assert [*map(state, found)] == [*map(state, expected)]


def test_a_keyword_only_field_is_not_given_by_position(runner: Runner) -> None:
    with pytest.raises(mo.ElementError, match="takes 1 positional argument but 2 were given"):
        runner.run(lambda s: s.map(lambda n: Kw(n)), [1])  # type: ignore[call-arg]


def test_an_attribute_that_is_no_field_is_not_lost(runner: Runner) -> None:
    def mark(k: Kw) -> Kw:
        k.seen = opaque(True)  # type: ignore[attr-defined]
        return k

    with pytest.raises(mo.ElementError, match="a Kw stores the attribute 'seen', which is not a field"):
        runner.run(lambda s: s.map(mark), [Kw(n=1)])


def test_a_constructor_without_a_file_is_the_users() -> None:
    names: dict[str, Any] = {"dataclass": dataclass}
    exec("@dataclass\nclass Own:\n n: int\n def __init__(self, n):\n  self.n = n + 1", names)
    ctx = mo.StreamContext(engine="reference")
    own = names["Own"]
    (form,) = [each for each in ctx.stream_iter([1]).map(lambda n: own(n)).forms() if each.operator == "map"]
    assert form.form == "stage"


def test_a_cached_property_may_be_computed_again() -> None:
    made = Cached(3)
    assert made.square == 9
    (column,) = encode([made], of_value(made), pickle.dumps)
    assert decode([column], of_value(made)) == [Cached(3)]
    assert fitting(of_value(made))(made)


def test_rows_of_files_are_constructed(ctx: mo.StreamContext, tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("price,count\n0.5,4\n")
    (tmp_path / "rows.json").write_text('{"n": 2, "by": 3}\n')
    assert ctx.stream_csv(tmp_path / "rows.csv", Total).map(lambda t: t.total).collect() == [2.0]
    assert ctx.stream_json(tmp_path / "rows.json", Scaled).collect() == [Scaled(2, 3)]


def test_a_record_inside_a_row_has_a_plain_constructor(tmp_path: Path) -> None:
    class Row(NamedTuple):
        post: Post

    Row.__annotations__["post"] = Post
    with pytest.raises(mo.PlanError, match="the constructor of Post does more than store its arguments"):
        mo.StreamContext(engine="reference").stream_json(tmp_path, Row)

"""Random record classes: an instance comes back from columns and from states as it was, or has the type `object`."""

from __future__ import annotations

import dataclasses
import pickle
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from morisot.compile.choose import verdict_of
from morisot.compile.verdict import ColumnForm
from morisot.errors import Location
from morisot.plan.nodes.closure import Closure
from morisot.types.element import ANY, INT, NONE, List, Scalar, holds
from morisot.types.infer import is_instance, of_value, of_values
from morisot.worker.codec.batches import decode, encode
from morisot.worker.codec.fits import fitting
from morisot.worker.codec.stored import form_of


def changed(self: Any, *_: Any) -> None:
    object.__setattr__(self, "a", self.a * 2 + 1)


def changed_by_setattr(self: Any, *_: Any) -> None:
    for each in dataclasses.fields(self):
        object.__setattr__(self, each.name, f"{getattr(self, each.name, 'unset')}!")


def stores_another(self: Any, *_: Any) -> None:
    object.__setattr__(self, "other", self.a)


@st.composite
def classes(draw: st.DrawFn) -> type:
    """A dataclass with random flags and fields."""
    flags = {name: draw(st.booleans()) for name in ("frozen", "slots", "kw_only", "order", "unsafe_hash")}
    init, kw_only = draw(st.booleans()), draw(st.sampled_from([dataclasses.MISSING, True]))
    fields: list[Any] = [
        ("a", int),
        ("b", str, dataclasses.field(default="b", init=init, kw_only=kw_only)),  # type: ignore[call-overload]
    ]
    if draw(st.booleans()):
        fields.append(("c", dataclasses.InitVar[int], 3))
    post = draw(st.sampled_from([None, changed, changed_by_setattr, *([] if flags["slots"] else [stores_another])]))
    return dataclasses.make_dataclass("Drawn", fields, namespace={"__post_init__": post} if post else {}, **flags)  # type: ignore[arg-type]


@settings(max_examples=60)
@given(classes(), st.integers(-9, 9))
def test_an_instance_comes_back_as_it_was(cls: type, n: int) -> None:
    made = cls(a=n)
    type_ = of_value(made)
    if hasattr(made, "other"):
        assert type_ == ANY
        return
    assert type_ != ANY
    assert fitting(type_)(made)
    (found,) = decode(encode([made], type_, pickle.dumps), type_)
    form = form_of(type_)
    assert form is not None
    for copy in (found, form.load(form.store(made))):
        assert (type(copy), repr(copy), copy == made) == (cls, repr(made), True)


def calls(cls: Any) -> list[Any]:
    return [
        lambda n: cls(n),
        lambda n: cls(n, "x"),
        lambda n: cls(a=n, b="x"),
        lambda n: cls(a=n),
        lambda n: cls(b="x", a=n),
        lambda n: cls(n, "x", 4),
    ]


@settings(max_examples=40)
@given(classes())
def test_a_constructor_with_a_column_form_only_stores_its_arguments(cls: type) -> None:
    for function in calls(cls):
        verdict = verdict_of(Closure(function, Location("test", 1), "map"), (INT,))
        if isinstance(verdict, ColumnForm):
            assert repr(function(1)) in ("Drawn(a=1, b='x')", "Drawn(a=1, b='b')")


def test_a_plain_constructor_has_a_column_form() -> None:
    cls = dataclasses.make_dataclass("Drawn", [("a", int), ("b", str)], kw_only=True)
    verdict = verdict_of(Closure(lambda n: cls(b="x", a=n), Location("test", 1), "map"), (INT,))
    assert isinstance(verdict, ColumnForm)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(allow_nan=False) | st.text(max_size=2),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text("ab", max_size=1), inner, max_size=2)
        | st.tuples(inner, inner)
    ),
    max_leaves=8,
)


@settings(max_examples=150)
@given(st.lists(VALUES, min_size=1, max_size=4))
def test_an_inferred_type_fits_all_values(values: list[Any]) -> None:
    type_ = of_values(values)
    assert not holds(type_, Scalar("nothing"))
    if type_ != NONE:
        assert all(map(fitting(type_), values))
        assert all(is_instance(value, type_) for value in values)
        other = of_value(values[0])
        assert [*map(fitting(other), values)] == [is_instance(value, other) for value in values]
        assert repr(decode(encode(values, type_, pickle.dumps), type_)) == repr(values)
    assert of_values([*values, *values]) == type_
    for value in values:
        if isinstance(value, list) and isinstance(type_, List):
            assert of_values([[], *values, []]) == type_

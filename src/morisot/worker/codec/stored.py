"""The stored form of states: builtins and Arrow, and no Morisot classes.

A pickle refers to classes by their modules. So a Morisot class in a state would tie every checkpoint to the module of
the class, and a record class of the user's script is another class in the next run. If the type of a value is known,
its stored form consists of tuples, and the type determines how to read them. Other values are pickled unchanged.

A machine may use any objects as its state. Its `Layout` converts them when a state is loaded and when it is stored.
"""

from __future__ import annotations

import functools
import operator
import pickle
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from morisot.errors import SnapshotError
from morisot.types.element import Dict, List, Optional, Record, Type
from morisot.types.records import maker
from morisot.worker.codec.batches import Dumps
from morisot.worker.codec.fits import fitting
from morisot.worker.codec.keys import is_its_own_identity

NOTHING = object
"""The state before the first element, if it is not a value. It is a class, because a class is pickled by reference."""
_LONGEST_HEAD = 100
"""The most bytes of the header of a state."""
_START_OVER = "resume with the version that wrote it, or start from scratch with restart=None"


class Form(NamedTuple):
    """Converts a value to its stored form and back. Values without a form are stored unchanged."""

    store: Callable[[Any], Any]
    load: Callable[[Any], Any]


class Layout(NamedTuple):
    """How the state of a machine is stored. A state with another format number stops the job before it is read."""

    kind: str
    format: int
    form: Form | None = None

    def unpacked(self, saved: bytes) -> tuple[Any, Any]:
        """The time up to which results were emitted, and the state: the inverse of `packed`."""
        end = saved.find(b"\n", 0, _LONGEST_HEAD)
        kind, _, number = saved[: max(end, 0)].rpartition(b" ")
        self.check(kind, number)
        ((seen, state),) = loaded([memoryview(saved)[end + 1 :]])
        return seen, state if self.form is None else self.form.load(state)

    def packed(self, seen: Any, state: Any, dumps: Dumps) -> bytes:
        """The state of a bucket as one binary value."""
        stored = state if self.form is None else self.form.store(state)
        return b"%s %d\n" % (self.kind.encode(), self.format) + pickled((seen, stored), dumps)

    @property
    def metadata(self) -> dict[bytes | str, bytes | str]:
        """The kind and format number, as metadata of a table of states."""
        return {b"kind": self.kind.encode(), b"format": b"%d" % self.format}

    def check_metadata(self, metadata: Mapping[bytes, bytes] | None) -> None:
        """Raises an error for a table of states of another layout."""
        found = metadata or {}
        self.check(found.get(b"kind", b""), found.get(b"format", b""))

    def check(self, kind: bytes, number: bytes) -> None:
        """Raises an error for a state of another layout."""
        if (kind, number) == (self.kind.encode(), b"%d" % self.format):
            return
        if not number.isdigit():
            said = "a state has no format number: it is damaged, or an earlier version of Morisot wrote it"
            raise SnapshotError(said, advice=_START_OVER)
        found = f"{kind.decode(errors='replace')!r} in the format {int(number)}"
        known = f"{self.kind!r} in the format {self.format}"
        raise SnapshotError(f"a state is {found}, and this version of Morisot reads {known}", advice=_START_OVER)


# -- pickles ----------------------------------------------------------------------------------------------------------


def pickled(value: Any, dumps: Dumps) -> bytes:
    """The pickle of a value. `pickle` is faster and is tried first; cloudpickle is used for values that it refuses."""
    try:
        return pickle.dumps(value)
    except Exception:  # a class or function that cannot be imported by name
        return dumps(value)


def all_pickled(values: Sequence[Any], dumps: Dumps) -> list[bytes]:
    """The pickle of each value."""
    try:
        return [*map(pickle.dumps, values)]
    except Exception:
        return [pickled(value, dumps) for value in values]


def loaded(packed: Iterable[bytes | memoryview]) -> list[Any]:
    """The unpickled values. Raises `SnapshotError` if the program has no such class any more."""
    try:
        return [*map(pickle.loads, packed)]
    except Exception as error:
        raise SnapshotError(
            f"a state cannot be read by this program: {type(error).__name__}: {error}",
            advice="run the program that made the snapshot, or start from scratch with restart=None",
        ) from error


# -- forms ------------------------------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=256)
def form_of(type_: Type) -> Form | None:
    """The form of values that have exactly this type, as elements do."""
    match type_:
        case Optional(inner):
            return or_none(form_of(inner))
        case List(item):
            return each(form_of(item))
        case Dict(value):
            return of_values(form_of(value))
        case Record():
            return _of_record(type_)
        case _:
            return of_parts([form_of(child) for _, child in type_.children])


@functools.lru_cache(maxsize=256)
def loose_form_of(type_: Type) -> Form | None:
    """The form of results of users' functions, which should have this type and may not."""
    form = form_of(type_)
    if form is None:
        return None
    fits = fitting(type_)
    store, load = form

    def store_if_it_fits(value: Any) -> tuple[bool, Any]:
        return (True, store(value)) if fits(value) else (False, value)

    return Form(store_if_it_fits, lambda stored: load(stored[1]) if stored[0] else stored[1])


def form_of_identities(key: Type) -> Form | None:
    """The form of the identities of keys: the keys themselves, or their canonical bytes."""
    return form_of(key) if is_its_own_identity(key) else None


def _of_record(type_: Record) -> Form:
    inner = of_parts([form_of(item) for item in type_.items])
    make, fields = maker(type_.cls), tuple if type_.is_tuple else _fields(type_.names)
    if inner is None:
        return Form(fields, lambda stored: make(*stored))
    return Form(lambda value: inner.store(fields(value)), lambda stored: make(*inner.load(stored)))


def _fields(names: Sequence[str]) -> Callable[[Any], Any]:
    if len(names) > 1:
        return operator.attrgetter(*names)
    return lambda value: tuple(getattr(value, name) for name in names)


def or_none(form: Form | None) -> Form | None:
    """The form of values that may be None."""
    if form is None:
        return None
    store, load = form
    return Form(
        lambda value: None if value is None else store(value), lambda stored: None if stored is None else load(stored)
    )


def each(form: Form | None) -> Form | None:
    """The form of lists whose items have a form."""
    if form is None:
        return None
    store, load = form
    return Form(lambda values: [*map(store, values)], lambda stored: [*map(load, stored)])


def of_values(form: Form | None) -> Form | None:
    """The form of dicts whose values have a form."""
    if form is None:
        return None
    store, load = form
    return Form(
        lambda values: {key: store(value) for key, value in values.items()},
        lambda stored: {key: load(value) for key, value in stored.items()},
    )


def of_items(keys: Form | None, values: Form | None) -> Form | None:
    """The form of dicts whose keys and values may have forms."""
    if keys is None:
        return of_values(values)
    store_key, load_key = keys
    store, load = values or PLAIN
    return Form(
        lambda found: {store_key(key): store(value) for key, value in found.items()},
        lambda stored: {load_key(key): load(value) for key, value in stored.items()},
    )


def of_parts(forms: Sequence[Form | None]) -> Form | None:
    """The form of tuples whose parts may have forms."""
    if all(form is None for form in forms):
        return None
    stores, loads = zip(*(form or PLAIN for form in forms), strict=True)
    return Form(
        lambda parts: tuple(store(part) for store, part in zip(stores, parts, strict=True)),
        lambda stored: tuple(load(part) for load, part in zip(loads, stored, strict=True)),
    )


def of_list(forms: Sequence[Form | None]) -> Form | None:
    """The form of lists of a fixed length whose parts may have forms."""
    form = of_parts(forms)
    return None if form is None else Form(form.store, lambda stored: list(form.load(stored)))


def if_any(form: Form | None) -> Form | None:
    """The form of values that are NOTHING before the first element."""
    if form is None:
        return None
    store, load = form
    return Form(
        lambda held: None if held is NOTHING else (store(held),),
        lambda stored: NOTHING if stored is None else load(stored[0]),
    )


def _itself(value: Any) -> Any:
    return value


PLAIN = Form(_itself, _itself)
"""The form of values that are stored unchanged, where a form is required."""

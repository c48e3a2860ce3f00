"""Kernels in machine code: every row that a kernel does itself, against CPython."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from morisot.types.element import BOOL, FLOAT, INT, List, Record, Type, leaves
from morisot.worker.rowwise.kernels import Kernel, compiled, loop_source
from tests.properties.proof.outcomes import FAILED, by_python
from tests.properties.proof.pages import Case

_DTYPES: dict[Type, Any] = {INT: np.int64, FLOAT: np.float64, BOOL: np.bool_}
_PATIENCE = 0.2
"""Seconds of CPython for one row: its ints may grow without limit where a kernel fails at once."""


def done(kernel: Kernel, types: Sequence[Type], rows: Sequence[tuple[Any, ...]]) -> list[Any]:
    """What the kernel makes of the rows; FAILED where it gives a row back to Python."""
    places = [(number, leaf.path, leaf.type) for number, type_ in enumerate(types) for leaf in leaves(type_)]
    used = [next(one for one in places if one[:2] == place) for place in kernel.inputs]
    outputs = [leaf.type for leaf in leaves(kernel.type)]
    names = [f"r{place}" for place in range(len(outputs))]
    given = ", ".join(_passed(place, type_) for place, (_, _, type_) in enumerate(used))
    lines = [
        f"({', '.join(['done', *names])},) = kernel0({given})",
        "if not done:",
        "    status[i] = 2",
        "    continue",
    ]
    lines += [f"o{place}[i] = {name}" for place, name in enumerate(names)]
    arrays = [name for place, (_, _, type_) in enumerate(used) for name in _arrays(place, type_)]
    arrays += [f"o{place}" for place in range(len(outputs))]
    text = loop_source(lines, arrays)
    code = compiled((kernel.source,), text, tuple(type_ for _, _, type_ in used), tuple(outputs))
    assert code is not None, "this process cannot run kernels"
    inputs = [
        array for number, path, type_ in used for array in _column([_leaf(row[number], path) for row in rows], type_)
    ]
    results = [np.zeros(len(rows), _DTYPES[type_]) for type_ in outputs]
    status = np.zeros(len(rows), np.int16)
    code(len(rows), status, *inputs, *results)
    columns = [result.tolist() for result in results]
    return [
        _built(kernel.type, iter([column[i] for column in columns])) if status[i] == 1 else FAILED
        for i in range(len(rows))
    ]


def _passed(place: int, type_: Type) -> str:
    """The arguments of the kernel for a column: a number, or the items of all lists and two offsets."""
    items, *offsets = _arrays(place, type_)
    return f"{items}, {offsets[0]}[i], {offsets[0]}[i + 1]" if offsets else f"{items}[i]"


def _arrays(place: int, type_: Type) -> list[str]:
    return [f"a{place}_items", f"a{place}_offsets"] if isinstance(type_, List) else [f"a{place}"]


def _column(values: list[Any], type_: Type) -> list[Any]:
    if not isinstance(type_, List):
        return [np.array(values, _DTYPES[type_])]
    items = np.array([item for value in values for item in value], _DTYPES[type_.item])
    return [items, np.cumsum([0, *map(len, values)]).astype(np.int64)]


def _leaf(value: Any, path: tuple[int, ...]) -> Any:
    for place in path:
        value = value[place]
    return value


def _built(type_: Type, parts: Iterator[Any]) -> Any:
    if not type_.children:
        return next(parts)
    items = [_built(child, parts) for _, child in type_.children]
    return type_.cls(*items) if isinstance(type_, Record) else tuple(items)


class TooSlow(BaseException):
    """CPython takes too long; a BaseException so that nothing between catches it."""


def by_patient_python(case: Case, row: tuple[Any, ...]) -> Any:
    """CPython's outcome; None where it takes too long to know."""
    try:
        with _limited(_PATIENCE):
            return by_python(case.function, row)
    except TooSlow:
        return None


@contextmanager
def _limited(seconds: float) -> Iterator[None]:
    """Virtual time, so that a real alarm, as pytest's, is not touched."""

    def stop(*_: Any) -> None:
        raise TooSlow

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)

"""How each section of a loop runs, by the values that names have when the loop begins."""

from __future__ import annotations

import datetime
import decimal
import fractions
import functools
import pickle
import re
import types
import uuid
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import Any, Literal

from morisot.annotations.syntax.sections import AnalysedLoop, Section
from morisot.annotations.syntax.uses import READING

Mode = Literal["row", "fold", "driver"]

_PLAIN = (
    int, float, complex, bool, str, bytes, type(None), type(...), range, slice, datetime.date, datetime.time,
    datetime.timedelta, datetime.tzinfo, decimal.Decimal, fractions.Fraction, Enum, re.Pattern, uuid.UUID,
)  # fmt: skip
_CODE = (types.FunctionType, types.ModuleType, type, types.BuiltinFunctionType, types.MethodDescriptorType)
_CONTAINERS = (list, dict, set, tuple, frozenset)
_COUNTED = 1000
"""The most items of a container whose own items are tested."""


class Values:
    """The values of the names that a section uses from around it."""

    def __init__(self, loop: AnalysedLoop, cells: Mapping[str, types.CellType], names: Mapping[str, Any]) -> None:
        self._outer = loop.outer
        self._cells = cells
        self._globals = names

    def may_be_changed(self, section: Section) -> list[str]:
        """The names whose object the statements may change, although they set no name."""
        uses, local = section.uses, set(section.flow.sets) - set(section.keeps)
        names = {*uses.called, *uses.passed} - local - set(section.inputs)
        return [name for name in sorted(names) if self._is_mutable(name, uses.called.get(name, set()), uses.passed)]

    def _is_mutable(self, name: str, methods: Iterable[str], passed: Iterable[str]) -> bool:
        if name in self._outer:
            cell = self._cells.get(name)
            if cell is None or cell == types.CellType():
                return False
            value = cell.cell_contents
        elif name in self._globals:
            value = self._globals[name]
        else:
            return False
        return not is_constant(value, only_read=name not in passed and all(each in READING for each in methods))


def is_constant(value: Any, *, only_read: bool = False) -> bool:
    """Whether no statement can change the object; those of plain containers are not changed by reading."""
    if isinstance(value, _PLAIN):
        return True
    if isinstance(value, types.BuiltinFunctionType):
        return value.__self__ is None or isinstance(value.__self__, types.ModuleType | type)
    if isinstance(value, types.MethodType):
        return is_constant(value.__self__)
    if isinstance(value, functools.partial):
        return is_constant(value.func) and all(map(is_constant, (*value.args, *value.keywords.values())))
    if isinstance(value, _CODE):
        return True
    if type(value) in _CONTAINERS and (only_read or isinstance(value, tuple | frozenset)):
        items = [*value, *value.values()] if isinstance(value, dict) else value
        small = len(items) <= 2 * _COUNTED
        return all(is_constant(each) if small else isinstance(each, _PLAIN) for each in items)
    return False


def mode_of(loop: AnalysedLoop, section: Section, arguments: Mapping[str, Any], values: Values) -> Mode:
    """How a stage runs: on Spark row by row, on Spark as a fold, or in the driver, in order."""
    if arguments.get("replicate") is not None:
        return "row"
    assert section.block is not None
    if section.block.events or section.uses.effects is not None or values.may_be_changed(section):
        return "driver"
    if section.keeps:
        return "fold" if section is loop.sections[-1] and _is_fold(section, values) else "driver"
    return "row" if section.outputs else "driver"


def _is_fold(section: Section, values: Values) -> bool:
    """Whether the stage only sets names that have plain values."""
    if not all(name in section.flow.sets for name in section.keeps):
        return False
    cells = [values._cells[name] for name in section.keeps]
    return all(cell != types.CellType() and isinstance(cell.cell_contents, _PLAIN) for cell in cells)


def head_runs_in_driver(loop: AnalysedLoop, items: Any, values: Values) -> bool:
    """Whether the head must run in the user's process: it reads for itself, ends the loop, or has effects."""
    head = loop.head
    if loop.head_breaks or loop.head_updates or head.uses.effects is not None:
        return True
    uses = head.uses
    if any(name in loop.outer for name in (*uses.assigned, *uses.changed)) or values.may_be_changed(head):
        return True
    return not (isinstance(items, range) or type(items) in (*_CONTAINERS, str, bytes))


def is_picklable(value: Any) -> bool:
    try:
        pickle.dumps(value)
    except Exception:  # objects raise anything
        return False
    return True


def segments(modes: Sequence[Mode]) -> list[tuple[list[int], list[int]]]:
    """Runs of stages on Spark, each with the stages in the driver that follow it."""
    found: list[tuple[list[int], list[int]]] = [([], [])]
    for number, mode in enumerate(modes):
        rows, in_driver = found[-1]
        if mode == "driver":
            in_driver.append(number)
        elif in_driver:
            found.append(([number], []))
        else:
            rows.append(number)
    return found

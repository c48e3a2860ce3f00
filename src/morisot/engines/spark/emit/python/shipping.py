"""Pickles of the tasks of a job: large captured values are pickled once, and what cannot be pickled is imported."""

from __future__ import annotations

import contextlib
import datetime
import decimal
import functools
import importlib.util
import io
import pickle
import sys
import types
import uuid
from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from pyspark import SparkContext, cloudpickle
from pyspark.sql import SparkSession

from morisot.engines.spark.internals.sessions import is_classic
from morisot.installed import is_users
from morisot.plan.nodes.closure import Closure
from morisot.worker.shipped import LargeValue, ShippedTask

LARGE = 1 << 20
"""The bytes of a pickle from which on a value is sent separately."""
_PROTOCOL = 5
_ONLY_IN_PROGRAM = frozenset({"StreamContext", "Stream", "KeyedStream", "SparkSession", "SparkContext"})
_IMMUTABLE = frozenset(
    {int, float, complex, bool, str, bytes, type(None), datetime.date, datetime.datetime, datetime.timedelta}
    | {datetime.time, decimal.Decimal, uuid.UUID}
)
_FLAT = (dict, list, set, frozenset, tuple, str, bytes)


class Shipping:
    """The pickles of one job."""

    def __init__(self, spark: SparkSession | None = None) -> None:
        self._spark = spark if is_classic(spark) else None
        self._large: dict[int, tuple[LargeValue, Any]] = {}
        """The large values by identity. A reference to each is retained."""
        self._imported: dict[int, tuple[str, str, Any]] = {}
        """Objects of the user's modules that cannot be pickled, by identity, with the name of the module and theirs."""

    def share_large(self, closure: Closure) -> None:
        """Pickles the large values that a function captured, unless another function of the job captured them, too."""
        if self._spark is None:
            return
        for value in captured_values(closure.function):
            if id(value) not in self._large and type(value) not in (int, float, bool, type(None), types.ModuleType):
                self._share(value)

    def _share(self, value: Any) -> None:
        assert self._spark is not None
        if isinstance(value, types.FunctionType | type) or (isinstance(value, str | bytes) and len(value) < LARGE):
            return
        flat = _is_flat(value)
        used: list[LargeValue] = []
        try:
            pickled = pickle.dumps(value, _PROTOCOL) if flat else self._dumps(value, used)
        except Exception:  # the pickle of the function reports it
            return
        if len(pickled) >= LARGE and not used:
            held = self._spark.sparkContext.broadcast(pickled)
            self._large[id(value)] = LargeValue(uuid.uuid4().hex, held, flat), value

    def ship(self, task: Any, *, separately: bool = True) -> ShippedTask:
        """The task as workers get it. Raises an exception if it cannot be pickled."""
        used: list[LargeValue] = []
        pickled = self.dumps(task, used if separately else None)
        return ShippedTask(pickled, tuple(used), self._path())

    def dumps(self, value: Any, used: list[LargeValue] | None = None) -> bytes:
        """The pickle of a value. Objects of the user's modules that cannot be pickled are imported by the workers."""
        try:
            return self._dumps(value, used)
        except Exception:
            if not self._import_more():
                raise
        if used is not None:
            used.clear()
        return self._dumps(value, used)

    def _dumps(self, value: Any, used: list[LargeValue] | None = None) -> bytes:
        file = io.BytesIO()
        _Pickler(file, self._large if used is not None else {}, self._imported, used).dump(value)  # type: ignore[no-untyped-call]
        return file.getvalue()

    def _import_more(self) -> bool:
        """Whether workers can import objects that cannot be pickled, and that were not known before."""
        before = len(self._imported)
        if self._is_local:
            for name in cloudpickle.list_registry_pickle_by_value():  # type: ignore[no-untyped-call]
                module = sys.modules.get(name)
                if module is not None and is_users(module) and _is_importable(module):
                    for attribute, value in list(vars(module).items()):
                        if not attribute.startswith("__") and self._is_unpicklable(value):
                            self._imported[id(value)] = name, attribute, value
        return len(self._imported) > before

    def _is_unpicklable(self, value: Any) -> bool:
        if isinstance(value, types.FunctionType | types.ModuleType | type) or id(value) in self._imported:
            return False
        try:
            self._dumps(value)
        except Exception:
            return True
        return False

    @functools.cached_property
    def _is_local(self) -> bool:
        """Whether workers run on this machine, and read the same files."""
        return self._spark is not None and (self._spark.sparkContext.master or "").startswith("local")

    def _path(self) -> tuple[str, ...]:
        return tuple(str(Path(entry).absolute()) for entry in sys.path) if self._is_local else ()


class _Pickler(cloudpickle.Pickler):
    """Refers to values outside the pickle."""

    def __init__(
        self,
        file: io.BytesIO,
        large: dict[int, tuple[LargeValue, Any]],
        imported: dict[int, tuple[str, str, Any]],
        used: list[LargeValue] | None,
    ) -> None:
        super().__init__(file)  # type: ignore[no-untyped-call]
        self._large_values, self._imported, self._used = large, imported, used

    def persistent_id(self, value: Any) -> tuple[Any, ...] | None:
        if id(value) in self._large_values and self._used is not None:
            found = self._large_values[id(value)][0]
            if found not in self._used:
                self._used.append(found)
            return "large", self._used.index(found)
        if id(value) in self._imported:
            return ("imported", *self._imported[id(value)][:2])
        if is_only_in_program(value):
            return "program", type(value).__name__
        return None


def is_only_in_program(value: Any) -> bool:
    """Whether it is a context, a stream or a session. A function may refer to a class whose methods use one."""
    cls = type(value)
    if cls.__name__ not in _ONLY_IN_PROGRAM:
        return False
    return cls.__module__.partition(".")[0] in ("morisot", "pyspark") or isinstance(value, SparkContext)


def captured_values(function: Any) -> Iterator[Any]:
    """The values that a function captured: variables, defaults, arguments of a partial, and those of its object."""
    if isinstance(function, functools.partial):
        yield from (*function.args, *function.keywords.values())
        yield from captured_values(function.func)
    elif isinstance(function, types.MethodType):
        yield from (*vars_of(function.__self__), function.__self__)
    elif isinstance(function, types.FunctionType):
        names = [value for name, value in function.__globals__.items() if not name.startswith("__")]
        cells = [cell.cell_contents for cell in function.__closure__ or () if cell != types.CellType()]
        for value in (*names, *cells, *(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
            yield from (*vars_of(value), value)
    else:
        yield from vars_of(function)


def vars_of(value: Any) -> list[Any]:
    """The attributes of an object of the user."""
    if isinstance(value, types.ModuleType | types.FunctionType | type) or is_only_in_program(value):
        return []
    return list(getattr(value, "__dict__", {}).values())


def _is_flat(value: Any) -> bool:
    if type(value) is dict:
        return _are_immutable(value.keys()) and _are_immutable(value.values())
    return type(value) in _FLAT and (isinstance(value, str | bytes) or _are_immutable(value))


def _are_immutable(values: Any) -> bool:
    return set(map(type, values)) <= _IMMUTABLE


def _is_importable(module: types.ModuleType) -> bool:
    """Whether a process with the same path finds the same file by the module's name."""
    try:
        spec = importlib.util.find_spec(module.__name__)
    except (ImportError, ValueError, AttributeError):
        return False
    return spec is not None and spec.origin == getattr(module, "__file__", None)


_current: ContextVar[Shipping | None] = ContextVar("morisot_shipping", default=None)


@contextlib.contextmanager
def shipping_with(shipping: Shipping) -> Iterator[None]:
    """Sets the job of tasks that are created in the block."""
    token = _current.set(shipping)
    try:
        yield
    finally:
        _current.reset(token)


def current_shipping() -> Shipping:
    """The job for a task that is created now; one without large values if no plan is being emitted."""
    return _current.get() or Shipping()

"""Tasks on their way to workers: large values are pickled once, and errors name the variable."""

from __future__ import annotations

import functools
import importlib
import pickle
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

import morisot as mo
from morisot.engines.spark.emit.python.pickling import check_travels
from morisot.engines.spark.emit.python.shipping import LARGE, Shipping, shipping_with
from morisot.errors import Location
from morisot.plan.nodes.closure import Closure
from morisot.worker import shipped

LOCK = threading.Lock()


@dataclass(frozen=True)
class Sent:
    value: bytes


def closure_of(function: Callable[..., Any]) -> Closure:
    return Closure(function, Location("program.py", 3), "map")


@pytest.fixture
def spark() -> Mock:
    """A local session that records what it broadcasts."""
    session = Mock()
    session.sparkContext.master = "local[2]"
    session.sparkContext.broadcast = Mock(side_effect=Sent)
    return session


@pytest.fixture
def sent(spark: Mock) -> Mock:
    found = spark.sparkContext.broadcast
    assert isinstance(found, Mock)
    return found


def through(spark: Mock, *functions: Callable[..., Any]) -> list[Any]:
    """The functions as workers get them, each in its own task."""
    shipping, closures = Shipping(spark), [closure_of(each) for each in functions]
    with shipping_with(shipping):
        for closure in closures:
            check_travels(closure)
    return [pickle.loads(pickle.dumps(shipping.ship(each.function))).load() for each in closures]


class Scaled:
    def __init__(self, **attributes: Any) -> None:
        self.factor = 3
        self.__dict__.update(attributes)

    def scaled(self, n: int) -> int:
        return n * self.factor

    def function(self) -> Callable[[int], int]:
        return lambda n: n * self.factor


def capturing(value: Any) -> Callable[[int], Any]:
    return lambda n: (n, value)


@pytest.mark.parametrize(
    ("function", "name", "advice"),
    [
        (lambda n: LOCK.locked() + n, "it captures LOCK (lock)", "create LOCK inside the function"),
        (capturing(threading.Lock()), "it captures value (lock)", "create value inside the function"),
        (capturing({"a": [0, threading.Lock()]}), "it captures value['a'][1] (lock)", "instead of value"),
        (Scaled(lock=threading.Lock()).function(), "it captures self.lock (lock)", "factor = self.factor"),
        (Scaled(lock=threading.Lock()).scaled, "it captures self.lock (lock)", "instead of self"),
        (lambda n, numbers=(n for n in range(3)): next(numbers), "it captures numbers (generator)", "create numbers"),
        (capturing(lambda: LOCK), "it captures LOCK in value (lock)", "create LOCK"),
        (
            capturing(mo.StreamContext(engine="reference")),
            "it captures value (StreamContext)",
            "into a variable before",
        ),
        (functools.partial(pow, threading.Lock()), "cannot pickle '_thread.lock'", "plain values"),
    ],
)
def test_an_error_names_the_variable(function: Callable[..., Any], name: str, advice: str) -> None:
    with pytest.raises(mo.PlanError) as raised:
        check_travels(closure_of(function))
    assert "map cannot be sent to the workers" in str(raised.value)
    assert str(raised.value).count("(program.py:3)") == 1
    assert name in str(raised.value)
    assert advice in str(raised.value)


def test_contexts_and_streams_that_are_not_used_travel_as_substitutes(spark: Mock) -> None:
    ctx = mo.StreamContext(engine="reference")
    (scale,) = through(spark, Scaled(ctx=ctx, stream=ctx.stream_iter([1])).function())
    assert scale(2) == 6
    (read,) = through(spark, Scaled(ctx=ctx).scaled)
    with pytest.raises(RuntimeError, match="a StreamContext exists only in the program"):
        read.__self__.ctx.stream_iter([1])


MODULE = """
import threading
lock = threading.Lock()
state = {"lock": lock}
rate = 1

def rated(n):
    with lock:
        return n * rate * len(state)
"""


def test_objects_of_a_module_that_cannot_be_pickled_are_imported(
    spark: Mock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "module_with_a_lock.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    module = importlib.import_module("module_with_a_lock")
    module.rate = 5  # type: ignore[attr-defined]
    direct, inside = through(spark, module.rated, lambda n: module.rated(n))
    assert direct.__globals__["lock"] is module.lock
    assert (direct(2), inside(3)) == (10, 15)
    assert str(tmp_path) in Shipping(spark).ship(direct).path
    spark.sparkContext.master = "spark://cluster:7077"
    with pytest.raises(mo.PlanError, match="it captures lock"):
        through(spark, module.rated)


def test_a_large_value_is_pickled_once(spark: Mock, sent: Mock, monkeypatch: pytest.MonkeyPatch) -> None:
    table = {f"key {n}": n for n in range(100_000)}
    small = {"a": 1}
    tasks = through(spark, lambda n: table[n], lambda n: (table.setdefault("new", n), small), capturing(table))
    assert sent.call_count == 1
    assert len(sent.call_args.args[0]) > LARGE
    assert (tasks[0]("key 7"), tasks[1](1), tasks[2](0)) == (7, (1, {"a": 1}), (0, table))
    assert "new" not in table

    (held,) = large_values(spark, capturing(table))
    monkeypatch.setattr(pickle, "loads", loads := Mock(wraps=pickle.loads))
    first, second = held.load(), held.load()
    assert (first == second == table, first is second, loads.call_count) == (True, False, 1)


def large_values(spark: Mock, function: Callable[..., Any]) -> tuple[shipped.LargeValue, ...]:
    shipping, closure = Shipping(spark), closure_of(function)
    shipping.share_large(closure)
    return shipping.ship(closure.function).large


def test_large_values_that_can_be_changed_inside_are_unpickled_for_each_task(spark: Mock) -> None:
    (held,) = large_values(spark, capturing({"rows": [str(n) for n in range(200_000)]}))
    held.load()["rows"].clear()
    assert len(held.load()["rows"]) == 200_000


def test_large_attributes_and_arguments(spark: Mock, sent: Mock) -> None:
    table = [str(n) for n in range(200_000)]
    functions = Scaled(table=table).function(), Scaled(table=table).scaled, functools.partial(max, table)
    through(spark, *functions, lambda n, table=table: table[n])
    assert sent.call_count == 1


def test_a_worker_keeps_few_large_values() -> None:
    for number in range(20):
        shipped.LargeValue(str(number), Sent(pickle.dumps([number])), flat=True).load()
    assert len(shipped._kept) <= 8

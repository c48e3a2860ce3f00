"""The rungs of aggregates that select an element, and the row order that they need."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import morisot as mo
from morisot.physical.facts import Facts
from morisot.physical.job import plan_job, plan_stream
from morisot.physical.ops import Selection
from morisot.physical.passes.require import depends_on_order
from morisot.physical.plan import Plan, plan
from tests.physical.boundary_programs import MORE
from tests.physical.golden import write_files
from tests.physical.programs import PROGRAMS


class Item(NamedTuple):
    id: int
    kind: int
    name: str
    day: dt.date


class Offer(NamedTuple):
    item: int
    price: int
    bidder: int


Pair = tuple[Item, Offer]
ITEMS = [Item(1, 2, "a", dt.date(2020, 1, 1))]
OFFERS = [Offer(1, 10, 5)]


def best(ctx: mo.StreamContext) -> mo.Stream[Pair]:
    """The best offer for each item."""
    items, offers = ctx.stream_iter(ITEMS), ctx.stream_iter(OFFERS)
    pairs = items.join(offers, lambda item: item.id, lambda offer: offer.item).drop_key()
    return pairs.group_by_max_element(lambda pair: pair[0].id, lambda pair: pair[1].price).drop_key()


def selection(found: Plan) -> Selection:
    (selection,) = (each.selection for each in found.choices.values() if each.selection is not None)
    return selection


def planned(stream: Any, facts: Facts = Facts()) -> Plan:  # noqa: B008 - a frozen value
    return plan_stream(stream._node, facts).plan


@pytest.fixture
def ctx() -> mo.StreamContext:
    return mo.StreamContext(engine="reference")


@pytest.mark.parametrize(
    ("function", "rung"),
    [
        (lambda pair: pair[0].id, "value"),
        (lambda pair: (pair[0].id, pair[1].price), "value"),
        (lambda pair: (pair[1].item, pair[1].price), "packed"),
        (lambda pair: (pair[0].kind, pair[1].price), "guard"),
        (lambda pair: (pair[0].day, pair[0].kind), "guard"),
        (lambda pair: pair[0].name, "struct"),
        (lambda pair: (pair[0].kind, pair[1].bidder), "packed"),
        (lambda pair: (pair[0].name, pair[1].bidder), "struct"),
        (lambda pair: pair, "struct"),
    ],
)
def test_the_rung_depends_on_the_columns_that_are_read(
    function: Callable[[Pair], Any], rung: str, ctx: mo.StreamContext
) -> None:
    found = planned(best(ctx).map(function))
    assert selection(found).rung == rung
    assert bool(found.order.needed) == (rung in ("packed", "struct"))


def test_a_guard_that_has_failed_is_not_tried_again(ctx: mo.StreamContext) -> None:
    stream = best(ctx).map(lambda pair: pair[0].kind)
    (failed,) = (node for node, each in planned(stream).choices.items() if each.selection is not None)
    assert selection(planned(stream, Facts(failed_guards=frozenset({failed})))).rung == "struct"


def test_a_plan_does_not_fail_for_a_guard_if_it_delivers_elements_one_by_one(ctx: mo.StreamContext) -> None:
    kinds = best(ctx).map(lambda pair: pair[0].kind)
    kinds.for_each(print)
    kinds.collect_channel()
    kinds.cache().collect_vec()
    for sink in ctx._take_sinks("execute"):
        assert selection(plan((sink,))).rung == "struct"
    assert selection(plan((kinds._node,), where="round")).rung == "struct"


def test_only_columns_that_are_read_are_selected(ctx: mo.StreamContext) -> None:
    how = selection(planned(best(ctx).map(lambda pair: (pair[0].name, pair[1].bidder)))).parts
    assert {path for path, part in how.items() if part.how == "selected"} == {(0, 2), (1, 2)}
    assert {part.how for path, part in how.items() if path not in ((0, 2), (1, 2))} == {"unread"}


@pytest.mark.parametrize("name", sorted({**PROGRAMS, **MORE}))
def test_order_columns_reach_the_operators_that_compare(
    name: str, ctx: mo.StreamContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the readers of order columns, those that depend on the order read them. The others do not get them."""
    monkeypatch.chdir(tmp_path)
    write_files()
    found = plan_stream({**PROGRAMS, **MORE}[name](ctx)._node).plan
    for node in found.nodes:
        for value in node.inputs:
            if value in found.order.carried and depends_on_order(node, found.choices.get(node), found.order.needed):
                assert node in found.order.compared
    assert found.order.carried <= found.order.needed


def test_a_sink_beside_an_operator_gets_rows_without_order_columns(ctx: mo.StreamContext) -> None:
    items, offers = ctx.stream_iter(ITEMS), ctx.stream_iter(OFFERS)
    pairs = items.join(offers, lambda item: item.id, lambda offer: offer.item).drop_key()
    pairs.collect_vec()
    pairs.group_by_max_element(lambda pair: pair[0].name, lambda pair: pair[1].price).collect_vec()
    found = plan(ctx._take_sinks("execute")).order
    assert pairs._node in found.carried


def test_a_float_is_compared_in_row_order(ctx: mo.StreamContext) -> None:
    pairs = ctx.stream_iter([(1, 2.5)]).group_by_max_element(lambda pair: pair[0], lambda pair: pair[1])
    assert selection(planned(pairs.drop_key().map(lambda pair: pair[0]))).rung == "struct"


def test_a_reduce_that_selects_an_element_has_the_same_rungs(ctx: mo.StreamContext) -> None:
    pairs = ctx.stream_iter([(1, 2)]).group_by(lambda pair: pair[0])
    largest = pairs.reduce(lambda a, b: b if b[1] > a[1] else a)
    assert selection(planned(largest)).rung == "value"


def test_sources_are_not_read_in_order_for_a_join_that_drops_it(ctx: mo.StreamContext) -> None:
    items, offers = ctx.stream_iter(ITEMS), ctx.stream_iter(OFFERS)
    joined = items.join(offers, lambda item: item.id, lambda offer: offer.item)
    found = plan_job((joined._node,)).plan
    assert found.order.needed == frozenset()
    assert found.order.seen == {joined._node}


def test_the_order_of_keys_is_that_of_their_first_elements_in_the_source(ctx: mo.StreamContext) -> None:
    numbers = ctx.stream_iter([1, 2])
    counts = numbers.group_by_count(lambda n: n).unkey().limit(1)
    assert numbers._node in plan((counts._node,)).order.needed

"""Programs whose plans are kept as golden texts: each operator, each form, fusion, sharing, loops, unbounded input."""

from __future__ import annotations

import dataclasses
import datetime as dt
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import morisot as mo

Program = Callable[[mo.StreamContext], "mo.Stream[Any] | mo.KeyedStream[Any, Any]"]
PROGRAMS: dict[str, Program] = {}
FILES = {"books/a.txt": "to be\n", "trips.csv": "city,km,riders\n", "trips.json": "", "inbox/a.txt": "1\n"}
"""What the programs read, relative to the working directory."""
NOON = dt.datetime(2024, 2, 29, 12)


class Reading(NamedTuple):
    place: str | None
    value: float | None
    at: int | None


class Trip(NamedTuple):
    city: str
    km: float
    riders: int


@dataclasses.dataclass
class Order:
    item: str
    price: float
    placed: dt.datetime


TRIPS = [Trip("Milan", 3.5, 2), Trip("Pisa", 1.0, 1)]
ORDERS = [Order("pen", 1.5, NOON), Order("ink", 4.0, NOON)]


READINGS = [Reading("hall", 1.5, 1), Reading("cellar", 0.5, 2), Reading("attic", 2.5, 3)]
"""No field is None: every program runs on them, also those that refuse None."""


def program(function: Program) -> Program:
    PROGRAMS[function.__name__] = function
    return function


def collatz(n: int) -> int:
    steps = 0
    while n > 1:
        n = 3 * n + 1 if n % 2 else n // 2
        steps += 1
    return steps


def opaque(n: int) -> int:
    return hash((n,)) % 1000


def numbers(ctx: mo.StreamContext) -> mo.Stream[int]:
    return ctx.stream_iter([3, 1, 4, 1, 5])


def words(ctx: mo.StreamContext) -> mo.Stream[str]:
    return ctx.stream_iter(["to be", "or not", "to be"])


def trips(ctx: mo.StreamContext) -> mo.Stream[Trip]:
    return ctx.stream_iter(TRIPS)


def followed(ctx: mo.StreamContext) -> mo.Stream[str]:
    return ctx.stream_file(Path("inbox"), unbounded=True)


def incoming(ctx: mo.StreamContext) -> mo.Stream[int]:
    return followed(ctx).map(lambda line: int(line))


def timed(ctx: mo.StreamContext) -> mo.Stream[int]:
    return incoming(ctx).add_timestamps(lambda n: n * 1000, delay="1s")


# --- sources


@program
def source_iter(ctx):  # type: ignore[no-untyped-def]
    return numbers(ctx)


@program
def source_range(ctx):  # type: ignore[no-untyped-def]
    return ctx.stream_par_iter(range(100))


@program
def source_generator(ctx):  # type: ignore[no-untyped-def]
    return ctx.stream_par_iter(lambda instance, instances: range(instance, 10, instances))


@program
def source_file(ctx):  # type: ignore[no-untyped-def]
    return ctx.stream_file("books/*.txt")


@program
def source_csv(ctx):  # type: ignore[no-untyped-def]
    return ctx.stream_csv("trips.csv", Trip).filter(lambda t: t.km > 1.0)


@program
def source_csv_in_python(ctx):  # type: ignore[no-untyped-def]
    return ctx.stream_csv("trips.csv", Trip, multiline=True).filter(lambda t: t.km > 1.0)


@program
def source_json(ctx):  # type: ignore[no-untyped-def]
    return ctx.stream_json("trips.json", Trip)


# --- row-wise: columns, kernels, stages


@program
def map_column(ctx):  # type: ignore[no-untyped-def]
    return numbers(ctx).map(lambda n: n * 2)


@program
def map_that_may_fail(ctx):  # type: ignore[no-untyped-def]
    return numbers(ctx).map(lambda n: 10 // n)


@program
def map_kernel(ctx):  # type: ignore[no-untyped-def]
    return numbers(ctx).map(collatz)


@program
def map_stage(ctx):  # type: ignore[no-untyped-def]
    return numbers(ctx).map(opaque)


@program
def map_records(ctx):  # type: ignore[no-untyped-def]
    return trips(ctx).map(lambda t: Trip(t.city.upper(), t.km * 2, t.riders))


@program
def map_captured(ctx):  # type: ignore[no-untyped-def]
    factor, names = 3, ["a", "b"]
    return numbers(ctx).map(lambda n: names[n % 2] * factor)


@program
def filter_column(ctx):  # type: ignore[no-untyped-def]
    return numbers(ctx).filter(lambda n: n % 2 == 0)


@program
def flat_map_column(ctx):  # type: ignore[no-untyped-def]
    return words(ctx).flat_map(lambda line: line.split())


@program
def flat_map_of_text(ctx):  # type: ignore[no-untyped-def]
    return words(ctx).flat_map(lambda line: line.upper())


@program
def filter_map_column(ctx):  # type: ignore[no-untyped-def]
    return numbers(ctx).filter_map(lambda n: n * 2 if n > 2 else None)


@program
def flatten(ctx):  # type: ignore[no-untyped-def]
    return numbers(ctx).map(lambda n: [n, n + 1]).flatten()


@program
def inspect(ctx):  # type: ignore[no-untyped-def]
    return numbers(ctx).map(lambda n: n + 1).inspect(print)


@program
def map_memo(ctx):  # type: ignore[no-untyped-def]
    return numbers(ctx).map_memo(opaque, 100)


@program
def map_memo_column(ctx):  # type: ignore[no-untyped-def]
    return numbers(ctx).map_memo(lambda n: n + 1, 100)


@program
def map_async(ctx):  # type: ignore[no-untyped-def]
    async def later(n: int) -> int:
        return n + 1

    return numbers(ctx).map_async(later)


@program
def skipping(ctx):  # type: ignore[no-untyped-def]
    return numbers(ctx).map(lambda n: 10 // n, on_error="skip")


@program
def skipping_nothing(ctx):  # type: ignore[no-untyped-def]
    return numbers(ctx).map(lambda n: n * 2.0, on_error="skip")


# --- fusion


@program
def columns_compose(ctx):  # type: ignore[no-untyped-def]
    return numbers(ctx).map(lambda n: n + 1).filter(lambda n: n > 2).map(lambda n: n * n)


@program
def column_between_stages(ctx):  # type: ignore[no-untyped-def]
    return numbers(ctx).map(opaque).map(lambda n: n + 1).map(opaque)


@program
def columns_around_a_stage(ctx):  # type: ignore[no-untyped-def]
    return numbers(ctx).map(lambda n: n + 1).map(opaque).map(lambda n: n + 2)


@program
def kernels_join(ctx):  # type: ignore[no-untyped-def]
    return numbers(ctx).map(collatz).filter(lambda n: n > 2).map(collatz)


@program
def kernel_behind_a_range(ctx):  # type: ignore[no-untyped-def]
    return ctx.stream_par_iter(range(1, 100)).map(lambda n: n + 1).map(collatz).filter(lambda n: n > 10)


@program
def kernel_and_stage(ctx):  # type: ignore[no-untyped-def]
    return numbers(ctx).map(collatz).map(opaque).map(lambda n: math.sqrt(n))


@program
def shared_stage(ctx):  # type: ignore[no-untyped-def]
    found = numbers(ctx).map(opaque)
    return found.map(opaque).merge(found.map(lambda n: n + 1))


@program
def diamond(ctx):  # type: ignore[no-untyped-def]
    found = words(ctx).flat_map(lambda line: line.split())
    return found.map(lambda word: word.upper()).zip(found.map(lambda word: len(word)))


@program
def stage_into_fold(ctx):  # type: ignore[no-untyped-def]
    return numbers(ctx).map(opaque).fold_assoc("", lambda text, n: f"{text}{n}", lambda a, b: a + b)


# --- keyed


@program
def key_column(ctx):  # type: ignore[no-untyped-def]
    return numbers(ctx).group_by(lambda n: n % 3).map(lambda key, n: key + n)


@program
def key_stage(ctx):  # type: ignore[no-untyped-def]
    return numbers(ctx).group_by(opaque).filter(lambda key, n: n > 1)


@program
def key_kernel(ctx):  # type: ignore[no-untyped-def]
    return numbers(ctx).key_by(collatz).drop_key()


@program
def keys(ctx):  # type: ignore[no-untyped-def]
    return numbers(ctx).group_by(lambda n: n % 3).keys()


# --- aggregates


@program
def count(ctx):  # type: ignore[no-untyped-def]
    return numbers(ctx).count()


@program
def group_by_count(ctx):  # type: ignore[no-untyped-def]
    return words(ctx).flat_map(lambda line: line.split()).group_by_count(lambda word: word)


@program
def arithmetic_of_a_range(ctx):  # type: ignore[no-untyped-def]
    return ctx.stream_par_iter(range(100)).map(lambda n: n * 2 + 1).filter(lambda n: n % 3 == 0).map(lambda n: n // 7)


@program
def count_tokens(ctx):  # type: ignore[no-untyped-def]
    lines = ctx.stream_file("books").map(lambda line: line.lower())
    return lines.flat_map(lambda line: line.split()).filter(lambda word: word != "a").group_by_count(lambda word: word)


@program
def count_tokens_in_order(ctx):  # type: ignore[no-untyped-def]
    found = ctx.stream_file("books").flat_map(lambda line: line.split(",")).group_by_count(lambda word: word)
    return found.unkey().limit(3)


@program
def count_of_whole_texts(ctx):  # type: ignore[no-untyped-def]
    first = ctx.stream_file("books").flat_map(lambda line: line.split()[:1])
    return first.group_by_count(lambda word: word)


@program
def group_by_sum(ctx):  # type: ignore[no-untyped-def]
    return trips(ctx).group_by_sum(lambda t: t.city, lambda t: t.riders)


@program
def group_by_sum_of_floats(ctx):  # type: ignore[no-untyped-def]
    return trips(ctx).group_by_sum(lambda t: t.city, lambda t: t.km)


@program
def group_by_sum_in_python(ctx):  # type: ignore[no-untyped-def]
    return numbers(ctx).group_by_sum(lambda n: n % 2, opaque)


@program
def group_by_sum_that_skips(ctx):  # type: ignore[no-untyped-def]
    return numbers(ctx).group_by_sum(lambda n: n % 2, lambda n: 10 // n, on_error="skip")


@program
def group_by_avg(ctx):  # type: ignore[no-untyped-def]
    return trips(ctx).group_by_avg(lambda t: t.city, lambda t: t.riders)


@program
def group_by_max_element(ctx):  # type: ignore[no-untyped-def]
    return trips(ctx).group_by_max_element(lambda t: t.city, lambda t: t.km)


@program
def group_by_min_element_of_tuples(ctx):  # type: ignore[no-untyped-def]
    return trips(ctx).group_by_min_element(lambda t: t.city, lambda t: (t.km, t.riders))


@program
def fold_native(ctx):  # type: ignore[no-untyped-def]
    return numbers(ctx).fold(0, lambda total, n: total + n)


@program
def fold_in_order(ctx):  # type: ignore[no-untyped-def]
    return numbers(ctx).fold("", lambda text, n: f"{text}{n}")


@program
def fold_extreme(ctx):  # type: ignore[no-untyped-def]
    return numbers(ctx).group_by(lambda n: n % 2).reduce(lambda a, b: max(b, a))


@program
def reduce_in_order(ctx):  # type: ignore[no-untyped-def]
    return numbers(ctx).reduce(lambda a, b: a * 31 + b)


@program
def fold_assoc_native(ctx):  # type: ignore[no-untyped-def]
    return numbers(ctx).group_by_fold(lambda n: n % 2, 0, lambda total, n: total + n, lambda a, b: a + b)


@program
def reduce_assoc_in_python(ctx):  # type: ignore[no-untyped-def]
    return numbers(ctx).reduce_assoc(lambda a, b: opaque(a) + b)


@program
def inferred_map_then_group(ctx):  # type: ignore[no-untyped-def]
    """The type of the map is inferred from its syntax tree, so what follows has column forms."""
    hashed = ctx.stream_iter([("a", 1), ("b", 2)]).map(lambda p: (p[0], p[1], hash(p[0])))
    return hashed.group_by_sum(lambda p: p[0], lambda p: p[2] % 10)


@program
def inferred_map_then_windows(ctx):  # type: ignore[no-untyped-def]
    hashed = ctx.stream_iter([("a", 1), ("b", 2)]).map(lambda p: (p[0], p[1], hash(p[0])))
    return hashed.group_by(lambda p: p[0]).window(mo.CountWindow.tumbling(2)).max(lambda p: p[2])


@program
def inferred_flat_map_then_filter(ctx):  # type: ignore[no-untyped-def]
    def pairs(text):  # type: ignore[no-untyped-def]
        for word in text.split():
            yield word, hash(word)

    return words(ctx).flat_map(pairs).filter(lambda p: p[1] > 0)


@program
def fold_scan(ctx):  # type: ignore[no-untyped-def]
    return numbers(ctx).fold_scan(0, lambda total, n: total + n)


@program
def unique(ctx):  # type: ignore[no-untyped-def]
    return numbers(ctx).unique()


@program
def unique_by(ctx):  # type: ignore[no-untyped-def]
    return trips(ctx).unique_by(lambda t: t.city)


@program
def sorted_native(ctx):  # type: ignore[no-untyped-def]
    return trips(ctx).sorted_by(lambda t: (t.city, t.riders))


@program
def sorted_in_python(ctx):  # type: ignore[no-untyped-def]
    return numbers(ctx).sorted_by(lambda n: complex(n, 0).real)


@program
def limit(ctx):  # type: ignore[no-untyped-def]
    return numbers(ctx).limit(3, offset=1)


@program
def sorted_limit(ctx):  # type: ignore[no-untyped-def]
    return trips(ctx).sorted_limit_by(lambda t: t.km, 1)


# --- state, time, windows


@program
def rich_map(ctx):  # type: ignore[no-untyped-def]
    return numbers(ctx).map(opaque).rich_map(0, lambda total, n: (total + n, total + n))


class _Twice(mo.Operator[int, int]):
    def process(self, element: int, message: mo.Message) -> list[int]:
        return [element * 2]


class _Numbering(mo.Operator[int, int]):
    def process(self, element: int, message: mo.Message) -> list[int]:
        self.store["seen"] = self.store.get("seen", 0) + 1
        return [self.store["seen"]]


@program
def apply_on_demand(ctx):  # type: ignore[no-untyped-def]
    return numbers(ctx).apply(_Twice(), replicate=2)


@program
def apply_with_store(ctx):  # type: ignore[no-untyped-def]
    return numbers(ctx).apply(_Numbering(), replicate=2, ordered=False)


@program
def apply_by_key(ctx):  # type: ignore[no-untyped-def]
    return numbers(ctx).apply(_Numbering(), replicate=2, send="affinity", key=lambda n: n % 3)


@program
def unbounded_apply(ctx):  # type: ignore[no-untyped-def]
    return incoming(ctx).apply(_Twice(), replicate=2).apply(_Numbering(), replicate=2)


@program
def keyed_rich_flat_map(ctx):  # type: ignore[no-untyped-def]
    return numbers(ctx).group_by(lambda n: n % 2).rich_flat_map(0, lambda total, key, n: (total + n, [total, n]))


@program
def timestamps_column(ctx):  # type: ignore[no-untyped-def]
    return ctx.stream_iter(ORDERS).add_timestamps(lambda o: o.placed)


@program
def timestamps_stage(ctx):  # type: ignore[no-untyped-def]
    return numbers(ctx).add_timestamps(opaque).reorder()


@program
def tumbling_sum(ctx):  # type: ignore[no-untyped-def]
    stamped = numbers(ctx).add_timestamps(lambda n: n * 1000)
    return stamped.window_all(mo.EventTimeWindow.tumbling("2s")).sum().with_bounds()


@program
def sliding_mean(ctx):  # type: ignore[no-untyped-def]
    stamped = numbers(ctx).add_timestamps(lambda n: n * 1000).group_by(lambda n: n % 2)
    return stamped.window(mo.EventTimeWindow.sliding("4s", "2s")).mean()


@program
def session_fold_in_python(ctx):  # type: ignore[no-untyped-def]
    stamped = numbers(ctx).add_timestamps(lambda n: n * 1000).group_by(lambda n: n % 2)
    return stamped.window(mo.EventTimeWindow.session("1s")).fold("", lambda text, n: f"{text}{n}")


@program
def count_window_max(ctx):  # type: ignore[no-untyped-def]
    return numbers(ctx).group_by(lambda n: n % 2).window(mo.CountWindow.tumbling(2)).max()


@program
def count_window_map(ctx):  # type: ignore[no-untyped-def]
    return numbers(ctx).window_all(mo.CountWindow.sliding(3, 1)).map(lambda window: sum(window))


def hottest(counts: list[tuple[int, int]]) -> list[tuple[int, int]]:
    most = max(count for _, count in counts)
    return sorted(pair for pair in counts if pair[1] == most)


@program
def sliding_window_map(ctx):  # type: ignore[no-untyped-def]
    pairs = numbers(ctx).add_timestamps(lambda n: n * 1000).map(lambda n: (n, n % 3))
    return pairs.window_all(mo.EventTimeWindow.sliding("4s", "2s")).map(hottest)


@program
def window_max_elements(ctx):  # type: ignore[no-untyped-def]
    stamped = numbers(ctx).add_timestamps(lambda n: n * 1000).group_by(lambda n: n % 2)
    return stamped.window(mo.EventTimeWindow.tumbling("4s")).with_bounds().max_elements(lambda n: n // 2)


@program
def window_map_in_python(ctx):  # type: ignore[no-untyped-def]
    return numbers(ctx).window_all(mo.CountWindow.sliding(3, 1)).map(lambda window: repr(window))


@program
def max_elements(ctx):  # type: ignore[no-untyped-def]
    return numbers(ctx).max_elements(lambda n: n % 3)


@program
def max_elements_of_keys(ctx):  # type: ignore[no-untyped-def]
    return numbers(ctx).group_by(lambda n: n % 2).min_elements(lambda n: n % 3)


@program
def join_function(ctx):  # type: ignore[no-untyped-def]
    key = lambda n: n  # noqa: E731
    joined = numbers(ctx).join(numbers(ctx), key, key, lambda left, right: (left, *(right, 1)))
    return joined.join(joined.keys().key_by(key)).filter(lambda key, left, right: left[0] > right)


class Offer(NamedTuple):
    name: str
    price: int
    at: int


@program
def window_candidates(ctx):  # type: ignore[no-untyped-def]
    offers = ctx.stream_parquet("offers.parquet", Offer).add_timestamps(lambda o: o.at)
    return offers.window_all(mo.EventTimeWindow.tumbling("2s")).reduce(lambda a, b: b if b.price > a.price else a)


@program
def frames_of_windows(ctx):  # type: ignore[no-untyped-def]
    keyed = numbers(ctx).group_by(lambda n: n % 2)
    return keyed.window(mo.CountWindow.sliding(3, 1)).sum().unkey().window_all(mo.CountWindow.tumbling(2)).last()


@program
def transaction_window(ctx):  # type: ignore[no-untyped-def]
    return numbers(ctx).window_all(mo.TransactionWindow(lambda n: mo.Tx.COMMIT if n > 3 else mo.Tx.NONE)).count()


@program
def last_window(ctx):  # type: ignore[no-untyped-def]
    return numbers(ctx).window_all(mo.LastK(2)).sum()


@program
def window_join(ctx):  # type: ignore[no-untyped-def]
    left = numbers(ctx).add_timestamps(lambda n: n * 1000).group_by(lambda n: n % 2)
    right = numbers(ctx).add_timestamps(lambda n: n * 1000).group_by(lambda n: n % 2)
    return left.window(mo.EventTimeWindow.tumbling("2s")).join(right)


# --- joins, several streams, partitions


@program
def join(ctx):  # type: ignore[no-untyped-def]
    return trips(ctx).join(ctx.stream_iter(ORDERS), lambda t: t.city, lambda o: o.item)


def largest(ctx: mo.StreamContext) -> mo.Stream[Any]:
    """For each order, the trip with the most riders."""
    pairs = ctx.stream_iter(ORDERS).join(trips(ctx), lambda o: o.item, lambda t: t.city).drop_key()
    return pairs.group_by_max_element(lambda p: p[0].item, lambda p: p[1].riders).drop_key()


@program
def selected_by_value(ctx):  # type: ignore[no-untyped-def]
    return largest(ctx).map(lambda p: (p[0].item, p[1].riders))


@program
def selected_by_guard(ctx):  # type: ignore[no-untyped-def]
    return largest(ctx).map(lambda p: (p[0].placed, p[1].riders))


@program
def selected_by_struct(ctx):  # type: ignore[no-untyped-def]
    return largest(ctx).map(lambda p: (p[0].item, p[1].km))


@program
def sorted_by_key(ctx):  # type: ignore[no-untyped-def]
    best = largest(ctx).sorted_by(lambda p: (p[1].riders, p[0].item))
    return best.group_by(lambda p: p[1].riders).map(lambda _, p: p[0].item).window(mo.CountWindow.sliding(2, 1)).count()


@program
def left_join_keyed(ctx):  # type: ignore[no-untyped-def]
    return numbers(ctx).group_by(lambda n: n % 2).left_join(numbers(ctx).group_by(opaque))


@program
def interval_join(ctx):  # type: ignore[no-untyped-def]
    left, right = (numbers(ctx).add_timestamps(lambda n: n * 1000) for _ in range(2))
    return left.interval_join(right, "1s", "1s")


@program
def split_by_column(ctx):  # type: ignore[no-untyped-def]
    small, large = numbers(ctx).split_by(lambda n: n % 2, 2)
    return small.merge(large.map(lambda n: n * 10))


@program
def split_by_stage(ctx):  # type: ignore[no-untyped-def]
    small, large = numbers(ctx).split_by(lambda n: opaque(n) % 2, 2)
    return small.merge(large)


@program
def route(ctx):  # type: ignore[no-untyped-def]
    even, large = numbers(ctx).route(lambda n: n % 2 == 0, lambda n: opaque(n) > 3)
    return even.merge(large)


@program
def partitions(ctx):  # type: ignore[no-untyped-def]
    return numbers(ctx).shuffle().parallelism(3).map(lambda n: n + 1).repartition_by(lambda n: n % 2).drop_key()


@program
def cached(ctx):  # type: ignore[no-untyped-def]
    return numbers(ctx).map(opaque).cache().map(lambda n: n + 1)


@program
def batched(ctx):  # type: ignore[no-untyped-def]
    return numbers(ctx).batch_mode(mo.BatchMode.fixed(2)).map(opaque)


# --- loops


def add(delta: int, n: int) -> int:
    return delta + n


@program
def replay_in_tasks(ctx):  # type: ignore[no-untyped-def]
    return ctx.stream_par_iter(range(100)).replay(
        5, 0, lambda s, state: s.map(lambda n: n + state.value), add, add, lambda state: state < 1000, delta=0
    )


@program
def replay_in_python(ctx):  # type: ignore[no-untyped-def]
    return numbers(ctx).replay(
        5, 0, lambda s, state: s.map(lambda n: opaque(n) + state.value), add, add, lambda state: state < 1000, delta=0
    )


@program
def iterate_by_rounds(ctx):  # type: ignore[no-untyped-def]
    def body(stream: Any, state: Any) -> Any:
        return stream.group_by(lambda n: n % 10).reduce(lambda a, b: max(a, b)).drop_key().map(lambda n: n + 1)

    return numbers(ctx).iterate(5, 0, body, add, add, lambda state: state < 1000, delta=0)[1]


@program
def delta_iterate_joined(ctx):  # type: ignore[no-untyped-def]
    edges = ctx.stream_iter([(1, 2), (2, 3)])

    def body(changed: Any) -> Any:
        met = changed.join(edges.group_by(lambda e: e[0]))
        return (
            met.unkey()
            .map(lambda found: (found[1][1][1], found[1][0]))
            .group_by_min_element(lambda pair: pair[0], lambda pair: pair[1])
            .map(lambda key, pair: pair[1])
        )

    labels = ctx.stream_iter([(1, 1), (2, 2), (3, 3)]).group_by(lambda p: p[0]).map(lambda k, p: p[1])
    return labels.delta_iterate(
        10,
        lambda key, held, label: label if held is None or label < held else held,
        lambda key, label: label,
        lambda key, label: label,
        lambda label: True,
        body,
    )


# --- unbounded


@program
def unbounded_rowwise(ctx):  # type: ignore[no-untyped-def]
    return followed(ctx).map(lambda line: int(line)).filter(lambda n: n > 2).map(opaque)


@program
def unbounded_count(ctx):  # type: ignore[no-untyped-def]
    return followed(ctx).flat_map(lambda line: line.split()).group_by_count(lambda word: word)


@program
def unbounded_sum(ctx):  # type: ignore[no-untyped-def]
    return incoming(ctx).group_by_sum(lambda n: n % 2, lambda n: n)


@program
def unbounded_fold(ctx):  # type: ignore[no-untyped-def]
    return incoming(ctx).fold(0, lambda total, n: total + n)


@program
def unbounded_rich_map(ctx):  # type: ignore[no-untyped-def]
    return incoming(ctx).group_by(lambda n: n % 2).rich_map(0, lambda total, key, n: (total + n, total + n))


@program
def unbounded_windows(ctx):  # type: ignore[no-untyped-def]
    return timed(ctx).group_by(lambda n: n % 2).window(mo.EventTimeWindow.tumbling("1s")).sum()


@program
def unbounded_count_windows(ctx):  # type: ignore[no-untyped-def]
    return incoming(ctx).group_by(lambda n: n % 2).window(mo.CountWindow.tumbling(2)).sum()


@program
def unbounded_sessions(ctx):  # type: ignore[no-untyped-def]
    return timed(ctx).window_all(mo.EventTimeWindow.session("1s")).count()


@program
def unbounded_join_with_table(ctx):  # type: ignore[no-untyped-def]
    return incoming(ctx).join(numbers(ctx), lambda n: n % 5, lambda n: n)


@program
def unbounded_join_within(ctx):  # type: ignore[no-untyped-def]
    left, right = (timed(ctx).group_by(lambda n: n % 2) for _ in range(2))
    return left.join(right, within="2s")


@program
def unbounded_merge_with_bounded(ctx):  # type: ignore[no-untyped-def]
    return incoming(ctx).merge(numbers(ctx).map(opaque))


@program
def unbounded_unique(ctx):  # type: ignore[no-untyped-def]
    return incoming(ctx).unique().limit(5)


@program
def unbounded_reorder(ctx):  # type: ignore[no-untyped-def]
    return timed(ctx).reorder().fold("", lambda text, n: f"{text}{n}")


# --- None


def readings(ctx: mo.StreamContext) -> mo.Stream[Reading]:
    return ctx.stream_iter(READINGS)


@program
def optional_sum(ctx):  # type: ignore[no-untyped-def]
    return readings(ctx).group_by_sum(lambda r: r.place, lambda r: r.value)


@program
def optional_mean_and_extreme(ctx):  # type: ignore[no-untyped-def]
    means = readings(ctx).group_by_avg(lambda r: r.place, lambda r: r.at)
    return means.join(readings(ctx).group_by_max_element(lambda r: r.place, lambda r: r.value))


@program
def optional_window(ctx):  # type: ignore[no-untyped-def]
    return readings(ctx).window_all(mo.CountWindow.tumbling(2)).mean(lambda r: r.value)


@program
def optional_sort(ctx):  # type: ignore[no-untyped-def]
    return readings(ctx).sorted_by(lambda r: r.at)


@program
def narrowed_by_a_column(ctx):  # type: ignore[no-untyped-def]
    there = readings(ctx).filter(lambda r: r.at is not None and r.value is not None)
    return there.add_timestamps(lambda r: r.at).window_all(mo.EventTimeWindow.tumbling(2)).mean(lambda r: r.value)


@program
def narrowed_by_a_stage(ctx):  # type: ignore[no-untyped-def]
    there = readings(ctx).filter(lambda r: r.place is not None and hash(r.place) != 0)
    return there.group_by_sum(lambda r: r.place, lambda r: r.at)


@program
def narrowed_record(ctx):  # type: ignore[no-untyped-def]
    pairs = readings(ctx).map(lambda r: (r.at, r if r.place else None))
    return pairs.filter(lambda p: p[1] is not None).map(lambda p: p[1].value)  # type: ignore[union-attr]


@program
def narrowed_beside_wider(ctx):  # type: ignore[no-untyped-def]
    return readings(ctx).filter(lambda r: r.at is not None).merge(readings(ctx))

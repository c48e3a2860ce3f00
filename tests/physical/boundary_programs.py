"""Programs whose boundary nodes depend on keys, on row order or on the preceding operator; none is golden."""

from __future__ import annotations

from typing import Any

import morisot as mo
from tests.physical.programs import Program, add, incoming, numbers, opaque, trips, words

MORE: dict[str, Program] = {}
SECOND = mo.EventTimeWindow.tumbling("1s")
SESSION = mo.EventTimeWindow.session("1s")


def more(function: Program) -> Program:
    MORE[function.__name__] = function
    return function


def stamped(ctx: mo.StreamContext) -> mo.Stream[int]:
    return numbers(ctx).add_timestamps(lambda n: n * 1000)


def by_object(ctx: mo.StreamContext) -> mo.KeyedStream[Any, int]:
    """Keys that only Python compares."""
    return numbers(ctx).group_by(lambda n: frozenset({n}))


def by_rest(stream: mo.Stream[int]) -> mo.KeyedStream[int, int]:
    return stream.group_by(lambda n: n % 2)


def seen_in_order(stream: Any) -> Any:
    """Something that depends on the order of a stream."""
    return (stream.drop_key() if isinstance(stream, mo.KeyedStream) else stream).fold("", lambda text, n: f"{text}{n}")


# --- rows that are together already


@more
def sort_of_one_partition(ctx):  # type: ignore[no-untyped-def]
    return numbers(ctx).rich_map(0, lambda total, n: (total + n, n)).sorted_by(lambda n: n)


@more
def count_of_one_partition(ctx):  # type: ignore[no-untyped-def]
    return numbers(ctx).parallelism(1).count()


@more
def sum_after_repartition(ctx):  # type: ignore[no-untyped-def]
    return numbers(ctx).repartition_by(lambda n: n % 2).map(lambda key, n: n + 1).count()


@more
def aggregate_of_an_aggregate(ctx):  # type: ignore[no-untyped-def]
    return by_rest(numbers(ctx)).reduce(lambda a, b: max(a, b)).filter(lambda key, n: n > 1).count()


@more
def aggregate_after_new_keys(ctx):  # type: ignore[no-untyped-def]
    return by_rest(numbers(ctx)).reduce(lambda a, b: max(a, b)).drop_key().group_by_count(lambda n: n)


@more
def windows_after_repartition(ctx):  # type: ignore[no-untyped-def]
    return stamped(ctx).repartition_by(lambda n: n % 2).window(mo.EventTimeWindow.sliding("4s", "2s")).sum()


# --- row order that is restored


@more
def keys_in_order(ctx):  # type: ignore[no-untyped-def]
    return seen_in_order(by_rest(numbers(ctx)).count())


@more
def best_in_order(ctx):  # type: ignore[no-untyped-def]
    return seen_in_order(trips(ctx).group_by_max_element(lambda t: t.city, lambda t: t.km))


@more
def unique_in_order(ctx):  # type: ignore[no-untyped-def]
    return seen_in_order(numbers(ctx).unique())


@more
def fold_in_python_in_order(ctx):  # type: ignore[no-untyped-def]
    return seen_in_order(numbers(ctx).group_by_sum(lambda n: n % 2, opaque))


@more
def windows_in_order(ctx):  # type: ignore[no-untyped-def]
    return seen_in_order(by_rest(numbers(ctx)).window(mo.CountWindow.sliding(3, 1)).sum())


@more
def sessions_in_python_in_order(ctx):  # type: ignore[no-untyped-def]
    return seen_in_order(stamped(ctx).window_all(SESSION).map(lambda window: repr(window)))


@more
def sessions_of_lists_in_order(ctx):  # type: ignore[no-untyped-def]
    return seen_in_order(by_rest(stamped(ctx)).window(SESSION).map(lambda window: window[0]))


@more
def join_in_order(ctx):  # type: ignore[no-untyped-def]
    return seen_in_order(by_rest(numbers(ctx)).join(by_rest(numbers(ctx))))


@more
def shuffle_in_order(ctx):  # type: ignore[no-untyped-def]
    return seen_in_order(numbers(ctx).shuffle().parallelism(3))


@more
def state_in_order(ctx):  # type: ignore[no-untyped-def]
    return seen_in_order(by_rest(numbers(ctx)).rich_map(0, lambda total, key, n: (total + n, total)))


# --- keys that only Python compares, and values that Spark sorts


@more
def count_by_object(ctx):  # type: ignore[no-untyped-def]
    return by_object(ctx).count()


@more
def unique_objects(ctx):  # type: ignore[no-untyped-def]
    return numbers(ctx).map(lambda n: frozenset({n})).unique()


@more
def state_by_object(ctx):  # type: ignore[no-untyped-def]
    return by_object(ctx).rich_map(0, lambda total, key, n: (total + n, total))


def trips_twice(ctx: mo.StreamContext) -> mo.Stream[Any]:
    return trips(ctx).join(trips(ctx), lambda t: t.city, lambda t: t.city).drop_key()


@more
def best_of_a_join(ctx):  # type: ignore[no-untyped-def]
    return trips_twice(ctx).group_by_max_element(lambda p: p[0].city, lambda p: p[1].km)


@more
def best_of_a_join_in_order(ctx):  # type: ignore[no-untyped-def]
    return seen_in_order(trips_twice(ctx).group_by_max_element(lambda p: p[0].city, lambda p: p[1].km))


@more
def counts_of_a_join_by_count(ctx):  # type: ignore[no-untyped-def]
    counts = trips_twice(ctx).group_by_count(lambda p: p[0].km).unkey().sorted_by(lambda pair: pair[1])
    return counts.group_by(lambda pair: pair[1]).rich_map(0, lambda seen, n, pair: (seen + pair[0], seen))


@more
def distinct_of_a_join_in_order(ctx):  # type: ignore[no-untyped-def]
    return seen_in_order(trips_twice(ctx).map(lambda p: p[0].km).unique())


@more
def windows_of_a_join_in_order(ctx):  # type: ignore[no-untyped-def]
    pairs = trips_twice(ctx).add_timestamps(lambda p: p[0].riders * 1000).group_by(lambda p: p[0].city)
    return seen_in_order(pairs.window(SECOND).count())


@more
def join_by_object(ctx):  # type: ignore[no-untyped-def]
    return by_object(ctx).join(by_object(ctx))


@more
def windows_by_object(ctx):  # type: ignore[no-untyped-def]
    return stamped(ctx).group_by(lambda n: frozenset({n})).window(SECOND).sum()


@more
def longest_text(ctx):  # type: ignore[no-untyped-def]
    return words(ctx).group_by(lambda text: len(text)).reduce(lambda a, b: max(a, b))


@more
def first_of_windows(ctx):  # type: ignore[no-untyped-def]
    return by_rest(stamped(ctx)).window(SECOND).first()


# --- windows and joins


@more
def native_sessions(ctx):  # type: ignore[no-untyped-def]
    return by_rest(stamped(ctx)).window(SESSION).sum()


@more
def native_sessions_of_all(ctx):  # type: ignore[no-untyped-def]
    return stamped(ctx).window_all(SESSION).count()


@more
def count_windows_of_all(ctx):  # type: ignore[no-untyped-def]
    return numbers(ctx).window_all(mo.CountWindow.tumbling(2)).sum()


@more
def last_of_keys(ctx):  # type: ignore[no-untyped-def]
    return by_rest(numbers(ctx)).window(mo.LastK(2)).sum()


@more
def one_window(ctx):  # type: ignore[no-untyped-def]
    return by_rest(numbers(ctx)).window(mo.AllWindow()).max()


@more
def windows_in_python(ctx):  # type: ignore[no-untyped-def]
    return by_rest(stamped(ctx)).window(SECOND).map(lambda window: repr(window))


@more
def windows_of_lists(ctx):  # type: ignore[no-untyped-def]
    windows = by_rest(stamped(ctx)).window(SECOND)
    return windows.aggregate(n=mo.agg.map(lambda window: len(window)), least=mo.agg.min_element(lambda n: n))


@more
def count_window_join(ctx):  # type: ignore[no-untyped-def]
    return by_rest(numbers(ctx)).window(mo.CountWindow.tumbling(2)).join(by_rest(numbers(ctx)))


@more
def session_join(ctx):  # type: ignore[no-untyped-def]
    return by_rest(stamped(ctx)).window(SESSION).join(by_rest(stamped(ctx)))


@more
def outer_join(ctx):  # type: ignore[no-untyped-def]
    return by_rest(numbers(ctx)).outer_join(by_rest(numbers(ctx)))


@more
def join_by_hash(ctx):  # type: ignore[no-untyped-def]
    joining = numbers(ctx).join_with(numbers(ctx), lambda n: n % 2, lambda n: n % 3)
    return joining.ship_hash().local_hash().inner()


@more
def join_with_broadcast(ctx):  # type: ignore[no-untyped-def]
    return by_rest(numbers(ctx)).join(by_rest(numbers(ctx).broadcast()))


@more
def left_interval_join(ctx):  # type: ignore[no-untyped-def]
    return by_rest(stamped(ctx)).left_join(by_rest(stamped(ctx)), within="1s")


@more
def scan_by_key(ctx):  # type: ignore[no-untyped-def]
    return by_rest(numbers(ctx)).reduce_scan(lambda a, b: a + b)


# --- loops


@more
def replay_by_rounds(ctx):  # type: ignore[no-untyped-def]
    def body(stream: Any, state: Any) -> Any:
        return stream.group_by(lambda n: n % 10).count().drop_key()

    return numbers(ctx).replay(5, 0, body, add, add, lambda state: state < 1000, delta=0)


@more
def replay_by_rounds_in_python(ctx):  # type: ignore[no-untyped-def]
    def body(stream: Any, state: Any) -> Any:
        return stream.group_by(lambda n: n % 10).count().drop_key().map(opaque)

    return numbers(ctx).replay(5, "", body, fold_text, fold_text, lambda state: len(state) < 9, delta="")


def fold_text(text: str, n: Any) -> str:
    return f"{text}{n}"


@more
def delta_iterate_in_python(ctx):  # type: ignore[no-untyped-def]
    labels = ctx.stream_iter([(1, 1), (2, 2)]).group_by(lambda p: p[0]).map(lambda k, p: p[1])
    return labels.delta_iterate(
        3,
        lambda key, held, label: label,
        lambda key, label: opaque(label),
        lambda key, label: label,
        lambda label: True,
        lambda changed: changed.map(lambda key, n: n + 1),
    )


# --- unbounded


@more
def unbounded_count_of_all(ctx):  # type: ignore[no-untyped-def]
    return incoming(ctx).count()


@more
def unbounded_state_by_object(ctx):  # type: ignore[no-untyped-def]
    return incoming(ctx).group_by(lambda n: frozenset({n})).rich_map(0, lambda total, key, n: (total + n, total))


@more
def unbounded_timestamps_in_python(ctx):  # type: ignore[no-untyped-def]
    return incoming(ctx).add_timestamps(opaque, delay="1s").reorder()


@more
def unbounded_join_with_table_in_order(ctx):  # type: ignore[no-untyped-def]
    table = numbers(ctx).map(opaque)
    pairs = incoming(ctx).join(table, lambda n: n % 5, lambda n: n).drop_key()
    return pairs.fold("", lambda text, pair: f"{text}{pair}")


@more
def unbounded_zip_with_bounded(ctx):  # type: ignore[no-untyped-def]
    return incoming(ctx).zip(numbers(ctx))


@more
def unbounded_idle_join(ctx):  # type: ignore[no-untyped-def]
    stamped = [incoming(ctx).add_timestamps(lambda n: n * 1000, delay="1s", idle="5s") for _ in range(2)]
    left, right = (each.group_by(lambda n: n) for each in stamped)
    return left.join(right, within="1s")

"""Query groups: which sinks of an unbounded job one query serves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import morisot as mo
from morisot.plan.analysis.query_groups import groups


def served(program: Callable[[mo.StreamContext], None]) -> list[tuple[str, list[str]]]:
    """The shared stream and the names of the sinks of each group."""
    ctx = mo.StreamContext(engine="reference")
    program(ctx)
    found = [
        (group.stream.operator, [each.input.label or each.operator for each in group.sinks])
        for group in groups(ctx._sinks)
    ]
    ctx._sinks = {}
    return found


def end(stream: Any, name: str) -> None:
    stream.name(name).for_each(print)


def test_a_sink_alone_is_a_group() -> None:
    assert served(lambda ctx: end(ctx.stream_rate(1).map(lambda n: n + 1), "a")) == [("for_each", ["a"])]


def test_sinks_of_one_stream() -> None:
    def program(ctx: mo.StreamContext) -> None:
        doubled = ctx.stream_rate(1).map(lambda n: n * 2)
        doubled.for_each(print)
        doubled.collect_channel()

    assert served(program) == [("map", ["for_each", "collect_channel"])]


def test_the_shared_stream_ends_with_the_last_common_operator() -> None:
    def program(ctx: mo.StreamContext) -> None:
        numbers = ctx.stream_rate(1)
        doubled = numbers.map(lambda n: n * 2)
        end(doubled.filter(lambda n: n > 3).map(lambda n: n - 1), "a")
        end(doubled.group_by(lambda n: n % 3), "b")
        end(numbers.shuffle(), "c")

    assert served(program) == [("stream_rate", ["a", "b", "c"])]


def test_branches_and_what_is_merged_of_them() -> None:
    def program(ctx: mo.StreamContext) -> None:
        even, odd = ctx.stream_rate(1).map(lambda n: n + 1).split_by(lambda n: n % 2, 2)
        end(even.merge(odd.map(lambda n: -n)), "both")
        end(odd.add_timestamps(lambda n: n, delay=0).drop_timestamps(), "odd")
        small, large = even.route(lambda n: n < 10, lambda n: True)
        end(small, "small")
        end(large, "large")

    assert served(program) == [("split_by", ["both", "odd", "small", "large"])]


def test_a_state_may_be_in_the_shared_stream_but_not_behind_it() -> None:
    def program(ctx: mo.StreamContext) -> None:
        sums = ctx.stream_rate(1).rich_map(0, lambda s, n: (s + n, s + n))
        end(sums, "a")
        end(sums.map(lambda n: n + 1), "b")
        end(sums.rich_map(0, lambda s, n: (n, n - s)), "c")
        end(sums.map(lambda n: n - 1).unique(), "d")

    assert served(program) == [
        ("rich_map", ["a", "b"]),
        ("for_each", ["c"]),
        ("for_each", ["d"]),
    ]


def test_running_values_are_shared() -> None:
    def program(ctx: mo.StreamContext) -> None:
        counts = ctx.stream_rate(1).group_by_count(lambda n: n % 3)
        end(counts, "a")
        end(counts.map(lambda k, n: n * 2), "b")

    assert served(program) == [("group_by_count", ["a", "b"])]


def test_several_streams_share_none_unless_they_are_merged() -> None:
    def program(ctx: mo.StreamContext) -> None:
        one, two = ctx.stream_rate(1), ctx.stream_rate(2)
        merged = one.merge(two)
        end(merged, "a")
        end(merged.map(lambda n: n + 1), "b")
        end(one, "c")
        end(two, "d")
        end(one.filter(lambda n: n > 1), "e")

    assert served(program) == [("merge", ["a", "b"]), ("stream_rate", ["c", "e"]), ("for_each", ["d"])]


def test_names_do_not_part_what_is_the_same() -> None:
    def program(ctx: mo.StreamContext) -> None:
        counts = ctx.stream_rate(1).name("numbers").map(lambda n: n + 1)
        counts.name("files").write_parquet("out")
        counts.name("seen").for_each(print)
        counts.map(lambda n: n + 1).for_each(print)
        end(ctx.stream_rate(1), "another source")

    ((stream, sinks), *others) = served(program)
    assert (stream, sinks) == ("map", ["files", "seen", "for_each"])
    assert others == [("for_each", ["another source"])]

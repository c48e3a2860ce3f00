"""Windows by count, by everything, by the last few, by transactions, and the aggregates of all of them."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import pytest

import morisot as mo
from morisot.types.element import ANY, FLOAT, INT, STR, Keyed, List
from tests.operators.engines import Runner

NUMBERS = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3]


class Sale(NamedTuple):
    shop: str
    price: float
    n: int


SALES = [
    Sale("a", 2.0, 1),
    Sale("b", 5.0, 2),
    Sale("a", 1.5, 3),
    Sale("a", 4.0, 1),
    Sale("b", 0.5, 7),
    Sale("b", 5.0, 1),
]


def listed(windows: Any) -> Any:
    return windows.map(lambda window: window)


def in_order(stream: mo.Stream[Any]) -> mo.Stream[str]:
    """The elements as one text: an operator that depends on their order."""
    return stream.fold("", lambda text, element: f"{text}{element} ")


def everything(windows: Any) -> Any:
    return windows.aggregate(
        total=mo.agg.sum(),
        n=mo.agg.count(),
        least=mo.agg.min(),
        most=mo.agg.max(),
        first=mo.agg.first(),
        last=mo.agg.last(),
        mean=mo.agg.mean(),
        half=mo.agg.sum(lambda n: n // 2),
        digits=mo.agg.fold((0, 9), lambda acc, n: (acc[0] + (1 if n % 2 == 0 else 0), min(acc[1], n))),
        product=mo.agg.reduce(lambda a, b: max(a, b)),
    )


# -- count -----------------------------------------------------------------------------------------------------------


def test_count_window_sliding(bounded_runner: Runner) -> None:
    result = bounded_runner.run(lambda s: in_order(listed(s.window_all(mo.CountWindow.sliding(4, 3)))), NUMBERS)
    assert result == ["[3, 1, 4, 1] [1, 5, 9, 2] [2, 6, 5, 3] "]


def test_count_window_that_is_not_exact_gives_the_first_incomplete_window(bounded_runner: Runner) -> None:
    windows = mo.CountWindow.sliding(4, 2, exact=False)
    result = bounded_runner.run(lambda s: in_order(listed(s.window_all(windows))), NUMBERS[:7])
    assert result == ["[3, 1, 4, 1] [4, 1, 5, 9] [5, 9, 2] "]


def test_count_window_that_skips_elements(bounded_runner: Runner) -> None:
    result = bounded_runner.run(lambda s: s.window_all(mo.CountWindow.sliding(1, 4)).first(), NUMBERS)
    assert sorted(result) == [3, 5, 5]


def test_count_window_of_each_key_in_the_order_they_are_complete(bounded_runner: Runner) -> None:
    def program(stream: mo.Stream[int]) -> mo.Stream[str]:
        windows = stream.group_by(lambda n: n % 2).window(mo.CountWindow.tumbling(2, exact=False))
        return in_order(windows.sum().with_bounds().unkey().map(lambda pair: (pair[0], *pair[1])))

    expected = "(1, 0, 2, 4) (1, 2, 4, 6) (0, 0, 2, 6) (1, 4, 6, 14) (1, 6, 7, 3) (0, 2, 3, 6) "
    assert bounded_runner.run(program, NUMBERS) == [expected]


def test_several_aggregates_in_one_pass(bounded_runner: Runner) -> None:
    (row,) = bounded_runner.run(lambda s: everything(s.window_all(mo.CountWindow.sliding(4, 7))), NUMBERS)
    assert row == (9, 4, 1, 4, 3, 1, 2.25, 3, (1, 1), 4)
    assert (row.total, row.n, row.product) == (9, 4, 4)


def test_several_aggregates_in_python(bounded_runner: Runner) -> None:
    def program(stream: mo.Stream[int]) -> mo.Stream[Any]:
        windows = stream.map(lambda n: n if n != 9 else 2**70, returns=object).window_all(mo.CountWindow.sliding(4, 3))
        return windows.aggregate(
            total=mo.agg.sum(),
            n=mo.agg.count(),
            least=mo.agg.min(),
            most=mo.agg.max(),
            first=mo.agg.first(),
            last=mo.agg.last(),
            mean=mo.agg.mean(lambda n: n % 10),
            all=mo.agg.map(lambda ns: ns),
            shifted=mo.agg.fold(0, lambda acc, n: acc * 10 + n % 10),
        )

    rows = bounded_runner.run(program, NUMBERS[:7])
    big = 2**70
    assert rows == [
        (9, 4, 1, 4, 3, 1, 2.25, [3, 1, 4, 1], 3141),
        (8 + big, 4, 1, big, 1, 2, 3.0, [1, 5, big, 2], 1542),
    ]


def test_an_overflow_of_the_native_sum_is_repaired(bounded_runner: Runner) -> None:
    big = 2**62
    result = bounded_runner.run(lambda s: s.window_all(mo.CountWindow.tumbling(3)).sum(), [big, big, -big])
    assert result == [big]


def test_extremes_of_floats_are_pythons(bounded_runner: Runner) -> None:
    def program(stream: mo.Stream[float]) -> mo.Stream[str]:
        windows = stream.window_all(mo.CountWindow.tumbling(3))
        return windows.aggregate(least=mo.agg.min(), most=mo.agg.max()).map(lambda row: f"{row.least} {row.most}")

    floats = [math.nan, 1.0, 2.0, 1.0, math.nan, 0.5, 0.0, -0.0, 0.0, -0.0, 0.0, -1.0]
    assert bounded_runner.run(program, floats) == ["nan nan", "0.5 1.0", "0.0 0.0", "-1.0 -0.0"]


def test_min_element_and_max_element_give_the_whole_element_the_first_of_equals(bounded_runner: Runner) -> None:
    def program(stream: mo.Stream[Sale]) -> mo.KeyedStream[str, Any]:
        windows = stream.group_by(lambda sale: sale.shop).window(mo.CountWindow.tumbling(3))
        return windows.aggregate(
            dear=mo.agg.max_element(lambda s: s.price), cheap=mo.agg.min_element(lambda s: s.price)
        )

    assert sorted(bounded_runner.run(program, SALES)) == [
        ("a", (Sale("a", 4.0, 1), Sale("a", 1.5, 3))),
        ("b", (Sale("b", 5.0, 2), Sale("b", 0.5, 7))),
    ]


def test_folds_that_keep_one_element(bounded_runner: Runner) -> None:
    def program(stream: mo.Stream[int]) -> mo.Stream[Any]:
        pairs = stream.map(lambda n: (n % 4, float(n)))
        windows = pairs.add_timestamps(lambda pair: 5).window_all(mo.EventTimeWindow.sliding(20, 10))
        return windows.aggregate(
            last=mo.agg.reduce(lambda a, b: b if b[0] >= a[0] else a),
            first=mo.agg.fold((2, 0.5), lambda a, b: b if b[0] > a[0] else a),
            start=mo.agg.fold((9, 0.5), lambda a, b: b if b[0] > a[0] else a),
            top=mo.agg.fold(1.5, lambda top, pair: max(top, pair[1])),
        )

    assert bounded_runner.run(program, [3, 1, 7, 2, 6]) == [((3, 7.0), (3, 3.0), (9, 0.5), 7.0)] * 2


def test_keys_of_any_type(bounded_runner: Runner) -> None:
    def program(stream: mo.Stream[int]) -> mo.Stream[str]:
        keyed = stream.group_by(lambda n: {0: "even", 1: (1, 2)}[n % 2], returns=object)
        return in_order(keyed.window(mo.CountWindow.tumbling(3)).sum().unkey())

    assert bounded_runner.run(program, NUMBERS) == ["((1, 2), 5) ('even', 12) ((1, 2), 19) "]


def test_a_count_window_has_the_timestamp_of_its_newest_element(bounded_runner: Runner) -> None:
    def program(stream: mo.Stream[int]) -> mo.Stream[int]:
        timed = stream.add_timestamps(lambda n: n)
        return timed.window_all(mo.CountWindow.tumbling(3)).first().reorder()

    assert bounded_runner.run(program, [1, 9, 2, 8, 3, 4, 7, 6, 5]) == [7, 8, 1]


# -- everything, the last few ----------------------------------------------------------------------------------------


def test_all_window(bounded_runner: Runner) -> None:
    def program(stream: mo.Stream[int]) -> mo.Stream[str]:
        windows = stream.group_by(lambda n: n > 4).window(mo.AllWindow())
        return in_order(
            windows.aggregate(total=mo.agg.sum()).with_bounds().map(lambda _, w: (w.end, w.value.total)).unkey()
        )

    assert bounded_runner.run(program, NUMBERS) == ["(False, (6, 14)) (True, (4, 25)) "]


def test_an_empty_stream_has_no_windows(bounded_runner: Runner) -> None:
    assert bounded_runner.run(lambda s: s.filter(lambda n: n > 9).window_all(mo.AllWindow()).count(), NUMBERS) == []


def test_last_k_natively_and_in_python(bounded_runner: Runner) -> None:
    def program(stream: mo.Stream[int]) -> mo.Stream[str]:
        windows = stream.add_timestamps(lambda n: n).group_by(lambda n: n % 2).window(mo.LastK(3))
        native = in_order(everything(windows).with_bounds().unkey())
        return native.map(lambda text: text.replace("Row", "").replace("Windowed", ""))

    (text,) = bounded_runner.run(program, NUMBERS)
    assert text.count("start=") == len(NUMBERS)
    assert text.startswith(
        "(1, (start=0, end=1, value=(total=3, n=1, least=3, most=3, first=3, last=3, mean=3.0, half=1,"
    )
    assert text.endswith(
        "value=(total=17, n=3, least=3, most=9, first=9, last=3, mean=5.666666666666667, half=7, "
        "digits=(0, 3), product=9))) "
    )
    lists = bounded_runner.run(lambda s: in_order(listed(s.window_all(mo.LastK(3)))), NUMBERS[:4])
    assert lists == ["[3] [3, 1] [3, 1, 4] [1, 4, 1] "]


def test_last_k(bounded_runner: Runner) -> None:
    def program(stream: mo.Stream[int]) -> mo.Stream[str]:
        return in_order(stream.group_by(lambda n: n % 2).window(mo.LastK(2)).sum().unkey())

    assert bounded_runner.run(program, NUMBERS[:6]) == ["(1, 3) (1, 4) (0, 4) (1, 2) (1, 6) (1, 14) "]


# -- transactions ----------------------------------------------------------------------------------------------------


def test_transaction_window(bounded_runner: Runner) -> None:
    def verdict(n: int) -> mo.Tx:
        return mo.Tx.COMMIT if n % 5 == 0 else mo.Tx.DISCARD if n == 9 else mo.Tx.NONE

    result = bounded_runner.run(lambda s: listed(s.window_all(mo.TransactionWindow(verdict))), NUMBERS)
    assert result == [[3, 1, 4, 1, 5], [2, 6, 5]]


def test_a_transaction_that_waits_for_a_time(bounded_runner: Runner) -> None:
    """It takes what comes until a later element does, and is complete when the stream ends."""

    def verdict(n: int) -> mo.Tx:
        return mo.Tx.commit_after(40) if n == 30 or n == 70 else mo.Tx.NONE

    def program(stream: mo.Stream[int]) -> Any:
        return listed(stream.add_timestamps(lambda n: n).window_all(mo.TransactionWindow(verdict))).with_bounds()

    result = bounded_runner.run(program, [10, 30, 40, 20, 41, 70, 50])
    assert result == [mo.Windowed(0, 4, [10, 30, 40, 20]), mo.Windowed(4, 6, [41, 70])]


def test_a_transaction_without_timestamps_cannot_wait(bounded_runner: Runner) -> None:
    windows: mo.TransactionWindow[int] = mo.TransactionWindow(lambda n: mo.Tx.commit_after(4))
    with pytest.raises(mo.ElementError, match="Tx.commit_after needs a stream with timestamps"):
        bounded_runner.run(lambda s: s.window_all(windows).count(), NUMBERS)


def test_what_is_no_verdict_is_named(bounded_runner: Runner) -> None:
    with pytest.raises(mo.ElementError, match=r"element 3: .*must return a Tx, not False"):
        bounded_runner.run(lambda s: s.window_all(mo.TransactionWindow(lambda n: n == 4)).count(), NUMBERS)


# -- of the user's own -----------------------------------------------------------------------------------------------


class Rising(mo.CustomWindow[int, tuple[int, int | None]]):
    """A window for every run of numbers that do not fall."""

    def start(self) -> tuple[int, int | None]:
        return 0, None

    def assign(self, state: tuple[int, int | None], element: int, time: object) -> mo.Assigned:
        run, last = state
        if last is not None and element < last:
            return mo.Assigned((run + 1, element), into=[run + 1], close=[run])
        return mo.Assigned((run, element), into=[run])

    def end(self, state: tuple[int, int | None]) -> list[int]:
        return [state[0]]


class Distinct(mo.Accumulator[int, set[int], int]):
    """How many different elements there are."""

    def start(self) -> set[int]:
        return set()

    def add(self, held: set[int], element: int) -> set[int]:
        held.add(element)
        return held

    def finish(self, held: set[int]) -> int:
        return len(held)


def test_windows_of_ones_own(bounded_runner: Runner) -> None:
    result = bounded_runner.run(lambda s: in_order(listed(s.window_all(Rising()))), NUMBERS)
    assert result == ["[3] [1, 4] [1, 5, 9] [2, 6] [5] [3] "]


def test_an_accumulator_of_ones_own(bounded_runner: Runner) -> None:
    def program(stream: mo.Stream[int]) -> mo.Stream[Any]:
        windows = stream.window_all(mo.CountWindow.tumbling(5))
        return windows.aggregate(distinct=Distinct(), n=mo.agg.count())

    assert bounded_runner.run(program, NUMBERS) == [(4, 5), (5, 5)]
    stream = mo.StreamContext(engine="reference").stream_iter(NUMBERS).window_all(mo.LastK(2)).aggregate(Distinct())
    assert (stream.type, stream.collect()) == (INT, [1, 2, 2, 2, 2, 2, 2, 2, 2, 2])


# -- functions that fail ---------------------------------------------------------------------------------------------


def hottest(counts: list[tuple[str, int]]) -> list[tuple[str, int]]:
    most = max(count for _, count in counts)
    return sorted(pair for pair in counts if pair[1] == most)


def test_functions_of_lists(bounded_runner: Runner) -> None:
    """Lists with ties, None and several leaves, in overlapping windows, whose order is seen or not."""
    sales = [(shop, n) for n in range(12) for shop in ("b", "a")]

    def windows(s: mo.Stream[Any]) -> mo.Stream[str]:
        stamped = s.add_timestamps(lambda sale: sale[1])
        pairs = stamped.map(lambda sale: (sale[0], sale[1] % 3))
        hot = pairs.window_all(mo.EventTimeWindow.sliding(4, 2)).map(hottest).with_bounds()
        rest = stamped.map(lambda sale: sale[1] % 4 or None)
        lists = rest.window_all(mo.EventTimeWindow.tumbling(3)).map(lambda ns: (ns, len(ns)))
        of_shop = stamped.group_by(lambda sale: sale[0]).window(mo.AllWindow())
        sums = of_shop.map(lambda sales: (sales[0][1], sum(n for _, n in sales))).unkey()
        return in_order(hot.map(lambda w: f"{w.start}:{len(w.value)}{w.value[0][0]}")).merge(
            in_order(lists.map(lambda w: f"{w[1]}{[n or 0 for n in w[0]]}")),
            in_order(sums.map(lambda pair: f"{pair[0]}{pair[1][0]},{pair[1][1]}")),
        )

    hot = "-2:2a 0:2a 2:4a 4:2a 6:2a 8:4a 10:2a "
    lists = "6[0, 0, 1, 1, 2, 2] 6[3, 3, 0, 0, 1, 1] 6[2, 2, 3, 3, 0, 0] 6[1, 1, 2, 2, 3, 3] "
    assert bounded_runner.run(windows, sales) == [hot, lists, "b0,66 a0,66 "]


def test_max_and_min_elements(bounded_runner: Runner) -> None:
    words = ["bb", "a", "cc", "d", "eee", "f", "ggg"]

    def extremes(s: mo.Stream[str]) -> mo.Stream[str]:
        windows = s.window_all(mo.CountWindow.tumbling(3, exact=False))
        lengths = s.group_by(lambda w: w < "d").window(mo.CountWindow.sliding(3, 1))
        found = lengths.max_elements(len).with_bounds().unkey()
        bounds = found.map(lambda p: f"{p[0]}{p[1].start}{p[1].end}{p[1].value}")
        return in_order(windows.max_elements(len)).merge(in_order(windows.min_elements(len)), in_order(bounds))

    largest, smallest, bounds = bounded_runner.run(extremes, words)
    assert (largest, smallest) == ("bb cc eee ggg ", "a d f ggg ")
    assert bounds == "True03bb True03cc False03eee False14eee False14ggg "


def test_a_failing_function_names_the_element_or_the_content(bounded_runner: Runner) -> None:
    with pytest.raises(mo.ElementError) as caught:
        bounded_runner.run(
            lambda s: s.window_all(mo.CountWindow.tumbling(2)).fold(1, lambda a, n: 6 // (n - 4)), NUMBERS
        )
    assert (caught.value.operator, caught.value.element) == ("window_all.fold", "4")
    with pytest.raises(mo.ElementError) as caught:
        bounded_runner.run(lambda s: s.window_all(mo.CountWindow.tumbling(2)).map(lambda ns: ns[2]), NUMBERS)  # demoted
    assert (caught.value.operator, caught.value.element) == ("window_all.map", "[3, 1]")


# -- types and forms -------------------------------------------------------------------------------------------------


def test_types() -> None:
    sales = mo.StreamContext(engine="reference").stream_iter(SALES).group_by(lambda sale: sale.shop)
    windows = sales.window(mo.CountWindow.tumbling(2))
    assert windows.sum(lambda sale: sale.price).type == Keyed(STR, FLOAT)
    assert windows.sum(lambda sale: sale.n > 1).type == Keyed(STR, INT)
    assert windows.mean(lambda sale: sale.n).type == Keyed(STR, FLOAT)
    assert windows.max(lambda sale: sale.shop).type == Keyed(STR, STR)
    assert windows.first().type == sales.type
    assert windows.map(lambda window: [sale.price for sale in window]).type == Keyed(STR, List(FLOAT))
    assert windows.map(lambda window: window[0].__class__).type == Keyed(STR, ANY)
    assert windows.map(lambda window: window[0].__class__.__name__, returns=str).type == Keyed(STR, STR)
    assert str(windows.with_bounds().count().type) == "str → Windowed"


def test_forms() -> None:
    numbers = mo.StreamContext(engine="reference").stream_iter(NUMBERS)
    windows = numbers.window_all(mo.CountWindow.tumbling(2))

    def forms(stream: mo.Stream[Any] | mo.KeyedStream[Any, Any]) -> list[tuple[str, str]]:
        return [(record.form, record.reason) for record in stream.forms()]

    assert forms(windows.sum(lambda n: n + 1)) == [("column", "")]
    assert forms(windows.fold(0, lambda a, n: a + n)) == [("column", "")]
    assert forms(windows.map(lambda ns: ns)) == [("column", "")]
    assert forms(windows.map(lambda ns: str(ns))) == [("stage", "str(list[int]) has no exact column form")]
    whole = numbers.window_all(mo.AllWindow())
    assert forms(whole.map(len)) == [("stage", "a list of all elements of a stream is built in Python")]
    mixed = windows.aggregate(total=mo.agg.sum(lambda n: n + 1), all=mo.agg.map(str))
    assert forms(mixed)[0] == ("stage", "the window, or another of its aggregates, runs in Python")
    assert forms(numbers.window_all(mo.LastK(2)).sum(lambda n: n + 1)) == [("column", "")]
    of_any = numbers.group_by(lambda n: {0: "even", 1: (1, 2)}[n % 2])
    (_, (form, reason)) = forms(of_any.window(mo.LastK(2)).sum(lambda n: n + 1))
    assert (form, reason) == ("stage", "the window, or another of its aggregates, runs in Python")

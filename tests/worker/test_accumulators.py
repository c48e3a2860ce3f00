"""The accumulators of the aggregates: in one pass, in parts, and with elements left out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import morisot as mo
from morisot.worker.aggregate.accumulators import (
    Accumulates,
    CountAccumulator,
    CustomAccumulator,
    ExtremeAccumulator,
    FoldAccumulator,
    ListAccumulator,
    MeanAccumulator,
    Mergeable,
    MergeableExtremeAccumulator,
    MergeableFoldAccumulator,
    ReduceAccumulator,
    SumAccumulator,
    earlier,
    itself,
    later,
)

NAN = float("nan")
NUMBERS = st.lists(st.sampled_from([NAN, -1.0, 0.0, 1.0, 2.0, 2.0]), min_size=1, max_size=6)


def added(total: Any, element: Any) -> Any:
    return total + element


def appended(elements: list[Any], element: Any) -> list[Any]:
    elements.append(element)
    return elements


def extreme(largest: bool) -> ExtremeAccumulator:
    return ExtremeAccumulator(lambda pair: pair[1], largest, whole=True)


MERGEABLE: dict[str, tuple[Mergeable, Callable[[Sequence[Any]], Any]]] = {
    "sum": (SumAccumulator(lambda pair: pair[0]), lambda pairs: sum(pair[0] for pair in pairs)),
    "mean": (MeanAccumulator(lambda pair: pair[0]), lambda pairs: sum(pair[0] for pair in pairs) / len(pairs)),
    "min": (MergeableExtremeAccumulator(extreme(False)), lambda pairs: min(pairs, key=lambda pair: pair[1])),
    "max": (MergeableExtremeAccumulator(extreme(True)), lambda pairs: max(pairs, key=lambda pair: pair[1])),
    "reduce": (ReduceAccumulator(added), lambda pairs: reduce(added, pairs)),
    "fold": (MergeableFoldAccumulator([], appended, merge=added), list),
}
"""Of pairs (index, number), with the result in one pass."""


def folded(accumulator: Accumulates, elements: Sequence[Any]) -> Any:
    held = accumulator.first(elements[0])
    for element in elements[1:]:
        held = accumulator.add(held, element)
    return held


@pytest.mark.parametrize("name", MERGEABLE)
@given(st.lists(NUMBERS, min_size=1, max_size=4))
@example([[NAN, 1.0], [NAN, 3.0, 2.0], [2.0]])
@example([[1.0], [NAN, 3.0]])
@example([[NAN], [NAN], [1.0]])
@example([[1.0], [NAN, NAN, 0.0, 2.0]])
def test_parts_merge_to_the_result_of_one_pass(name: str, numbers: list[list[float]]) -> None:
    accumulator, expected = MERGEABLE[name]
    pairs = list(enumerate(number for part in numbers for number in part))
    rest = iter(pairs)
    parts = [[next(rest) for _ in part] for part in numbers]
    merged = reduce(accumulator.merge, [folded(accumulator, part) for part in parts])
    assert accumulator.finish(merged) == accumulator.finish(folded(accumulator, pairs)) == expected(pairs)


@given(NUMBERS)
@example([NAN, 1.0])
def test_extremes_in_order_are_those_of_min_and_max(numbers: list[float]) -> None:
    pairs = list(enumerate(numbers))
    for largest, choose in ((False, min), (True, max)):
        accumulator = extreme(largest)
        assert accumulator.finish(folded(accumulator, pairs)) == choose(pairs, key=lambda pair: pair[1])
        values = ExtremeAccumulator(itself, largest, whole=False)
        assert repr(values.finish(folded(values, numbers))) == repr(choose(numbers))


class Product(mo.Accumulator[int, int, str]):
    def start(self) -> int:
        return 1

    def add(self, held: int, element: int) -> int:
        return held * element

    def finish(self, held: int) -> str:
        return f"{held}"


OTHERS: list[tuple[Accumulates, Any]] = [
    (CountAccumulator(), 3),
    (ListAccumulator(sorted), [1, 2, 3]),
    (FoldAccumulator([], appended), [3, 1, 2]),
    (ReduceAccumulator(earlier), 3),
    (ReduceAccumulator(later), 2),
    (CustomAccumulator(Product().start, Product().add, Product().finish), "6"),
]


@pytest.mark.parametrize(("accumulator", "expected"), OTHERS)
def test_other_aggregates_in_one_pass(accumulator: Accumulates, expected: Any) -> None:
    assert accumulator.finish(folded(accumulator, [3, 1, 2])) == expected
    assert accumulator.finish(folded(accumulator, [3, 1, 2])) == expected  # no value is shared between two passes

"""Counts of the tokens of texts in a worker."""

from __future__ import annotations

import pickle
import random
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pyarrow as pa
import pytest

from morisot.errors import ElementError
from morisot.types.element import INT, STR, Keyed, Tuple, Type
from morisot.worker.aggregate.token_counts import TokenCounts
from morisot.worker.codec.batches import decode
from morisot.worker.rowwise.steps import Step

LETTERS = [*"abAB", *"ΣßİKé", " ", " ", "\t", "\x1c", "\x85", "\x00", "\n", ",", "𐐀"]


def step(kind: Any, function: Callable[..., Any], *, keyed: bool = False) -> Step:
    return Step(kind, kind, None, keyed=keyed, function=function)


def task(*steps: Step, key: Type | None = STR, text_bytes: int = 100, most_held: int = 5) -> TokenCounts:
    output = INT if key is None else Keyed(key, INT)
    return TokenCounts(steps, None, output, pickle.dumps, "count", None, text_bytes, most_held)


def counted(found: TokenCounts, batches: Iterable[Sequence[str]]) -> list[Any]:
    """The rows of a task, in their order."""
    columns = (pa.RecordBatch.from_arrays([pa.array(texts, pa.string())], ["value"]) for texts in batches)
    return [row for batch in found(columns) for row in decode(batch.columns, found.output)]


SPLIT = step("flat_map", lambda line: line.lower().split())
BY_WORD = step("key_by", lambda word: word)


@pytest.mark.parametrize(("text_bytes", "most_held"), [(1, 5), (50, 5), (50, 10_000), (10_000, 10_000)])
def test_the_counts_are_those_of_python(text_bytes: int, most_held: int, chance: random.Random) -> None:
    for _ in range(20):
        sizes = [chance.choice([0, 1, 5, 40]) for _ in range(6)]
        batches = [["".join(chance.choices(LETTERS, k=chance.randrange(12))) for _ in range(n)] for n in sizes]
        rows = counted(task(SPLIT, BY_WORD, text_bytes=text_bytes, most_held=most_held), batches)
        words = [word for texts in batches for text in texts for word in text.lower().split()]
        totals: Counter[str] = Counter()
        for key, number in rows:
            totals[key] += number
        assert totals == Counter(words)
        assert list(totals) == list(dict.fromkeys(words))  # by first occurrence


def test_steps_after_the_split_see_words() -> None:
    steps = (
        SPLIT,
        step("filter", lambda word: len(word) > 1),
        step("map", lambda word: (len(word), word[0])),
        step("key_by", lambda pair: pair),
    )
    rows = counted(task(*steps, key=Tuple((INT, STR))), [["to be", "or not to Be a"]])
    assert dict(rows) == {(2, "t"): 2, (2, "b"): 2, (2, "o"): 1, (3, "n"): 1}


def test_without_keys_there_is_one_count() -> None:
    assert counted(task(SPLIT, key=None, text_bytes=10_000), [["to be", "", "or not"], []]) == [4]
    assert counted(task(SPLIT, key=None), [["", " "]]) == []


def test_an_error_of_the_split_has_the_text() -> None:
    numbers = step("flat_map", lambda line: [int(word) for word in line.split()])
    with pytest.raises(ElementError, match="'7 x'"):
        counted(task(numbers, step("key_by", str)), [["1 2"] * 30, ["3", "7 x", "y"]])


def test_an_error_of_a_later_step_has_the_word() -> None:
    with pytest.raises(ElementError, match="'x'"):
        counted(task(SPLIT, step("map", int), step("key_by", str)), [["7 x"]])

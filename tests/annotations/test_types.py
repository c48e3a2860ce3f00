"""Type checkers see the decorated function's own signature."""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_type

import pytest

import morisot as mo


@mo.pipeline(engine="reference")
def total_length(words: list[str], *, factor: int = 1) -> int:
    total = 0
    for word in mo.to_stream(words):
        assert_type(word, str)
        with mo.stage(replicate=2):
            length = len(word) * factor
        with mo.stage():
            total += length
    return total


@mo.pipeline
def bare(n: int) -> str:
    for i in mo.to_stream(range(n)):
        with mo.stage(on_init=lambda: 3.5) as rate:
            assert_type(rate, float)
            print(i * rate)
    return "end"


class Reader:
    @mo.pipeline(engine="reference")
    def read(self, count: int) -> list[int]:
        found: list[int] = []
        for i in mo.to_stream(range(count)):
            with mo.stage():
                square = i * i
            with mo.stage():
                found.append(square)
        return found


def test_signatures() -> None:
    assert_type(total_length(["a"], factor=2), int)
    assert_type(total_length.sequential(["ab"]), int)
    assert_type(Reader().read(2), list[int])
    assert_type(Reader().read.sequential(2), list[int])
    function: Callable[[list[str]], int] = total_length
    assert function(["abc"]) == 3
    with pytest.raises(TypeError):
        total_length(3, 4)  # type: ignore[arg-type, call-arg]
    with pytest.raises(TypeError):
        bare(count=3)  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        Reader().read("x")  # type: ignore[arg-type]

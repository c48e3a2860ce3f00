"""The work before a loop: it is saved with the first snapshot of the loop, and not repeated."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pytest

import morisot as mo

pytestmark = pytest.mark.jvm
ELEMENTS = 40


def row_wise(stream: mo.Stream[int], state: Any) -> mo.Stream[int]:
    """One barrier stage runs all rounds."""
    return stream.map(lambda n: n + state.value % 3)


def shuffled(stream: mo.Stream[int], state: Any) -> mo.Stream[int]:
    """A job runs each round."""
    return stream.group_by_sum(lambda n: n % 5, lambda n: n + state.value % 3).drop_key()


class Program:
    """Work before a loop that may fail in a round."""

    def __init__(self, spark: Any, directory: Path, body: Callable[..., mo.Stream[int]]) -> None:
        self._spark = spark
        self._directory = directory
        self._body = body

    def run(
        self, *, fails_in: int | None = None, restart: Literal["latest"] | int | None = "latest", retries: int = 0
    ) -> list[Any]:
        ctx = mo.StreamContext(
            self._spark,
            config=mo.Config(progress=False, max_retries=retries),
            snapshots=mo.Snapshots(self._directory / "saves", rounds=1, restart=restart, keep=100),
        )
        failures = [fails_in]
        return self.of(ctx, failures)

    def of(self, ctx: mo.StreamContext, failures: list[int | None]) -> list[Any]:
        asked = [0]
        seen = str(self._directory / "seen")

        def note(n: int) -> int:
            with open(seen, "a") as file:
                file.write("x")
            return n * 7 % 11

        def condition(_: Any) -> bool:
            asked[0] += 1
            if failures[0] is not None and asked[0] == failures[0]:
                failures[0] = None
                raise RuntimeError("broken off")
            return True

        numbers = ctx.stream_iter(list(range(ELEMENTS)), returns=int).map(note, returns=int)
        # not commutative: the partitions and the order of the elements must be those of the first run
        return numbers.replay(
            6,
            1,
            self._body,
            lambda delta, n: (delta * 31 + n) % 10007,
            lambda state, delta: (state * 17 + delta) % 10007,
            condition,
            delta=0,
        ).collect()

    @property
    def seen(self) -> int:
        return (self._directory / "seen").stat().st_size


@pytest.mark.parametrize("body", [row_wise, shuffled])
def test_the_work_before_a_loop_is_not_repeated(spark: Any, tmp_path: Path, body: Callable[..., Any]) -> None:
    plain = tmp_path / "plain"
    plain.mkdir()
    undisturbed = Program(spark, plain, body).run()
    program = Program(spark, tmp_path, body)
    with pytest.raises(mo.ElementError, match="broken off"):
        program.run(fails_in=3)
    assert program.seen == ELEMENTS
    assert program.run() == undisturbed
    assert program.seen == ELEMENTS
    assert program.run() == undisturbed  # the loop has ended
    assert program.seen == ELEMENTS
    assert program.run(restart=2) == undisturbed
    assert program.seen == ELEMENTS
    assert program.run(restart=None) == undisturbed
    assert program.seen == 2 * ELEMENTS


@pytest.mark.thorough
@pytest.mark.parametrize("body", [row_wise, shuffled])
def test_a_damaged_input_of_a_loop_is_computed_again(spark: Any, tmp_path: Path, body: Callable[..., Any]) -> None:
    program = Program(spark, tmp_path, body)
    with pytest.raises(mo.ElementError, match="broken off"):
        program.run(fails_in=3)
    damaged = next(tmp_path.glob("saves/loops/*/input/**/part-*"))
    damaged.write_bytes(damaged.read_bytes()[:-1])
    with pytest.warns(RuntimeWarning, match="The work before the loop is repeated"):
        found = program.run()
    assert program.seen == 2 * ELEMENTS
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        assert program.run(restart=2) == found  # it was saved again
    assert program.seen == 2 * ELEMENTS


@pytest.mark.thorough
@pytest.mark.parametrize("body", [row_wise, shuffled])
def test_a_retry_in_the_same_session_does_not_repeat_the_work(
    spark: Any, tmp_path: Path, body: Callable[..., Any]
) -> None:
    program = Program(spark, tmp_path, body)
    program.run(fails_in=3, retries=1)
    assert program.seen == ELEMENTS

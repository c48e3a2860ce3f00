"""Loops that a test can break off: run as `python -m tests.recovery.programs NAME DIRECTORY [DIE_IN_ROUND]`.

With a round given, the driver kills itself (kill -9) in that round.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import morisot as mo


class Total(NamedTuple):
    rounds: int
    sum: int


def added(left: Any, right: Any) -> Any:
    return left + right


def always(state: Any) -> bool:
    return True


def dying(in_round: int | None, condition: Callable[[Any], bool] = always) -> Callable[[Any], bool]:
    """A condition that kills this process when it is asked for the n-th time."""
    asked = [0]

    def ask(state: Any) -> bool:
        asked[0] += 1
        if in_round is not None and asked[0] == in_round:
            os.kill(os.getpid(), signal.SIGKILL)
        return condition(state)

    return ask


def primes(ctx: mo.StreamContext, die: int | None) -> Any:
    """Elements leave the loop; the condition changes the state."""

    def next_number(state: list[int]) -> bool:
        state[0] += 1
        return True

    state, elements = ctx.stream_iter(range(2, 1000)).iterate(
        32,
        [2],
        lambda s, state: s.filter(lambda x: x == state.value[0] or x % state.value[0] != 0),
        lambda delta, x: delta,
        lambda state, delta: state,
        dying(die, next_number),
        delta=0,
    )
    results = state.collect_vec(), elements.collect_vec()
    ctx.execute()
    return [result.get() for result in results]


def replay(ctx: mo.StreamContext, die: int | None) -> Any:
    """The state is a record with an array."""
    stream = ctx.stream_iter(range(100)).replay(
        12,
        (Total(0, 1), np.zeros(3)),
        lambda s, state: s.map(lambda n: n * state.value[0].sum % 1009),
        added,
        lambda state, delta: (Total(state[0].rounds, state[0].sum + delta), state[1] + delta),
        dying(die),
        delta=0,
    )
    ((total, array),) = stream.collect()
    return [total.sum, array.tolist()]


def sequence(ctx: mo.StreamContext, die: int | None) -> Any:
    """Two loops, one after the other; the second one dies."""
    _, doubled = ctx.stream_iter([1, 2, 3]).iterate(
        4, 0, lambda s, state: s.map(lambda n: n * 2), added, added, always, delta=0
    )
    return doubled.replay(
        10, 0, lambda s, state: s.map(lambda n: n + state.value % 7), added, added, dying(die), delta=0
    ).collect()


def nested(ctx: mo.StreamContext, die: int | None) -> Any:
    """A loop inside a loop; the inner condition counts through all rounds of the outer one."""
    inner = dying(die)
    return (
        ctx.stream_iter(range(10))
        .replay(
            3,
            0,
            lambda s, outer: s.replay(
                4,
                0,
                lambda t, state: t.map(lambda n: n + outer.value % 5 + state.value % 3),
                added,
                added,
                inner,
                delta=0,
            ),
            added,
            added,
            always,
            delta=0,
        )
        .collect()
    )


def grouping(ctx: mo.StreamContext, die: int | None) -> Any:
    """A loop that runs round by round, with feedback."""
    state, elements = ctx.stream_iter(range(20)).iterate(
        4,
        0,
        lambda s, state: s.group_by_sum(lambda n: n % 5, lambda n: n + state.value % 3).drop_key(),
        added,
        added,
        dying(die),
        delta=0,
    )
    results = state.collect_vec(), elements.collect_vec()
    ctx.execute()
    return [results[0].get(), sorted(results[1].get())]


PROGRAMS = {program.__name__: program for program in (primes, replay, sequence, nested, grouping)}


def expected(name: str) -> Any:
    """What the reference engine gives."""
    return json.loads(json.dumps(PROGRAMS[name](mo.StreamContext(engine="reference"), None)))


def main(name: str, directory: str, die: str = "", engine: str = "spark", restart: str = "latest") -> None:
    config = mo.Config(master="local[2]", parallelism=2, memory="1g", progress=False, engine=engine)
    number = int(restart) if restart.isdigit() else "latest"
    snapshots = mo.Snapshots(directory, rounds=2, restart=number, keep=100)  # type: ignore[arg-type]
    with mo.StreamContext(config=config, snapshots=snapshots) as ctx:
        print("started", flush=True)
        result = PROGRAMS[name](ctx, int(die) if die else None)
        rounds = [loop["first_round"] for loop in ctx.metrics()["loops"]]
    print(json.dumps({"result": result, "first_rounds": rounds}))


if __name__ == "__main__":
    main(*sys.argv[1:])

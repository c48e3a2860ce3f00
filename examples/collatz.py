"""Collatz: which number takes the most steps to 1? A loop of one round, whose body is a loop over numbers.

Run it with `python examples/collatz.py [--up-to N]`.
"""

from __future__ import annotations

import argparse
import time

import morisot as mo


def steps(n: int) -> tuple[int, int]:
    count, start = 0, n
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        count += 1
    return count, start


def longer(best: tuple[int, int], found: tuple[int, int]) -> tuple[int, int]:
    return found if found[0] > best[0] else best


def main() -> None:
    parser = argparse.ArgumentParser(description="The longest Collatz sequence.")
    parser.add_argument("--up-to", type=int, default=300_000)
    given = parser.parse_args()
    with mo.StreamContext() as ctx:
        ctx.spark  # noqa: B018 - Spark starts when it is first needed: now, to tell its start-up from the job
        began = time.perf_counter()
        numbers = ctx.stream_par_iter(range(1, given.up_to + 1))
        longest = numbers.replay(
            1,
            (0, 0),
            lambda stream, state: stream.map(steps),
            longer,
            longer,
            lambda state: True,
            delta=(0, 0),
        )
        ((count, start),) = longest.collect()
        seconds = time.perf_counter() - began
        longest.explain()
    print(f"{start:,} takes {count} steps to 1, the most of all numbers up to {given.up_to:,} ({seconds:.1f} s)")


if __name__ == "__main__":
    main()

"""Counts the primes up to a number by trial division: `python examples/pipelines/primes.py 500000 --workers 2`."""

import argparse

import morisot as mo


@mo.pipeline
def count_primes(n: int, workers: int) -> int:
    total = 0
    for i in mo.to_stream(range(2, n + 1)):
        prime = True
        with mo.stage(replicate=workers):
            for j in range(2, i):
                if i % j == 0:
                    prime = False
                    break
        with mo.stage():
            total += prime
    return total


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("n", type=int, nargs="?", default=20_000)
    parser.add_argument("--workers", type=int, default=2)
    arguments = parser.parse_args()
    print(count_primes(arguments.n, arguments.workers))

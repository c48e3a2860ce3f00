"""Counts primes with a pool."""

from multiprocessing import Pool


def is_prime(i: int) -> bool:
    prime = True
    for j in range(2, i):
        if i % j == 0:
            prime = False
            break
    return prime


def count_primes(n: int, workers: int) -> int:
    total = 0
    with Pool(workers) as pool:
        for prime in pool.imap(is_prime, range(2, n + 1), chunksize=256):
            total += prime
    return total

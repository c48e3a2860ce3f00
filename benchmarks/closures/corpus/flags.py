"""Bits, booleans and small decisions."""

from enum import IntFlag

from benchmarks.closures.entry import closure
from benchmarks.closures.rows import Trip, User, int_pairs, ints, signed, small, trips, users

READ, WRITE, RUN = 1, 2, 4
PAYMENTS = {1: "card", 2: "cash", 3: "no charge", 4: "dispute"}


class Permission(IntFlag):
    """The same, as an enumeration."""

    READ = 1
    WRITE = 2
    RUN = 4


closure(ints, "doubled", int)(lambda x: x * 2)
closure(ints, "is_even", bool)(lambda x: x % 2 == 0)
closure(ints, "key_of_ten", int)(lambda x: x % 10)
closure(signed, "absolute", int)(abs)
closure(small, "can_write", bool)(lambda mode: mode & WRITE != 0)
closure(small, "without_run", int)(lambda mode: mode & ~RUN)
closure(small, "low_bits", int)(lambda mode: mode & 0b111)


@closure(small)
def mode_text(mode: int) -> str:
    return ("r" if mode & READ else "-") + ("w" if mode & WRITE else "-") + ("x" if mode & RUN else "-")


@closure(small)
def can_all(mode: int) -> bool:
    return mode & (READ | WRITE) == READ | WRITE


@closure(small)
def by_enum(mode: int) -> bool:
    return bool(mode & Permission.WRITE)


@closure(small)
def bits_set(mode: int) -> int:
    return bin(mode).count("1")


@closure(small)
def bit_names(mode: int) -> list[str]:
    return [name for bit, name in enumerate(("read", "write", "run")) if mode >> bit & 1]


@closure(ints)
def bytes_of(n: int) -> tuple[int, int, int]:
    return n >> 16 & 255, n >> 8 & 255, n & 255


@closure(ints)
def packed(n: int) -> int:
    return (n % 24 << 12) | (n % 60 << 6) | (n % 59)


@closure(ints)
def fizz(n: int) -> str:
    if n % 15 == 0:
        return "FizzBuzz"
    if n % 3 == 0:
        return "Fizz"
    return "Buzz" if n % 5 == 0 else str(n)


@closure(ints)
def is_power_of_two(n: int) -> bool:
    return n > 0 and n & (n - 1) == 0


@closure(ints)
def mixed(n: int) -> int:
    n ^= n >> 13
    n = n * 31 % 1_000_003
    return n ^ n >> 7


@closure(int_pairs)
def larger_first(pair: tuple[int, int]) -> tuple[int, int]:
    a, b = pair
    return (a, b) if a >= b else (b, a)


@closure(int_pairs)
def share_of(pair: tuple[int, int]) -> tuple[int, int]:
    return divmod(pair[0], pair[1])


@closure(trips)
def payment(t: Trip) -> str:
    return PAYMENTS.get(t.payment, "unknown")


@closure(trips)
def is_long_shared(t: Trip) -> bool:
    return t.distance > 5.0 and t.passengers > 2 and t.payment == 1


@closure(users)
def flags_of(u: User) -> int:
    return (1 if u.active else 0) | (2 if "vip" in u.tags else 0) | (4 if u.is_adult else 0)


@closure(users)
def is_target(u: User) -> bool:
    return u.active and not ("churned" in u.tags or "staff" in u.tags) and u.score > 30

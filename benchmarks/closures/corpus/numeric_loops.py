"""Number theory, state machines and simulations: loops over numbers."""

import math

from benchmarks.closures.entry import numeric_loop, other_loop
from benchmarks.closures.rows import (
    Reading,
    float_lists,
    floats,
    genes,
    int_lists,
    int_pairs,
    ints,
    positive,
    readings,
    seconds,
    signed,
    small,
)  # fmt: skip


@numeric_loop(ints)
def collatz(n: int) -> int:
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


@numeric_loop(ints)
def is_prime(n: int) -> bool:
    if n < 2:
        return False
    if n % 2 == 0:
        return n == 2
    d = 3
    while d * d <= n:
        if n % d == 0:
            return False
        d += 2
    return True


@numeric_loop(int_pairs)
def gcd(pair: tuple[int, int]) -> int:
    a, b = pair
    while b:
        a, b = b, a % b
    return a


@numeric_loop(small)
def fibonacci(n: int) -> int:
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a


@numeric_loop(ints)
def digit_sum(n: int) -> int:
    total = 0
    while n > 0:
        total += n % 10
        n //= 10
    return total


@numeric_loop(ints)
def reversed_number(n: int) -> int:
    result = 0
    while n:
        result = result * 10 + n % 10
        n //= 10
    return result


@numeric_loop(ints)
def ones(n: int) -> int:
    found = 0
    while n:
        n &= n - 1
        found += 1
    return found


@numeric_loop(ints)
def divisors(n: int) -> int:
    n, found = n % 2000 + 1, 0
    for d in range(1, n + 1):
        if n % d == 0:
            found += 1
    return found


@numeric_loop(ints)
def is_armstrong(n: int) -> bool:
    digits, rest = 0, n
    while rest:
        digits += 1
        rest //= 10
    total, rest = 0, n
    while rest:
        total += (rest % 10) ** digits
        rest //= 10
    return total == n


@numeric_loop(ints)
def luhn(n: int) -> bool:
    total, double = 0, False
    while n > 0:
        digit = n % 10
        if double:
            digit *= 2
            if digit > 9:
                digit -= 9
        total += digit
        double = not double
        n //= 10
    return total % 10 == 0


@numeric_loop(int_pairs)
def power_mod(pair: tuple[int, int]) -> int:
    base, exponent = pair
    result, base = 1, base % 10_007
    while exponent > 0:
        if exponent & 1:
            result = result * base % 10_007
        base = base * base % 10_007
        exponent >>= 1
    return result


@numeric_loop(positive)
def cube_root(x: float) -> float:
    low, high = 0.0, max(1.0, x)
    while high - low > 1e-9:
        middle = (low + high) / 2
        if middle * middle * middle < x:
            low = middle
        else:
            high = middle
    return low


@numeric_loop(floats)
def pi_terms(x: float) -> float:
    total, sign = 0.0, 1.0
    for k in range(int(abs(x)) // 10 + 1):
        total += sign / (2 * k + 1)
        sign = -sign
    return 4 * total


@numeric_loop(positive)
def simpson(x: float) -> float:
    h, total = x / 20, 0.0
    for i in range(20):
        a = i * h
        total += math.exp(-a / 500) + 4 * math.exp(-(a + h / 2) / 500) + math.exp(-(a + h) / 500)
    return total * h / 6


@numeric_loop(positive)
def decay_steps(x: float) -> int:
    steps = 0
    while x > 0.01:
        x *= 0.9
        steps += 1
    return steps


@numeric_loop(readings)
def thermostat(r: Reading) -> float:
    temperature, heating = r.value, False
    for _ in range(100):
        if temperature < 19.0:
            heating = True
        elif temperature > 22.0:
            heating = False
        temperature += 0.3 if heating else -0.1
    return temperature


@numeric_loop(readings)
def battery_hours(r: Reading) -> int:
    charge, hours = float(r.battery), 0
    while charge > 1.0 and hours < 1000:
        charge -= 0.5 + charge * 0.01
        hours += 1
    return hours


@numeric_loop(signed)
def linear_congruential(seed: int) -> int:
    state = seed
    for _ in range(10):
        state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return state


@numeric_loop(seconds)
def bouncing(n: int) -> int:
    position, step, hits = 0, 7, 0
    for _ in range(n % 500):
        position += step
        if position > 100 or position < 0:
            step = -step
            hits += 1
    return hits


@numeric_loop(small)
def traffic_light(n: int) -> int:
    state, waiting = 0, 0
    for tick in range(n):
        if state == 0 and tick % 7 == 0:
            state = 1
        elif state == 1:
            state = 2
        elif state == 2 and waiting > 3:
            state, waiting = 0, 0
        else:
            waiting += 1
    return state * 100 + waiting


@numeric_loop(int_lists)
def largest_run(xs: list[int]) -> int:
    best = current = 0
    for x in xs:
        current = max(0, current + x)
        best = max(best, current)
    return best


@numeric_loop(int_lists)
def alternating_sum(xs: list[int]) -> int:
    total = 0
    for i, x in enumerate(xs):
        total += x if i % 2 == 0 else -x
    return total


@numeric_loop(float_lists)
def smoothed(xs: list[float]) -> float:
    value = xs[0]
    for x in xs[1:]:
        value = 0.3 * x + 0.7 * value
    return value


@numeric_loop(float_lists)
def variance(xs: list[float]) -> float:
    mean = sum(xs) / len(xs)
    total = 0.0
    for x in xs:
        total += (x - mean) ** 2
    return total / len(xs)


@other_loop(genes)
def longest_repeat(gene: str) -> int:
    best = run = 1
    for i in range(1, len(gene)):
        run = run + 1 if gene[i] == gene[i - 1] else 1
        best = max(best, run)
    return best


@other_loop(small)
def fizz_buzz(n: int) -> str:
    lines = []
    for i in range(1, n + 1):
        lines.append("FizzBuzz" if i % 15 == 0 else "Fizz" if i % 3 == 0 else "Buzz" if i % 5 == 0 else str(i))
    return " ".join(lines)

"""Numbers and categories for a model."""

import math
import zlib

from benchmarks.closures.entry import closure, numeric_loop
from benchmarks.closures.rows import (
    Order,
    Product,
    Reading,
    User,
    features,
    float_lists,
    floats,
    int_lists,
    maybe_floats,
    orders,
    positive,
    probabilities,
    products,
    readings,
    users,
)  # fmt: skip

EDGES = (18, 25, 35, 50, 65)
MEANS = {"income": 48_000.0, "debt": 21_000.0, "age": 45.0}
LEVELS = ["new", "paid", "shipped", "returned", "cancelled"]

closure(floats, "standardised", float)(lambda x: (x - 12.5) / 3.7)
closure(floats, "clipped", float)(lambda x: min(max(x, -100.0), 100.0))
closure(floats, "relu", float)(lambda x: x if x > 0 else 0.0)
closure(floats, "sign", int)(lambda x: (x > 0) - (x < 0))
closure(floats, "squared", float)(lambda x: x * x)
closure(positive, "log_scaled", float)(lambda x: math.log1p(x))
closure(maybe_floats, "filled", float)(lambda x: x if x is not None else 0.0)
closure(maybe_floats, "is_missing", int)(lambda x: 1 if x is None else 0)


@closure(floats)
def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x / 100))


@closure(floats)
def bucketed(x: float) -> int:
    return int(x // 50)


@closure(floats)
def normalised(x: float, low: float = -1000.0, high: float = 1000.0) -> float:
    return (x - low) / (high - low)


@closure(floats)
def leaky(x: float) -> float:
    return x if x >= 0.0 else 0.01 * x


@closure(probabilities)
def log_odds(p: float) -> float:
    p = min(max(p, 1e-6), 1 - 1e-6)
    return math.log(p / (1 - p))


@closure(probabilities)
def label(p: float) -> str:
    return "high" if p > 0.8 else "medium" if p > 0.4 else "low"


@closure(maybe_floats)
def imputed(x: float | None) -> float:
    if x is None or math.isnan(x):
        return 21.0
    return round(x, 1)


@closure(users)
def age_band(u: User) -> str:
    if u.age is None:
        return "unknown"
    for_adults = u.age >= 18
    return f"{u.age // 10 * 10}s" if for_adults else "minor"


@closure(users)
def age_bucket(u: User) -> int:
    return -1 if u.age is None else sum(u.age >= edge for edge in EDGES)


@closure(users)
def one_hot_country(u: User) -> list[int]:
    return [1 if u.country == country else 0 for country in ("IT", "FR", "DE", "ES")]


@closure(users)
def tag_flags(u: User) -> tuple[bool, bool, int]:
    return "vip" in u.tags, "churned" in u.tags, len(u.tags)


@closure(users)
def vector(u: User) -> list[float]:
    return [float(u.age or 0), u.score / 100, 1.0 if u.active else 0.0, float(len(u.name))]


@closure(orders, repeatable=False)
def hashed_customer(o: Order) -> int:
    return hash(o.customer) % 1024


@closure(orders)
def bucket_by_id(o: Order) -> int:
    return hash(o.id) % 64


@closure(orders)
def stable_hash(o: Order) -> int:
    return zlib.crc32(o.customer.encode()) % 1024


@closure(orders)
def status_code(o: Order) -> int:
    return LEVELS.index(o.status) if o.status in LEVELS else -1


@closure(orders)
def interaction(o: Order) -> tuple[str, float, bool]:
    return f"{o.country}_{o.status}", o.amount / o.quantity, o.coupon is not None


@closure(products)
def price_per_kilo(p: Product) -> float | None:
    return round(p.price / p.weight, 3) if p.weight else None


@closure(products)
def title_features(p: Product) -> tuple[int, int, bool]:
    return len(p.title), len(p.title.split()), p.title.startswith("The ")


@closure(products)
def size_of_sku(p: Product) -> int:
    return {"S": 0, "M": 1, "L": 2, "XL": 3}[p.sku.split("-")[1]]


@closure(readings)
def in_range(r: Reading) -> bool:
    return r.low <= r.value <= r.high


@closure(readings)
def scaled(r: Reading) -> float:
    return (r.value - r.low) / (r.high - r.low) if r.high > r.low else 0.0


@closure(readings)
def fahrenheit(r: Reading) -> float:
    return r.value * 9 / 5 + 32


@closure(readings)
def time_of_day(r: Reading) -> tuple[float, float]:
    angle = 2 * math.pi * (r.at % 86_400) / 86_400
    return math.sin(angle), math.cos(angle)


@closure(features)
def debt_ratio(f: dict[str, float]) -> float:
    return f["debt"] / f["income"] if f["income"] > 0 else 1.0


@closure(features)
def linear_model(f: dict[str, float]) -> float:
    return 0.3 * f.get("income", 0.0) - 0.7 * f.get("debt", 0.0) + 12.0 * f.get("age", 0.0)


@closure(features)
def centred(f: dict[str, float]) -> dict[str, float]:
    return {key: value - MEANS[key] for key, value in f.items()}


@closure(float_lists)
def mean(xs: list[float]) -> float:
    return sum(xs) / len(xs)


@closure(float_lists)
def norm(xs: list[float]) -> float:
    return math.sqrt(sum(x * x for x in xs))


@closure(float_lists)
def spread(xs: list[float]) -> float:
    return max(xs) - min(xs)


@closure(float_lists)
def dot_with_place(xs: list[float]) -> float:
    return sum(i * x for i, x in enumerate(xs))


@closure(float_lists)
def softmax(xs: list[float]) -> list[float]:
    exps = [math.exp(x / 100) for x in xs]
    total = sum(exps)
    return [e / total for e in exps]


@closure(int_lists)
def differences(xs: list[int]) -> list[int]:
    return [b - a for a, b in zip(xs, xs[1:])]


@closure(int_lists)
def median_low(xs: list[int]) -> int:
    return sorted(xs)[(len(xs) - 1) // 2]


@closure(int_lists)
def positives(xs: list[int]) -> int:
    return sum(1 for x in xs if x > 0)


@numeric_loop(positive)
def newton_root(x: float) -> float:
    guess = x
    for _ in range(20):
        guess = 0.5 * (guess + x / guess)
    return guess


@numeric_loop(floats)
def taylor_exp(x: float) -> float:
    x = x / 500
    term, total = 1.0, 1.0
    for n in range(1, 15):
        term *= x / n
        total += term
    return total

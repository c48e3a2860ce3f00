"""Scores, grades and rankings."""

import math
import random

from benchmarks.closures.entry import closure
from benchmarks.closures.rows import (
    Order,
    User,
    Visit,
    counts,
    maybe_scores,
    orders,
    probabilities,
    small,
    users,
    visits,
)

WEIGHTS = {"new": 1, "paid": 5, "shipped": 3, "returned": -4, "cancelled": -2}
GRADES = [(90, "A"), (80, "B"), (70, "C"), (60, "D")]

closure(users, "active_score", float)(lambda u: u.score if u.active else 0.0)
closure(counts, "at_least_ten", bool)(lambda c: c[1] >= 10)
closure(counts, "swapped", tuple[int, str])(lambda c: (c[1], c[0]))
closure(small, "grade_number", int)(lambda n: 5 if n >= 50 else 4 if n >= 40 else 3 if n >= 30 else 2)


@closure(maybe_scores)
def grade(pair: tuple[str, float | None]) -> str:
    name, score = pair
    if score is None:
        return f"{name}: absent"
    if score >= 90:
        letter = "A"
    elif score >= 75:
        letter = "B"
    elif score >= 60:
        letter = "C"
    else:
        letter = "F"
    return f"{name}: {letter}"


@closure(maybe_scores)
def grade_by_table(pair: tuple[str, float | None]) -> str:
    score = pair[1] or 0.0
    return next((letter for least, letter in GRADES if score >= least), "F")


@closure(orders)
def order_score(o: Order) -> int:
    score = WEIGHTS[o.status]
    if o.amount > 100:
        score += 3
    if o.coupon:
        score -= 1
    return score * o.quantity


@closure(orders)
def fraud_risk(o: Order) -> float:
    risk = 0.0
    risk += 0.4 if o.amount * o.quantity > 1000 else 0.0
    risk += 0.3 if o.country not in {"IT", "FR", "DE"} else 0.0
    risk += 0.2 if o.placed.hour < 5 else 0.0
    return min(risk, 1.0)


@closure(orders)
def priority(o: Order) -> tuple[int, float]:
    return (0 if o.coupon == "VIP20" else 1, -o.amount)


@closure(orders)
def sampled(o: Order) -> bool:
    return o.id % 100 < 5


@closure(orders, repeatable=False)
def randomly_sampled(_: Order) -> bool:
    return random.random() < 0.05


@closure(users)
def churn_risk(u: User) -> float:
    base = 0.2 if u.active else 0.6
    return base + (0.3 if "churned" in u.tags else 0.0) - min(u.score, 100.0) / 500


@closure(users)
def weighted(u: User) -> float:
    return u.points(3) + (10.0 if u.is_adult else 0.0)


@closure(visits)
def engagement(v: Visit) -> int:
    return (2 if v.user else 0) + (1 if v.status == 200 else -1) + (3 if "/shop" in v.path else 0)


@closure(probabilities)
def entropy(p: float) -> float:
    if p <= 0.0 or p >= 1.0:
        return 0.0
    return -p * math.log2(p) - (1 - p) * math.log2(1 - p)


@closure(probabilities)
def decile(p: float) -> int:
    return min(int(p * 10), 9)


@closure(counts)
def share(c: tuple[str, int]) -> float:
    return c[1] / 500 * 100


@closure(counts)
def damped(c: tuple[str, int]) -> float:
    return math.sqrt(c[1]) / 10

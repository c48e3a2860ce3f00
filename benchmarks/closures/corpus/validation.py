"""Is this row fit to be used?"""

import math
import re

from benchmarks.closures.entry import closure, other_loop
from benchmarks.closures.rows import (
    Order,
    Product,
    Reading,
    User,
    codes,
    colours,
    emails,
    genes,
    maybe_floats,
    names,
    orders,
    phones,
    products,
    readings,
    users,
    versions,
)  # fmt: skip

EMAIL = re.compile(r"^[\w.+-]+@[\w-]+\.[\w.]+$")
KNOWN = frozenset({"IT", "FR", "DE", "ES", "AT", "GB", "NO", "PT", "US", "CH"})

closure(orders, "positive_amount", bool)(lambda o: o.amount > 0 and o.quantity > 0)
closure(orders, "large_in_europe", bool)(lambda o: o.amount > 100.0 and o.country in ("IT", "FR", "DE"))
closure(orders, "has_coupon", bool)(lambda o: o.coupon is not None)
closure(readings, "is_plausible", bool)(lambda r: -40 < r.value < 60 and not math.isnan(r.value))
closure(maybe_floats, "present", bool)(lambda x: x is not None)
closure(colours, "is_colour", bool)(lambda s: len(s) == 7 and s[0] == "#")


@closure(emails)
def looks_like_email(text: str) -> bool:
    text = text.strip()
    return text.count("@") == 1 and "." in text.split("@")[1] and " " not in text


@closure(emails)
def matches_email(text: str) -> bool:
    return EMAIL.match(text.strip()) is not None


@closure(phones)
def enough_digits(phone: str) -> bool:
    return 9 <= sum(c.isdigit() for c in phone) <= 15


@closure(codes)
def valid_code(code: str) -> bool:
    parts = code.split("-")
    return len(parts) == 3 and parts[0].isupper() and parts[1].isdigit() and len(parts[2]) == 1


@closure(genes)
def valid_gene(gene: str) -> bool:
    return set(gene) <= set("ACGT")


@closure(genes)
def all_bases(gene: str) -> bool:
    return all(c in "ACGT" for c in gene)


@closure(genes)
def gc_content(gene: str) -> float:
    return (gene.count("G") + gene.count("C")) / len(gene)


@closure(genes)
def complement(gene: str) -> str:
    return gene.translate(str.maketrans("ACGT", "TGCA"))[::-1]


@closure(names)
def valid_name(name: str) -> bool:
    name = name.strip()
    return 2 <= len(name) <= 40 and name[0].isupper() and not any(c.isdigit() for c in name)


@closure(colours)
def is_hex(text: str) -> bool:
    return all(c in "0123456789abcdef" for c in text[1:].lower())


@closure(versions)
def is_semantic(text: str) -> bool:
    parts = text.removeprefix("v").split("-")[0].split(".")
    return len(parts) == 3 and all(part.isdigit() for part in parts)


@closure(orders)
def order_problem(o: Order) -> str | None:
    if o.amount <= 0:
        return "amount"
    if not 1 <= o.quantity <= 100:
        return "quantity"
    if o.country not in KNOWN:
        return f"country {o.country}"
    if not o.customer.strip():
        return "customer"
    return None


@closure(orders)
def is_open(o: Order) -> bool:
    return o.status not in ("returned", "cancelled") and not (o.status == "shipped" and o.quantity == 0)


@closure(products)
def problems(p: Product) -> list[str]:
    checks = [("price", p.price <= 0), ("stock", p.stock < 0), ("weight", p.weight is None)]
    return [name for name, failed in checks if failed]


@closure(products)
def valid_sku(p: Product) -> bool:
    return len(p.sku) >= 7 and p.sku[0] in "ABC" and p.sku[1:5].isdigit() and p.sku[5] == "-"


@closure(users)
def can_vote(u: User) -> bool:
    return u.is_adult and u.active and u.country != "US"


@closure(users)
def error_count(u: User) -> int:
    return int("@" not in u.email) + int(u.age is None) + int(not u.name)


@closure(users)
def valid_user(u: User) -> bool:
    return "@" in u.email and (u.age is None or 0 < u.age < 120) and len(u.name.split()) >= 2


@closure(readings)
def alarm(r: Reading) -> str:
    if r.value > r.high:
        return "high"
    if r.value < r.low:
        return "low"
    return "battery" if r.battery < 10 else "ok"


@closure(readings)
def checked(r: Reading) -> Reading:
    assert r.battery >= 0, "no battery"
    return r._replace(value=min(max(r.value, r.low), r.high))


@closure(readings)
def positive_battery(r: Reading) -> int:
    if r.battery < 0:
        raise ValueError(f"battery of {r.sensor}")
    return r.battery


@other_loop(codes)
def check_digit(code: str) -> int:
    total = 0
    for place, c in enumerate(code):
        if c.isdigit():
            total += int(c) * (place + 1)
    return total % 11

"""Tuples, records and dataclasses, made from others."""

import dataclasses
from dataclasses import dataclass
from datetime import date
from typing import NamedTuple

from benchmarks.closures.entry import closure
from benchmarks.closures.rows import (
    Order,
    Product,
    Reading,
    Trip,
    User,
    Visit,
    counts,
    csv_lines,
    orders,
    products,
    readings,
    trips,
    users,
    visits,
)  # fmt: skip


class Sale(NamedTuple):
    """What the accountants want to know."""

    country: str
    month: str
    total: float
    pieces: int = 1


@dataclass(frozen=True)
class Contact:
    """Whom to write to."""

    name: str
    address: str
    adult: bool = False


@dataclass(frozen=True)
class Line:
    """A line of a file, read."""

    id: int
    customer: str
    total: float

    @classmethod
    def parse(cls, line: str) -> "Line":
        """The line of comma-separated values."""
        number, customer, amount, quantity, _, _ = line.split(",")
        return cls(int(number), customer, float(amount) * int(quantity))


closure(orders, "country_and_amount", tuple[str, float])(lambda o: (o.country, o.amount))
closure(orders, "with_one", tuple[str, int])(lambda o: (o.status, 1))
closure(counts, "word_of", str)(lambda c: c[0])
closure(users, "name_and_age", tuple[str, int | None])(lambda u: (u.name, u.age))
closure(visits, "path_and_status", tuple[str, int])(lambda v: (v.path, v.status))


@closure(orders)
def sale(o: Order) -> Sale:
    return Sale(o.country, o.placed.strftime("%Y-%m"), round(o.amount * o.quantity, 2), pieces=o.quantity)


@closure(orders)
def sale_of_one(o: Order) -> Sale:
    return Sale(country=o.country, month=f"{o.placed:%Y-%m}", total=o.amount)


@closure(orders)
def cancelled(o: Order) -> Order:
    return o._replace(status="cancelled", coupon=None)


@closure(orders)
def key_and_order(o: Order) -> tuple[tuple[str, str], Order]:
    return (o.country, o.status), o


@closure(orders)
def as_dict(o: Order) -> dict[str, float]:
    return {"amount": o.amount, "total": o.amount * o.quantity}


@closure(orders)
def first_three(o: Order) -> tuple[int, str, float]:
    return o[:3]


@closure(orders)
def unpacked_order(o: Order) -> str:
    number, customer, amount, *_ = o
    return f"{number}:{customer}:{amount:.2f}"


@closure(users)
def contact(u: User) -> Contact:
    return Contact(u.name, u.email.strip().lower(), u.is_adult)


@closure(users)
def contact_or_none(u: User) -> Contact | None:
    return Contact(u.name, u.email) if "@" in u.email else None


@closure(users)
def rejoined(u: User) -> User:
    return dataclasses.replace(u, joined=date(2024, 1, 1), active=True)


@closure(users)
def with_tag(u: User) -> User:
    return dataclasses.replace(u, tags=[*u.tags, "seen"])


@closure(users)
def domain_pair(u: User) -> tuple[str, int]:
    return u.domain, 1


@closure(products)
def cheaper(p: Product) -> Product:
    return Product(p.sku, p.title, round(p.price * 0.9, 2), p.stock, p.weight, p.category)


@closure(products)
def index_keys(p: Product) -> list[tuple[str, str]]:
    return [(word.lower(), p.sku) for word in p.title.split()]


@closure(readings)
def nested(r: Reading) -> tuple[str, tuple[float, int]]:
    return r.sensor.split("-")[0], (r.value, r.battery)


@closure(readings)
def windowed(r: Reading) -> tuple[str, int, float]:
    return r.sensor, r.at // 300 * 300, r.value


@closure(trips)
def trip_row(t: Trip) -> tuple[str, int, float, float]:
    return t.pickup.date().isoformat(), t.passengers, t.distance, t.fare + t.tip


@closure(visits)
def anonymous(v: Visit) -> Visit:
    return v._replace(ip=".".join(v.ip.split(".")[:3]) + ".0", user=None)


@closure(csv_lines)
def parsed_line(line: str) -> Line:
    return Line.parse(line)

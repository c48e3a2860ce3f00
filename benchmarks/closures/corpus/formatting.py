"""Texts out of values."""

from benchmarks.closures.entry import closure
from benchmarks.closures.rows import (
    Order,
    Product,
    Reading,
    Trip,
    User,
    counts,
    floats,
    ints,
    orders,
    points,
    probabilities,
    products,
    readings,
    signed,
    trips,
    users,
)  # fmt: skip

closure(ints, "padded", str)(lambda n: f"{n:08d}")
closure(ints, "grouped", str)(lambda n: f"{n:,}")
closure(ints, "hexed", str)(lambda n: f"0x{n:06X}")
closure(ints, "text_of", str)(str)
closure(floats, "two_places", str)(lambda x: f"{x:.2f}")
closure(floats, "float_text", str)(lambda x: str(x))
closure(probabilities, "percent", str)(lambda p: f"{p:.1%}")
closure(counts, "tab_separated", str)(lambda c: f"{c[0]}\t{c[1]}")
closure(signed, "with_sign", str)(lambda n: f"{n:+d}")


@closure(orders)
def headline(o: Order) -> str:
    return f"#{o.id:09d} {o.customer} ({o.country})"


@closure(orders)
def csv_row(o: Order) -> str:
    return ",".join([str(o.id), o.customer, str(o.amount), o.country])


@closure(orders)
def old_style(o: Order) -> str:
    return "%s bought %d for %.2f" % (o.customer, o.quantity, o.amount)


@closure(orders)
def by_format(o: Order) -> str:
    return "{} from {} paid {:.2f}".format(o.customer, o.country, o.amount)


@closure(orders)
def file_name(o: Order) -> str:
    return f"{o.placed:%Y/%m/%d}/{o.country.lower()}/{o.id % 16:x}.json"


@closure(products)
def shelf_label(p: Product) -> str:
    return f"{p.title[:20]:<20}|{p.price:>9.2f}|{p.stock:>4d}"


@closure(products)
def stock_text(p: Product) -> str:
    return "sold out" if p.stock == 0 else f"{p.stock} piece{'s' if p.stock != 1 else ''} left"


@closure(users)
def greeting(u: User) -> str:
    return f"Dear {u.name.split()[0]}," if u.name else "Hello,"  # wording: a salutation


@closure(users)
def tag_list(u: User) -> str:
    return "[" + ", ".join(sorted(u.tags)) + "]" if u.tags else "none"


@closure(users)
def debug(u: User) -> str:
    return f"{u.name!r} {u.age}"


@closure(readings)
def reading_line(r: Reading) -> str:
    return f"{r.sensor}: {r.value:.1f}°C ({r.battery}%)"


@closure(readings)
def influx(r: Reading) -> str:
    return f"temperature,sensor={r.sensor} value={r.value} {r.at}000000000"


@closure(trips)
def receipt(t: Trip) -> str:
    return f"{t.pickup:%H:%M}-{t.dropoff:%H:%M} {t.distance:.1f} km {t.fare + t.tip:7.2f}"


@closure(points)
def coordinates(p: tuple[float, float]) -> str:
    return f"{abs(p[0]):.4f}°{'N' if p[0] >= 0 else 'S'} {abs(p[1]):.4f}°{'E' if p[1] >= 0 else 'W'}"


@closure(ints)
def roman_units(n: int) -> str:
    return ["", "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX"][n % 10]


@closure(ints)
def ordinal_text(n: int) -> str:
    n = n % 1000
    suffix = "th" if 10 <= n % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")
    return f"{n}{suffix}"


@closure(ints)
def spaced(n: int) -> str:
    return f"{n:,}".replace(",", " ")

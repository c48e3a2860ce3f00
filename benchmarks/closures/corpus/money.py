"""Prices, taxes, discounts, interest."""

import math
from decimal import Decimal

from benchmarks.closures.entry import closure, numeric_loop
from benchmarks.closures.rows import Order, Product, Trip, int_pairs, ints, orders, positive, products, trips

VAT = {"IT": 0.22, "FR": 0.20, "DE": 0.19, "ES": 0.21, "AT": 0.20, "GB": 0.20, "PT": 0.23, "CH": 0.081}
RATE = 1.0837
FEE_CENTS = 35

closure(orders, "revenue", float)(lambda o: o.amount * o.quantity)
closure(positive, "euros", float)(lambda x: round(x * RATE, 2))
closure(positive, "cents", int)(lambda x: int(round(x * 100)))
closure(ints, "with_fee", int)(lambda cents: cents + FEE_CENTS + cents * 3 // 100)
closure(ints, "as_dollars", str)(lambda cents: f"${cents // 100:,}.{cents % 100:02d}")
closure(products, "price_label", str)(lambda p: f"{p.price:.2f} €")


@closure(orders)
def gross(o: Order) -> float:
    return o.amount * o.quantity * (1 + VAT.get(o.country, 0.0))


@closure(orders)
def discounted(o: Order) -> float:
    total = o.amount * o.quantity
    if o.coupon == "VIP20":
        return total * 0.8
    if o.coupon is not None and total > 50:
        return total * 0.9
    return total


@closure(orders)
def shipping(o: Order) -> float:
    if o.coupon == "freeship" or o.amount * o.quantity > 100:
        return 0.0
    return 4.9 if o.country in ("IT", "FR", "DE", "ES", "AT", "PT") else 12.5


@closure(orders)
def volume_discount(o: Order) -> float:
    if o.quantity >= 8:
        rate = 0.15
    elif o.quantity >= 5:
        rate = 0.1
    elif o.quantity >= 3:
        rate = 0.05
    else:
        rate = 0.0
    return round(o.amount * o.quantity * (1 - rate), 2)


@closure(positive)
def income_tax(income: float) -> float:
    income = income * 100
    if income <= 15_000:
        return income * 0.23
    if income <= 28_000:
        return 3_450 + (income - 15_000) * 0.25
    if income <= 50_000:
        return 6_700 + (income - 28_000) * 0.35
    return 14_400 + (income - 50_000) * 0.43


@closure(positive)
def rounded_up(price: float) -> float:
    return math.ceil(price * 20) / 20


@closure(positive)
def psychological(price: float) -> float:
    return math.floor(price) + 0.99


@closure(positive)
def compound(principal: float) -> float:
    return principal * (1 + 0.05 / 12) ** 120


@closure(positive)
def as_decimal(price: float) -> str:
    return str(Decimal(str(round(price, 2))) * Decimal("1.22"))


@closure(ints)
def coins(cents: int) -> tuple[int, int, int, int]:
    dollars, rest = divmod(cents, 100)
    quarters, rest = divmod(rest, 25)
    dimes, rest = divmod(rest, 10)
    return dollars, quarters, dimes, rest


@closure(int_pairs)
def unit_price(pair: tuple[int, int]) -> float:
    return pair[0] / pair[1]


@closure(int_pairs)
def split_bill(pair: tuple[int, int]) -> int:
    total, people = pair
    return -(-total // people)


@closure(products)
def margin(p: Product) -> float:
    cost = p.price * 0.6 + 0.5
    return (p.price - cost) / p.price * 100 if p.price else 0.0


@closure(products)
def stock_value(p: Product) -> float:
    return round(p.price * p.stock, 2)


@closure(products)
def shipping_class(p: Product) -> str:
    if p.weight is None:
        return "unknown"
    if p.weight < 0.5:
        return "letter"
    return "parcel" if p.weight < 20 else "freight"


@closure(trips)
def tip_percent(t: Trip) -> float:
    return round(100 * t.tip / t.fare, 1) if t.fare > 0 else 0.0


@closure(trips)
def fare_per_km(t: Trip) -> float | None:
    return t.fare / t.distance if t.distance else None


@closure(trips)
def driver_share(t: Trip) -> float:
    return max(t.fare * 0.75 - 1.2, 0.0) + t.tip


@numeric_loop(positive)
def years_to_double(rate: float) -> int:
    balance, years = 1.0, 0
    while balance < 2.0 and years < 200:
        balance *= 1 + rate / 5000
        years += 1
    return years


@numeric_loop(positive)
def loan_months(monthly: float) -> int:
    debt, months = 10_000.0, 0
    while debt > 0 and months < 600:
        debt = debt * 1.003 - (monthly + 40)
        months += 1
    return months


@numeric_loop(ints)
def ways_to_change(cents: int) -> int:
    amount, ways = cents % 100, 0
    for quarters in range(amount // 25 + 1):
        for dimes in range((amount - quarters * 25) // 10 + 1):
            ways += (amount - quarters * 25 - dimes * 10) // 5 + 1
    return ways

"""A report from a CSV file: several results, one read. Run it with `python examples/csv_report.py`."""

from __future__ import annotations

import csv
import random
from pathlib import Path
from typing import NamedTuple

import morisot as mo

DEMO = Path(__file__).parents[1] / "build" / "demo"


class Sale(NamedTuple):
    """A row of the file: the header's names are the fields' names."""

    shop: str
    article: str
    pieces: int
    price: float
    returned: bool


def write_sales(path: Path, rows: int = 1000) -> None:
    """Sales as a till might write them."""
    path.parent.mkdir(parents=True, exist_ok=True)
    chance = random.Random(1895)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(Sale._fields)
        for _ in range(rows):
            shop = chance.choice(["Paris", "Bourges", "Nice"])
            article, price = chance.choice([("brush", 4.5), ("canvas", 12.0), ("easel", 89.0), ("oil, blue", 7.25)])
            writer.writerow([shop, article, chance.randint(1, 9), price, chance.random() < 0.1])


def main() -> None:
    path = DEMO / "sales.csv"
    write_sales(path)
    with mo.StreamContext() as ctx:
        sales = ctx.stream_csv(path, Sale)
        kept = sales.filter(lambda sale: not sale.returned)

        # Nothing runs yet: each sink is a promise, and all of them are kept together.
        rows = sales.collect_count()
        turnover = kept.group_by_sum(lambda sale: sale.shop, lambda sale: sale.pieces * sale.price).collect_vec()
        largest = kept.group_by_max_element(lambda sale: sale.article, lambda sale: sale.pieces).collect_vec()
        kept.filter(lambda sale: sale.pieces * sale.price > 500).write_csv(str(DEMO / "large-sales"), mode="overwrite")
        ctx.execute()

    print(f"{rows.get()} sales")
    for shop, amount in sorted(turnover.get()):
        print(f"  {shop:<8} {amount:>12,.2f}")
    print("the largest sale of each article")
    for article, sale in sorted(largest.get()):
        print(f"  {article:<10} {sale.pieces} sold in {sale.shop}")


if __name__ == "__main__":
    main()

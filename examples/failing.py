"""What a failure looks like: the operator, its line, the element, the original traceback.

Run it with `python examples/failing.py`.
"""

from __future__ import annotations

import morisot as mo


def price_of(line: str) -> float:
    _, price = line.split(":")
    return float(price)


def main() -> None:
    lines = ["brush: 4.50", "canvas: 12", "easel: eighty-nine", "oil: 7.25"]
    with mo.StreamContext() as ctx:
        prices = ctx.stream_iter(lines).map(price_of).map(lambda price: round(price * 1.2, 2))
        try:
            prices.collect()
        except mo.ElementError as error:
            print(error)
            print()
            print("operator ", error.operator)
            print("line     ", error.location)
            print("element  ", error.element)
            print("cause    ", repr(error.__cause__))
            print()
            print(error.original_traceback.rstrip())


if __name__ == "__main__":
    main()

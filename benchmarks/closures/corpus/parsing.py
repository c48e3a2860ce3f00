"""Values out of texts."""

import json
import re
from datetime import date, datetime

from benchmarks.closures.entry import closure, other_loop
from benchmarks.closures.rows import (
    Order,
    amounts,
    clock_times,
    codes,
    colours,
    csv_lines,
    iso_dates,
    iso_times,
    numbers,
    prices,
    settings,
    urls,
    us_dates,
    versions,
)  # fmt: skip

closure(numbers, "as_int", int)(lambda s: int(s))
closure(numbers, "as_float", float)(float)
closure(numbers, "last_digit", int)(lambda s: int(s[-1]))
closure(csv_lines, "fields", list[str])(lambda line: line.split(","))
closure(csv_lines, "third_field", float)(lambda line: float(line.split(",")[2]))


@closure(prices)
def price(text: str) -> float:
    return float(text.replace("$", "").replace("£", "").replace(",", "").replace(" EUR", ""))


@closure(prices)
def currency(text: str) -> str:
    if text.startswith("$"):
        return "USD"
    if text.startswith("£"):
        return "GBP"
    return "EUR" if text.endswith("EUR") else "?"


@closure(amounts)
def amount_or_zero(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


@closure(amounts)
def amount_or_none(text: str) -> float | None:
    return float(text) if text and text != "n/a" else None


@closure(numbers)
def int_or_none(text: str) -> int | None:
    try:
        return int(text)
    except ValueError:
        return None


@closure(clock_times)
def seconds_of_day(text: str) -> int:
    hours, minutes, seconds = text.split(":")
    return int(hours) * 3600 + int(minutes) * 60 + int(seconds)


@closure(clock_times)
def is_evening(text: str) -> bool:
    return int(text[:2]) >= 18


@closure(iso_dates)
def year_and_month(text: str) -> tuple[int, int]:
    year, month, _ = text.split("-")
    return int(year), int(month)


@closure(iso_dates)
def parsed_date(text: str) -> date:
    return datetime.strptime(text, "%Y-%m-%d").date()


@closure(iso_dates)
def iso_date(text: str) -> date:
    return date.fromisoformat(text)


@closure(us_dates)
def american_date(text: str) -> date:
    month, day, year = (int(part) for part in text.split("/"))
    return date(year, month, day)


@closure(us_dates)
def sortable(text: str) -> str:
    month, day, year = text.split("/")
    return f"{year}-{month}-{day}"


@closure(us_dates)
def strptime_month(text: str) -> int:
    return datetime.strptime(text, "%m/%d/%Y").month


@closure(iso_times)
def parsed_time(text: str) -> datetime:
    return datetime.fromisoformat(text)


@closure(iso_times)
def hour_of(text: str) -> int:
    return datetime.fromisoformat(text).hour


@closure(versions)
def version(text: str) -> tuple[int, int, int]:
    major, minor, patch = text.removeprefix("v").split("-")[0].split(".")
    return int(major), int(minor), int(patch)


@closure(versions)
def is_stable(text: str) -> bool:
    return "-" not in text and not text.startswith("v0.")


@closure(versions)
def version_list(text: str) -> list[int]:
    return [int(part) for part in text.lstrip("v").split("-")[0].split(".")]


@closure(versions)
def is_version(text: str) -> bool:
    return re.fullmatch(r"v\d+\.\d+\.\d+(-rc\d+)?", text) is not None


@closure(colours)
def red(colour: str) -> int:
    return int(colour[1:3], 16)


@closure(colours)
def brightness(colour: str) -> float:
    r, g, b = int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)
    return (r * 299 + g * 587 + b * 114) / 1000


@closure(csv_lines)
def order_of(line: str) -> tuple[int, float, str]:
    parts = line.split(",")
    return int(parts[0]), float(parts[2]), parts[4]


@closure(csv_lines)
def unpacked(line: str) -> float:
    _, _, amount, quantity, *_ = line.split(",")
    return float(amount) * int(quantity)


@closure(csv_lines)
def is_paid(line: str) -> bool:
    return line.rsplit(",", 1)[-1] == "paid"


@closure(settings)
def setting(line: str) -> tuple[str, str]:
    key, _, value = line.split("#")[0].partition("=")
    return key.strip(), value.strip()


@closure(settings)
def is_comment(line: str) -> bool:
    return not line.strip() or line.lstrip().startswith("#")


@closure(urls)
def scheme(url: str) -> str:
    return url.split("://", 1)[0]


@closure(urls)
def host(url: str) -> str:
    return url.split("//", 1)[1].split("/", 1)[0].split(":")[0]


@closure(urls)
def query(url: str) -> dict[str, str]:
    text = url.split("#")[0].split("?", 1)[1] if "?" in url else ""
    return {pair.split("=")[0]: pair.split("=")[1] for pair in text.split("&") if "=" in pair}


@closure(urls)
def item_id(url: str) -> int | None:
    found = re.search(r"[?&]id=(\d+)", url)
    return int(found.group(1)) if found else None


@closure(codes)
def code_number(code: str) -> int:
    return int(code.split("-")[1])


@closure(codes)
def code_parts(code: str) -> tuple[str, int, str]:
    prefix, number, suffix = code.split("-")
    return prefix.upper(), int(number), suffix


@closure(codes)
def matches_code(code: str) -> bool:
    return bool(re.match(r"^[A-Z]{2}-\d{5}-[A-Z]$", code))


@closure(prices)
def as_json(text: str) -> str:
    return json.dumps({"price": text})


@other_loop(csv_lines)
def quoted_fields(line: str) -> list[str]:
    fields, field, quoted = [], "", False
    for c in line:
        if c == '"':
            quoted = not quoted
        elif c == "," and not quoted:
            fields.append(field)
            field = ""
        else:
            field += c
    fields.append(field)
    return fields


@other_loop(numbers)
def digit_sum_of_text(text: str) -> int:
    total = 0
    for c in text.lstrip("-"):
        total += int(c)
    return total


def make_order(line: str) -> Order:
    """Not an entry of its own: what `order_total` calls."""
    number, customer, amount, quantity, country, status = line.split(",")
    return Order(int(number), customer, float(amount), int(quantity), country, status, datetime(2024, 1, 1), None)


@closure(csv_lines)
def order_total(line: str) -> float:
    order = make_order(line)
    return order.amount * order.quantity

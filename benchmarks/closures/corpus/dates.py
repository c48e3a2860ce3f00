"""Days, hours and what lies between them."""

import calendar
from datetime import date, datetime, timedelta

from benchmarks.closures.entry import closure, numeric_loop
from benchmarks.closures.rows import Trip, User, day_pairs, days, millis, moments, seconds, trips, users, years

HOLIDAYS = {date(2023, 1, 1), date(2023, 12, 25), date(2024, 1, 1), date(2024, 12, 25), date(2024, 8, 15)}
SEASONS = {12: "winter", 1: "winter", 2: "winter", 3: "spring", 4: "spring", 5: "spring",
           6: "summer", 7: "summer", 8: "summer", 9: "autumn", 10: "autumn", 11: "autumn"}  # fmt: skip
WEEKDAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
START = date(2023, 1, 1)

closure(moments, "hour", int)(lambda t: t.hour)
closure(moments, "is_weekend", bool)(lambda t: t.weekday() >= 5)
closure(days, "month_key", str)(lambda d: d.strftime("%Y-%m"))
closure(days, "quarter", int)(lambda d: (d.month - 1) // 3 + 1)
closure(days, "week", int)(lambda d: d.isocalendar()[1])
closure(days, "tomorrow", date)(lambda d: d + timedelta(days=1))


@closure(days)
def season(d: date) -> str:
    return SEASONS[d.month]


@closure(days)
def weekday_name(d: date) -> str:
    return WEEKDAYS[d.weekday()]


@closure(days)
def is_working_day(d: date) -> bool:
    return d.weekday() < 5 and d not in HOLIDAYS


@closure(days)
def first_of_month(d: date) -> date:
    return d.replace(day=1)


@closure(days)
def monday(d: date) -> date:
    return d - timedelta(days=d.weekday())


@closure(days)
def days_since_start(d: date) -> int:
    return (d - START).days


@closure(days)
def days_in_month(d: date) -> int:
    return calendar.monthrange(d.year, d.month)[1]


@closure(days)
def fiscal_year(d: date) -> str:
    year = d.year if d.month >= 4 else d.year - 1
    return f"FY{year % 100:02d}/{(year + 1) % 100:02d}"


@closure(days)
def long_date(d: date) -> str:
    return f"{d.day}. {d:%B} {d.year}"


@closure(days)
def day_of_year(d: date) -> int:
    return d.timetuple().tm_yday


@closure(days)
def ordinal(d: date) -> int:
    return d.toordinal()


@closure(moments)
def part_of_day(t: datetime) -> str:
    if t.hour < 6:
        return "night"
    if t.hour < 12:
        return "morning"
    return "afternoon" if t.hour < 18 else "evening"


@closure(moments)
def rounded_to_quarter(t: datetime) -> datetime:
    return t.replace(minute=t.minute // 15 * 15, second=0, microsecond=0)


@closure(moments)
def bucket(t: datetime) -> str:
    return f"{t:%Y-%m-%d %H}:00"


@closure(moments)
def minute_of_day(t: datetime) -> int:
    return t.hour * 60 + t.minute


@closure(moments)
def partition(t: datetime) -> tuple[int, int, int]:
    return t.year, t.month, t.day


@closure(moments)
def in_office_hours(t: datetime) -> bool:
    return t.weekday() < 5 and 9 <= t.hour < 17


@closure(moments)
def epoch(t: datetime) -> float:
    return t.timestamp()


@closure(moments)
def in_half_an_hour(t: datetime) -> str:
    return (t + timedelta(minutes=30)).isoformat()


@closure(day_pairs)
def nights(pair: tuple[date, date]) -> int:
    return max((pair[1] - pair[0]).days, 0)


@closure(day_pairs)
def overlaps_year(pair: tuple[date, date]) -> bool:
    first, last = pair
    return first <= date(2024, 12, 31) and last >= date(2024, 1, 1)


@closure(day_pairs)
def months_between(pair: tuple[date, date]) -> int:
    a, b = pair
    return (b.year - a.year) * 12 + b.month - a.month


@closure(trips)
def minutes(t: Trip) -> float:
    return (t.dropoff - t.pickup).total_seconds() / 60


@closure(trips)
def speed(t: Trip) -> float:
    hours = (t.dropoff - t.pickup).total_seconds() / 3600
    return t.distance / hours if hours > 0 else 0.0


@closure(trips)
def is_rush_hour(t: Trip) -> bool:
    return t.pickup.weekday() < 5 and (7 <= t.pickup.hour <= 9 or 16 <= t.pickup.hour <= 18)


@closure(users)
def age_of_account(u: User) -> int:
    return (date(2026, 1, 1) - u.joined).days // 365


@closure(millis)
def from_millis(ms: int) -> datetime:
    return datetime(1970, 1, 1) + timedelta(milliseconds=ms)


@closure(millis)
def hour_of_millis(ms: int) -> int:
    return ms // 3_600_000 % 24


@closure(millis)
def local_time(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000).isoformat()


@closure(seconds)
def clock(n: int) -> str:
    hours, rest = divmod(n, 3600)
    minutes_, seconds_ = divmod(rest, 60)
    return f"{hours:02d}:{minutes_:02d}:{seconds_:02d}"


@closure(seconds)
def rough_duration(n: int) -> str:
    if n < 60:
        return f"{n}s"
    if n < 3600:
        return f"{n // 60}m"
    return f"{n // 3600}h{n % 3600 // 60:02d}m"


@closure(years)
def is_leap(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


@closure(years)
def easter(year: int) -> date:
    a, b, c = year % 19, year // 100, year % 100
    d, e = b // 4, b % 4
    g = (8 * b + 13) // 25
    h = (19 * a + b - d - g + 15) % 30
    i, k = c // 4, c % 4
    l = (32 + 2 * e + 2 * i - h - k) % 7
    m = (a + 11 * h + 19 * l) // 433
    month = (h + l - 7 * m + 90) // 25
    return date(year, month, (h + l - 7 * m + 33 * month + 19) % 32)


@numeric_loop(years)
def friday_13ths(year: int) -> int:
    found = 0
    for month in range(1, 13):
        y = year - 1 if month < 3 else year
        m = month + 12 if month < 3 else month
        weekday = (13 + 13 * (m + 1) // 5 + y + y // 4 - y // 100 + y // 400) % 7
        if weekday == 6:
            found += 1
    return found

"""One vehicle collision, and its week."""

# The annotations are read as types, by Morisot and for the schema of the hand-written variant: no `annotations` import.
from typing import NamedTuple


class Collision(NamedTuple):
    """A line of the New York City police's public data set; what may be empty there may be None here."""

    date: str
    time: str
    borough: str | None
    zip_code: str | None
    latitude: float | None
    longitude: float | None
    location: str | None
    on_street: str | None
    cross_street: str | None
    off_street: str | None
    persons_injured: int
    persons_killed: int
    pedestrians_injured: int
    pedestrians_killed: int
    cyclists_injured: int
    cyclists_killed: int
    motorists_injured: int
    motorists_killed: int
    factor_1: str | None
    factor_2: str | None
    factor_3: str | None
    factor_4: str | None
    factor_5: str | None
    unique_key: int
    vehicle_1: str | None
    vehicle_2: str | None
    vehicle_3: str | None
    vehicle_4: str | None
    vehicle_5: str | None


def week(date: str) -> int:
    """The number of the week, from Monday to Sunday, that an mm/dd/yyyy date is in; that of 1 January 1970 is 0.

    >>> week("01/04/1970"), week("01/05/1970"), week("07/02/2017"), week("07/03/2017")
    (0, 1, 2478, 2479)
    """
    month = int(date[0:2])
    day = int(date[3:5])
    # counted from March, the leap day is the last day of a year and needs no case of its own
    year = int(date[6:10]) - (1 if month < 3 else 0)
    before_month = ((month + 9) % 12 * 153 + 2) // 5
    days = 365 * year + year // 4 - year // 100 + year // 400 + before_month + day - 719_469
    return (days + 3) // 7

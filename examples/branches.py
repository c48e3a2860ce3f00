"""A graph of streams: readings go one way or several, are treated differently, and meet again.

Run it with `python examples/branches.py`. Hot readings raise an alarm and are recorded as well; broken ones are only
counted. The readings are made once, however many branches read them.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import morisot as mo

ALARMS, RECORDS, BROKEN = 0, 1, 2


class Reading(NamedTuple):
    """What a sensor says."""

    sensor: str
    second: int
    celsius: float


def readings(instance: int, instances: int) -> list[Reading]:
    """Sensors in a kiln, each a little hotter than the one before; one of them fails now and then."""
    made = []
    for second in range(instance, 600, instances):
        for place, name in enumerate(("door", "wall", "core")):
            broken = name == "wall" and second % 97 == 0
            celsius = -273.0 if broken else 700 + 60 * place + 80 * math.sin(second / 60)
            made.append(Reading(name, second, celsius))
    return made


def ways(reading: Reading) -> list[int]:
    """The branches a reading goes to."""
    if reading.celsius < -200:
        return [BROKEN]
    return [ALARMS, RECORDS] if reading.celsius > 880 else [RECORDS]


def main() -> None:
    with mo.StreamContext() as ctx:
        alarms, records, broken = ctx.stream_par_iter(readings, returns=Reading).split_by(ways, 3)
        warned = alarms.map(lambda r: (r.sensor, f"too hot at {r.second} s")).unique_by(lambda pair: pair[0])
        failed = broken.map(lambda r: (r.sensor, f"no value at {r.second} s"))
        messages = warned.merge(failed).sorted_by(lambda pair: pair).collect_vec()
        means = records.group_by_avg(lambda r: r.sensor, lambda r: r.celsius).collect_vec()
        ctx.execute()
        for sensor, text in messages.get():
            print(f"{sensor}: {text}")
        for sensor, celsius in sorted(means.get()):
            print(f"{sensor}: {celsius:.1f} °C on average")
        warned.merge(failed).explain()


if __name__ == "__main__":
    main()

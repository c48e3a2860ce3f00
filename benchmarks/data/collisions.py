"""Vehicle collisions in the schema of the New York City police's public data set, as CSV."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.data.cache import Randomness, cached, picked, weighted, written

if TYPE_CHECKING:
    from pathlib import Path

COLUMNS = (
    "DATE,TIME,BOROUGH,ZIP CODE,LATITUDE,LONGITUDE,LOCATION,ON STREET NAME,CROSS STREET NAME,OFF STREET NAME,"
    "NUMBER OF PERSONS INJURED,NUMBER OF PERSONS KILLED,NUMBER OF PEDESTRIANS INJURED,NUMBER OF PEDESTRIANS KILLED,"
    "NUMBER OF CYCLIST INJURED,NUMBER OF CYCLIST KILLED,NUMBER OF MOTORIST INJURED,NUMBER OF MOTORIST KILLED,"
    "CONTRIBUTING FACTOR VEHICLE 1,CONTRIBUTING FACTOR VEHICLE 2,CONTRIBUTING FACTOR VEHICLE 3,"
    "CONTRIBUTING FACTOR VEHICLE 4,CONTRIBUTING FACTOR VEHICLE 5,UNIQUE KEY,VEHICLE TYPE CODE 1,VEHICLE TYPE CODE 2,"
    "VEHICLE TYPE CODE 3,VEHICLE TYPE CODE 4,VEHICLE TYPE CODE 5"
)
BOROUGHS = ["BROOKLYN", "QUEENS", "MANHATTAN", "BRONX", "STATEN ISLAND", ""]
BOROUGH_WEIGHTS = [24.0, 20, 18, 11, 4, 23]
FACTORS = (
    "Unspecified|Driver Inattention/Distraction|Failure to Yield Right-of-Way|Following Too Closely|Backing Unsafely|"
    "Other Vehicular|Fatigued/Drowsy|Turning Improperly|Passing or Lane Usage Improper|Passing Too Closely|"
    "Unsafe Lane Changing|Traffic Control Disregarded|Driver Inexperience|Lost Consciousness|Pavement Slippery|"
    "Prescription Medication|Unsafe Speed|Alcohol Involvement|Outside Car Distraction|Reaction to Uninvolved Vehicle|"
    "Oversized Vehicle|Physical Disability|View Obstructed/Limited|Aggressive Driving/Road Rage|Glare|"
    "Brakes Defective|Pavement Defective|Obstruction/Debris|Failure to Keep Right|Steering Failure|Fell Asleep|"
    "Illness|Drugs (Illegal)|Tire Failure/Inadequate|Lane Marking Improper/Inadequate|Driverless/Runaway Vehicle|"
    "Accelerator Defective|Animals Action|Traffic Control Device Improper/Non-Working|Cell Phone (hand-held)|"
    "Tow Hitch Defective|Headlights Defective|Other Electronic Device|Cell Phone (hands-free)|"
    "Other Lighting Defects|Windshield Inadequate|Shoulders Defective/Improper"
)
VEHICLES = (
    "PASSENGER VEHICLE|SPORT UTILITY / STATION WAGON|TAXI|VAN|OTHER|UNKNOWN|PICK-UP TRUCK|SMALL COM VEH(4 TIRES)|"
    "LARGE COM VEH(6 OR MORE TIRES)|BUS|LIVERY VEHICLE|BICYCLE|MOTORCYCLE|AMBULANCE|FIRE TRUCK|SCOOTER"
)
HOW_MANY_VEHICLES = [22.0, 70, 6, 1.5, 0.5]
STREET_NAMES = (
    "BROADWAY|ATLANTIC|FLATBUSH|NORTHERN|LINDEN|OCEAN|JAMAICA|GRAND|UNION|CANAL|HOUSTON|DELANCEY|FULTON|MYRTLE|NOSTRAND"
)
STREETS = [
    f"{name} {kind}" for name in STREET_NAMES.split("|") for kind in ("STREET", "AVENUE", "BOULEVARD", "PARKWAY")
]
STREETS += [f"WEST {number} STREET" for number in range(1, 220)]
CHUNK = 250_000


def collisions(rows: int) -> Path:
    """The collisions of five years, with a header line."""
    return cached("collisions", rows, ".csv", _write_collisions)


def _write_collisions(path: Path, rows: int, random: Randomness) -> None:
    with path.open("wb") as file:
        file.write(COLUMNS.encode() + b"\n")
        for start in range(0, rows, CHUNK):
            n = min(CHUNK, rows - start)
            *columns, last = _columns(random, start, n)
            lines = _joined(*columns, _joined(last, "\n"), separator=",")
            written(file, lines)


def _joined(*parts: pa.StringArray | str, separator: str = "") -> pa.StringArray:
    join: Any = pc.binary_join_element_wise
    joined: pa.StringArray = join(*parts, separator)
    return joined


def _columns(random: Randomness, start: int, n: int) -> list[pa.StringArray]:
    days = [str(day) for day in np.arange("2012-07-01", "2017-07-01", dtype="datetime64[D]")]
    dates = pa.array([f"{day[5:7]}/{day[8:]}/{day[:4]}" for day in days])
    times = pa.array([f"{minute // 60}:{minute % 60:02d}" for minute in range(1_440)])
    latitude = _text(np.round(random.uniform(40.5, 40.91, n), 7))
    longitude = _text(np.round(random.uniform(-74.25, -73.70, n), 7))
    vehicles = 1 + weighted(random, HOW_MANY_VEHICLES, n)
    return [
        dates.take(random.integers(0, len(dates), n)),
        times.take(random.integers(0, len(times), n)),
        picked(random, BOROUGHS, BOROUGH_WEIGHTS, n),
        _text(random.integers(10_001, 11_698, n)),
        latitude,
        longitude,
        _joined('"(', latitude, ", ", longitude, ')"'),
        *(_street(random, n, missing) for missing in (0.17, 0.2, 0.85)),
        *_casualties(random, n),
        *(_per_vehicle(random, FACTORS.split("|"), vehicles > i) for i in range(5)),
        _text(np.arange(start, start + n) + 3_000_000),
        *(_per_vehicle(random, VEHICLES.split("|"), vehicles > i) for i in range(5)),
    ]


def _text(numbers: npt.NDArray[Any]) -> pa.StringArray:
    texts: pa.StringArray = pa.array(numbers).cast(pa.string())
    return texts


def _street(random: Randomness, n: int, missing: float) -> pa.StringArray:
    return picked(random, ["", *STREETS], [missing, *([(1 - missing) / len(STREETS)] * len(STREETS))], n)


def _casualties(random: Randomness, n: int) -> list[pa.StringArray]:
    """Injured and killed: persons in all, then pedestrians, cyclists and motorists, that add up to them."""
    injured = [weighted(random, weights, n) for weights in ([95.0, 5, 0.2], [98.0, 2, 0.02], [86.0, 9, 3, 1, 0.5])]
    killed = [weighted(random, weights, n) for weights in ([1.0, 7e-4, 1e-5], [1.0, 1e-4], [1.0, 5e-4, 4e-5])]
    pairs = [(sum(injured), sum(killed)), *zip(injured, killed, strict=True)]
    return [_text(np.asarray(column)) for pair in pairs for column in pair]


def _per_vehicle(random: Randomness, names: list[str], present: npt.NDArray[np.bool_]) -> pa.StringArray:
    """A name for each vehicle that is there, the first ones the most frequent; empty for the others."""
    chosen = 1 + weighted(random, 1.0 / (np.arange(len(names)) + 1.5), len(present))
    return pa.array(["", *names]).take(np.where(present, chosen, 0))

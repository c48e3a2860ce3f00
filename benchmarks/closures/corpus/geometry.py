"""Points, boxes and geographic coordinates."""

import math
from typing import NamedTuple

from benchmarks.closures.entry import closure, numeric_loop
from benchmarks.closures.rows import boxes, float_lists, floats, int_pairs, journeys, points

Point = tuple[float, float]
Box = tuple[float, float, float, float]


class Vector(NamedTuple):
    """A point, by name."""

    x: float
    y: float


closure(points, "length_squared", float)(lambda p: p[0] * p[0] + p[1] * p[1])
closure(points, "length", float)(lambda p: math.sqrt(p[0] * p[0] + p[1] * p[1]))
closure(points, "mirrored", tuple[float, float])(lambda p: (-p[0], p[1]))
closure(boxes, "area", float)(lambda b: (b[2] - b[0]) * (b[3] - b[1]))


@closure(points)
def quadrant(p: Point) -> int:
    x, y = p
    if x >= 0:
        return 1 if y >= 0 else 4
    return 2 if y >= 0 else 3


@closure(points)
def manhattan(p: Point) -> float:
    return abs(p[0]) + abs(p[1])


@closure(points)
def cell(p: Point) -> tuple[int, int]:
    return math.floor(p[0] / 0.5), math.floor(p[1] / 0.5)


@closure(points)
def cell_name(p: Point) -> str:
    return f"{int(p[0] // 1)}:{int(p[1] // 1)}"


@closure(points)
def in_circle(p: Point) -> bool:
    return (p[0] - 1.0) ** 2 + (p[1] + 2.0) ** 2 <= 25.0


@closure(points)
def distance(p: Point) -> float:
    return math.hypot(p[0] - 3.0, p[1] - 4.0)


@closure(points)
def moved(p: Point) -> Vector:
    return Vector(p[0] + 1.5, p[1] - 0.5)


@closure(points)
def polar(p: Point) -> tuple[float, float]:
    return math.sqrt(p[0] * p[0] + p[1] * p[1]), math.atan2(p[1], p[0])


@closure(boxes)
def centre(b: Box) -> tuple[float, float]:
    return (b[0] + b[2]) / 2, (b[1] + b[3]) / 2


@closure(boxes)
def holds_origin(b: Box) -> bool:
    left, bottom, right, top = b
    return left <= 50 <= right and bottom <= 50 <= top


@closure(boxes)
def overlap(b: Box) -> float:
    width = min(b[2], 80.0) - max(b[0], 20.0)
    height = min(b[3], 80.0) - max(b[1], 20.0)
    return width * height if width > 0 and height > 0 else 0.0


@closure(boxes)
def aspect(b: Box) -> float | None:
    height = b[3] - b[1]
    return None if height == 0 else (b[2] - b[0]) / height


@closure(journeys)
def haversine(j: Box) -> float:
    lat1, lon1, lat2, lon2 = map(math.radians, j)
    a = math.sin((lat2 - lat1) / 2) ** 2 + math.cos(lat1) * math.cos(lat2) * math.sin((lon2 - lon1) / 2) ** 2
    return 2 * 6371.0 * math.asin(math.sqrt(a))


@closure(journeys)
def flat_distance(j: Box) -> float:
    return math.sqrt((j[2] - j[0]) * (j[2] - j[0]) + (j[3] - j[1]) * (j[3] - j[1])) * 111.2


@closure(journeys)
def tile(j: Box) -> tuple[int, int]:
    return int((j[1] + 180) / 360 * 1024), int((j[0] + 90) / 180 * 1024)


@closure(journeys)
def goes_north(j: Box) -> bool:
    return j[2] > j[0] and abs(j[2] - j[0]) > abs(j[3] - j[1])


@closure(floats)
def wrapped_angle(degrees: float) -> float:
    return (degrees + 180) % 360 - 180


@closure(floats)
def compass(degrees: float) -> str:
    return ["N", "E", "S", "W"][int((degrees % 360 + 45) // 90) % 4]


@closure(int_pairs)
def index_of_cell(p: tuple[int, int]) -> int:
    return p[1] * 1000 + p[0] % 1000


@numeric_loop(points)
def mandelbrot(p: Point) -> int:
    cr, ci = p[0] / 8, p[1] / 8
    zr, zi = 0.0, 0.0
    for n in range(50):
        if zr * zr + zi * zi > 4.0:
            return n
        zr, zi = zr * zr - zi * zi + cr, 2 * zr * zi + ci
    return 50


@numeric_loop(points)
def inside_polygon(p: Point) -> bool:
    x, y = p
    inside = False
    for k in range(6):
        x1, y1 = 8 * math.cos(k * math.pi / 3), 8 * math.sin(k * math.pi / 3)
        x2, y2 = 8 * math.cos((k + 1) * math.pi / 3), 8 * math.sin((k + 1) * math.pi / 3)
        if (y1 > y) != (y2 > y) and x < (x2 - x1) * (y - y1) / (y2 - y1) + x1:
            inside = not inside
    return inside


@numeric_loop(float_lists)
def path_length(xs: list[float]) -> float:
    total = 0.0
    for i in range(1, len(xs)):
        total += abs(xs[i] - xs[i - 1])
    return total

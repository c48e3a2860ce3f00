"""Draws the Mandelbrot set as an image in memory: `python examples/pipelines/mandelbrot.py 1000 --workers 2`."""

import argparse
import hashlib
from pathlib import Path

import morisot as mo

LEFT, TOP, SIZE = -2.125, -1.5, 3.0


@mo.pipeline
def mandelbrot(dim: int, iterations: int, workers: int) -> bytearray:
    """The grey values of dim x dim pixels, line by line."""
    image = bytearray()
    step = SIZE / dim
    for pixel in mo.to_stream(range(dim * dim)):
        with mo.stage(replicate=workers):
            a = LEFT + step * (pixel % dim)
            b = TOP + step * (pixel // dim)
            x, y, k = a, b, 0
            while k < iterations and x * x + y * y <= 4.0:
                x, y = x * x - y * y + a, 2.0 * x * y + b
                k += 1
            grey = 255 - k * 255 // iterations
        with mo.stage():
            image.append(grey)
    return image


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("dim", type=int, nargs="?", default=200)
    parser.add_argument("--iterations", type=int, default=1000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out", type=Path, help="a file in the format PGM")
    given = parser.parse_args()
    image = mandelbrot(given.dim, given.iterations, given.workers)
    print("MD5", hashlib.md5(image).hexdigest())
    if given.out:
        given.out.write_bytes(b"P5 %d %d 255\n" % (given.dim, given.dim) + image)


if __name__ == "__main__":
    main()

"""Draws the Mandelbrot set with a pool."""

from functools import partial
from multiprocessing import Pool

LEFT, TOP, SIZE = -2.125, -1.5, 3.0


def grey_of(pixel: int, dim: int, iterations: int) -> int:
    step = SIZE / dim
    a = LEFT + step * (pixel % dim)
    b = TOP + step * (pixel // dim)
    x, y, k = a, b, 0
    while k < iterations and x * x + y * y <= 4.0:
        x, y = x * x - y * y + a, 2.0 * x * y + b
        k += 1
    return 255 - k * 255 // iterations


def mandelbrot(dim: int, iterations: int, workers: int) -> bytearray:
    image = bytearray()
    work = partial(grey_of, dim=dim, iterations=iterations)
    with Pool(workers) as pool:
        for grey in pool.imap(work, range(dim * dim), chunksize=4096):
            image.append(grey)
    return image

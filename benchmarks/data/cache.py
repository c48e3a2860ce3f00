"""The benchmarks' own data: made once from a fixed seed, kept under build/bench-data, keyed by its size."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt
import pyarrow as pa

DIRECTORY = Path(__file__).resolve().parents[2] / "build" / "bench-data"
SEED = 1874
VERSION = 1  # part of every file's name: raise it when a generator changes

Randomness = np.random.Generator
Indices = npt.NDArray[np.int64]
Weights = Sequence[float] | npt.NDArray[np.floating[Any]]


def cached(name: str, size: int, suffix: str, make: Callable[[Path, int, Randomness], None]) -> Path:
    """The file of that name and size; `make` writes it when there is none yet."""
    path = DIRECTORY / f"{name}-v{VERSION}-{size}{suffix}"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_name(f"{path.name}.{os.getpid()}")  # an interrupted run leaves no half file behind
        make(unfinished, size, np.random.default_rng([SEED, size]))
        unfinished.replace(path)
    return path


def picked(random: Randomness, values: list[str], weights: Weights, n: int) -> pa.StringArray:
    """As many of the values as asked, each as often as its weight says."""
    return pa.array(values).take(weighted(random, weights, n))


def weighted(random: Randomness, weights: Weights, n: int) -> Indices:
    """As many indices into the weights as asked; several times faster than `random.choice`."""
    cumulated = np.cumsum(np.asarray(weights, dtype=float))
    found = np.searchsorted(cumulated, random.random(n) * cumulated[-1], side="right")
    indices: Indices = np.minimum(found, len(cumulated) - 1).astype(np.int64)
    return indices


def written(file: BinaryIO, texts: pa.StringArray, until: int | None = None) -> int:
    """Write the texts one after the other, without a copy: their array's one data buffer is the file's content.

    With `until`, no more texts than it takes to reach that many bytes. Returns the bytes written.
    """
    _, offsets, data = texts.buffers()
    if offsets is None or data is None:
        return 0
    ends = np.frombuffer(memoryview(offsets), dtype=np.int32)[texts.offset : texts.offset + len(texts) + 1]
    last = len(ends) - 1 if until is None else min(int(np.searchsorted(ends, until)), len(ends) - 1)
    return file.write(memoryview(data)[ends[0] : ends[last]])

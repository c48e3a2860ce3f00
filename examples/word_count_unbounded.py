"""Count the words of a directory while files arrive: the program of word_count.py, without an end.

Run it with `python examples/word_count_unbounded.py [--seconds SECONDS]`.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import morisot as mo
from word_count import count_words

LINES = (
    "the sea is calm, the light is grey.",
    "a boat comes in with the light.",
    "on the boat, a child waves.",
    "the child sees the sea.",
)


def main() -> None:
    parser = argparse.ArgumentParser(description="Count words while files arrive.")
    parser.add_argument("--seconds", type=float, default=10, help="how long to run (10)")
    seconds = parser.parse_args().seconds

    with mo.StreamContext() as ctx, tempfile.TemporaryDirectory() as directory:
        words = count_words(ctx.stream_file(directory, unbounded=True))
        words.for_each(lambda word, count: print(f"{word:>8} {count}"))
        job = ctx.start()
        end = time.monotonic() + seconds
        arrived = 0
        while time.monotonic() < end:
            line = LINES[arrived % len(LINES)]
            arrive(Path(directory), f"{arrived}.txt", line)
            arrived += 1
            print(f"--- {line}")
            job.wait(min(2.0, max(0.1, end - time.monotonic())))
        job.stop()
        metrics = job.metrics()
        print(f"\n{metrics['elements_in']} lines read, {metrics['elements_out']} changes of a count shown")


def arrive(directory: Path, name: str, text: str) -> None:
    """A file appears in a followed directory at once and whole: written aside under a hidden name, then renamed."""
    hidden = directory / f".{name}"
    hidden.write_text(text + "\n")
    hidden.rename(directory / name)


if __name__ == "__main__":
    main()

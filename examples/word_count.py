"""Count the words of a text: the first program to read.

    python examples/word_count.py [path] [--size MEGABYTES]

Without a path it counts the words of a text that it makes up, the same one every time.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

import morisot as mo

DEMO = Path(__file__).parents[1] / "build" / "demo"


def count_words(lines: mo.Stream[str]) -> mo.KeyedStream[str, int]:
    """How often each word occurs: the same program for files and for a directory that is followed."""
    return (
        lines.flat_map(lambda line: line.lower().split())
        .map(lambda word: word.strip(".,"))
        .group_by_count(lambda word: word)
    )


def demo_text(megabytes: float) -> Path:
    """A file of sentences whose words are as unevenly frequent as those of English."""
    path = DEMO / f"text-{megabytes:g}MB.txt"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        random = np.random.default_rng(1874)
        known = "the of and to in a is that it was for on as with his they at be this from light water paint".split()
        syllables = "ar bel cor de en fa gra hol in jo ka lu mor nes o pal ri sot ta um ver wen".split()
        made = {"".join(random.choice(syllables, size)) for size in random.integers(2, 5, 8000)}
        words = np.array([*known, *sorted(made - set(known))])
        frequency = 1 / np.arange(1, len(words) + 1)  # Zipf's law
        count = int(megabytes * 1e6 / 7.2 / 12) + 1
        sentences = random.choice(words, (count, 12), p=frequency / frequency.sum())
        partial = path.with_suffix(".partial")
        with partial.open("w") as file:
            file.writelines(
                f"{' '.join(line[:7])}, {' '.join(line[7:])}.\n".capitalize() for line in sentences.tolist()
            )
        partial.rename(path)
    return path


def main() -> None:
    parser = argparse.ArgumentParser(description="Count the words of a text.")
    parser.add_argument("path", nargs="?", help="a text file, a directory or a glob of your own")
    parser.add_argument("--size", type=float, default=20, metavar="MB", help="size of the made-up text (20)")
    arguments = parser.parse_args()
    path = arguments.path or demo_text(arguments.size)

    began = time.perf_counter()
    with mo.StreamContext() as ctx:
        ctx.spark  # noqa: B018 - Spark starts when it is first needed: here, to time it apart from the job
        ready = time.perf_counter()
        words = count_words(ctx.stream_file(path))
        counts = words.collect()
        done = time.perf_counter()

        table = Table("word", "count", title=f"The most frequent words of {Path(path).name}", title_justify="left")
        table.columns[1].justify = "right"
        for word, count in sorted(counts, key=lambda pair: (-pair[1], pair[0]))[:15]:
            table.add_row(word, f"{count:,}")
        Console().print(table)
        words.explain()
    total = sum(count for _, count in counts)
    print(f"\nstart-up {ready - began:.1f} s, job {done - ready:.1f} s:", end=" ")
    print(f"{total:,} words, {len(counts):,} distinct, {total / (done - ready):,.0f} words/s")


if __name__ == "__main__":
    main()

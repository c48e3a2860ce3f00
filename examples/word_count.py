"""Count the words of a text: the first program to read.

Run it with `python examples/word_count.py [path] [--size MEGABYTES]`. Without a path it counts the words of a text that
it makes up, the same one every time.
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
        syllables = [head + tail for head in "bcdfglmnprstvw" for tail in ("a", "e", "i", "o", "an", "er", "il", "oun")]
        made = ["".join(random.choice(syllables, size)) for size in random.integers(1, 5, 10_000)]
        known = ["the", "of", "and", "to", "in", "a", "is", "that", "it", "was", "for", "light", "on", "as", "water"]
        words = list(dict.fromkeys([*known, *made]))
        frequency = 1 / np.arange(1, len(words) + 1)  # Zipf's law
        frequency /= frequency.sum()
        sentence_bytes = 12 * (1 + frequency @ [len(word) for word in words]) + 2
        sentences = random.choice(words, (int(megabytes * 1e6 / sentence_bytes) + 1, 12), p=frequency).tolist()
        text = (f"{' '.join(words[:7])}, {' '.join(words[7:])}.\n".capitalize() for words in sentences)
        unfinished = path.with_suffix(".unfinished")
        unfinished.write_text("".join(text))
        unfinished.rename(path)
    return path


def main() -> None:
    parser = argparse.ArgumentParser(description="Count the words of a text.")
    parser.add_argument("path", nargs="?", help="a text file, a directory or a glob of your own")
    parser.add_argument("--size", type=float, default=20, metavar="MB", help="size of the made-up text (20)")
    arguments = parser.parse_args()
    path = arguments.path or demo_text(arguments.size)

    began = time.perf_counter()
    with mo.StreamContext() as ctx:
        ctx.spark  # noqa: B018 - Spark starts when it is first needed: now, to tell its start-up from the job
        ready = time.perf_counter()
        words = count_words(ctx.stream_file(path))
        counts = words.collect()
        done = time.perf_counter()

        table = Table("word", "count")
        table.columns[1].justify = "right"
        for word, count in sorted(counts, key=lambda pair: (-pair[1], pair[0]))[:15]:
            table.add_row(word, f"{count:,}")
        Console().print(table)
        words.explain()
    total = sum(count for _, count in counts)
    print(f"\n{total:,} words, {len(counts):,} distinct, of {path}")
    print(f"start-up {ready - began:.1f} s, job {done - ready:.1f} s: {total / (done - ready):,.0f} words/s")


if __name__ == "__main__":
    main()

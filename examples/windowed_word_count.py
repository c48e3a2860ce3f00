"""Count words ten at a time: how much text passes between ten occurrences of a word.

Run it with `python examples/windowed_word_count.py [path]`. Without a path it reads this repository's own documents.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import Any, NamedTuple

import morisot as mo

DOCUMENTS = Path(__file__).parents[1] / "docs" / "operators" / "*.md"


class Occurrence(NamedTuple):
    """A word and its position in the text."""

    word: str
    place: int


def numbered(place: int, word: str) -> tuple[int, Occurrence]:
    """The next position, and the word at this one."""
    return place + 1, Occurrence(word, place)


def words_of(line: str) -> list[str]:
    return re.findall(r"[a-z]+", line.lower())


def spans(lines: mo.Stream[str]) -> mo.KeyedStream[str, mo.Windowed[int, Any]]:
    """For every ten occurrences of a word, beginning with every fifth: the positions of the first and the last."""
    return (
        lines.flat_map(words_of)
        .rich_map(0, numbered, returns=Occurrence)
        .group_by(lambda occurrence: occurrence.word)
        .window(mo.CountWindow.sliding(10, 5))
        .aggregate(first=mo.agg.min(lambda o: o.place), last=mo.agg.max(lambda o: o.place))
        .with_bounds()
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Where words crowd: ten occurrences within few words.")
    parser.add_argument("path", nargs="?", default=str(DOCUMENTS), help="a text file, a directory or a glob")
    arguments = parser.parse_args()
    with mo.StreamContext() as ctx:
        found = spans(ctx.stream_file(arguments.path)).collect()
    closest = sorted(found, key=lambda pair: (pair[1].value.last - pair[1].value.first, pair[0]))
    for word, window in closest[:10]:
        length = window.value.last - window.value.first + 1
        print(f"{word:12} occurrences {window.start + 1} to {window.end} within {length} words")
    print(f"{len(found)} windows of ten, of {len({word for word, _ in found})} words")


if __name__ == "__main__":
    main()

"""English-looking text: Zipf's law over a vocabulary, capitals and punctuation, lines of 9 to 13 words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from benchmarks.data.cache import Indices, Randomness, cached, weighted, written

if TYPE_CHECKING:
    from pathlib import Path

COMMON = (
    "the of and to a in that it is was i he for with on as his be "  # wording: words of a text, no prose
    "at by had not you but they this from have or an her "
    "she which we were all their one there been would so what if will when who more no out up said them him about its "
    "into than some could time these other then do my like now only over such your any our made after must should may "
    "before very where through down even those men did own know here old back long people little most house under "
    "world don't great year work being never day upon man might again place good way water hand life first two came"
)
ONSETS = "b c d f g h l m n p r s t v w br cl ch dr fl gr pl pr sh st str th tr"
NUCLEI = ["a", "e", "i", "o", "u", "ai", "ea", "ee", "io", "ou"]
CODAS = ["", "", "", "", "", "n", "r", "s", "t", "l", "m", "d", "nd", "st", "ck", "ng"]
ENDINGS = ["", "", "", "", "", "", "s", "ed", "ing", "er", "ly", "tion"]
VOCABULARY = 30_000
PUNCTUATION = ["", ",", ";", ".", "?", "!"]
SENTENCE_END = 3  # from here on
SEPARATORS = [" ", "  ", "\n", "\n\n    "]
CHUNK = 2_000_000


def text(size: int) -> Path:
    """A text of that many bytes, within one word."""
    return cached("text", size, ".txt", _write_text)


def _write_text(path: Path, size: int, random: Randomness) -> None:
    tokens = _tokens(_vocabulary(random))
    chunk = min(CHUNK, size // 4 + 1)
    frequencies = 1.0 / (np.arange(VOCABULARY) + 2.7) ** 1.1
    written_bytes = 0
    with path.open("wb") as file:
        while written_bytes < size:
            chosen = weighted(random, frequencies, chunk) * (2 * len(PUNCTUATION) * len(SEPARATORS))
            dressed = tokens.take(chosen + _dress(random, chunk))  # with their separators: the text itself
            written_bytes += written(file, dressed, until=size - written_bytes)


def _vocabulary(random: Randomness) -> list[str]:
    """The common words first, then invented ones, the short before the long."""
    words = dict.fromkeys(COMMON.split())
    for syllables, share in ((1, 0.1), (2, 0.6), (3, 1.0)):
        wanted = len(COMMON.split()) + int((VOCABULARY - len(COMMON.split())) * share)
        while len(words) < wanted:
            parts = [random.choice(part, 1_000) for part in (ONSETS.split(), NUCLEI, CODAS) * syllables + (ENDINGS,)]
            for word in map("".join, zip(*parts, strict=True)):
                if len(words) < wanted:
                    words[word] = None
    return list(words)


def _tokens(vocabulary: list[str]) -> pa.StringArray:
    """Every word in every dress: small or capital, each punctuation mark, each separator."""
    return pa.array(
        [
            word + mark + separator
            for small in vocabulary
            for word in (small, small.capitalize())
            for mark in PUNCTUATION
            for separator in SEPARATORS
        ]
    )


def _dress(random: Randomness, n: int) -> Indices:
    """For n words in a row, which dress each one wears."""
    mark = weighted(random, [84.0, 7, 1, 6, 1, 1], n)
    ends = mark >= SENTENCE_END
    capital = np.concatenate(([True], ends[:-1])) | (random.random(n) < 0.02)
    separator = (random.random(n) < 0.01).astype(np.int64)
    lines = np.cumsum(random.integers(9, 14, n // 9 + 1)) - 1
    lines = lines[lines < n]
    separator[lines] = 2
    paragraphs = lines[ends[lines]]
    separator[paragraphs] = 3
    return (capital.astype(np.int64) * len(PUNCTUATION) + mark) * len(SEPARATORS) + separator

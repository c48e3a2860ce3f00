"""Functions of texts that may be called for each token: what is proven of them holds in CPython."""

from __future__ import annotations

import random
import re
import string
import sys
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from morisot.compile.tokens.analysis import WHITE_SPACE, Tokens, is_neutral, tokens_of
from morisot.compile.verdict import Refusal

COMMA = ","
NO_MARKS = str.maketrans("", "", string.punctuation)
WORD = re.compile(r"[a-zσς']+")
ANY_CASE = re.compile(r"\b[a-z]+\b", re.IGNORECASE)


def long_words(line: str) -> list[str]:
    """The words of more than three letters."""
    words = line.lower().split()
    return [word.strip(".,") for word in words if len(word) > 3]


LOCAL: list[tuple[Callable[[str], Any], str]] = [
    (str.split, WHITE_SPACE),
    (long_words, WHITE_SPACE),
    (lambda line: long_words(line.upper()), WHITE_SPACE),
    (lambda line: line.split(), WHITE_SPACE),
    (lambda line: line.lower().split(), WHITE_SPACE),
    (lambda line: line.upper().swapcase().casefold().split(None), WHITE_SPACE),
    (lambda line: line.strip().lower().lstrip().split(), WHITE_SPACE),
    (lambda line: line.split(" "), " "),
    (lambda line: line.lower().split(COMMA), ","),
    (lambda line: line.split("."), "."),
    (lambda line: [word for word in line.split(" ") if word], " "),
    (lambda line: [(word, 1) for word in line.split()], WHITE_SPACE),
    (lambda line: [letter for word in line.split() for letter in word], WHITE_SPACE),
    (lambda line: tuple(word[::-1] for word in line.split()), WHITE_SPACE),
    (lambda line: line.replace(",", " ").split(), WHITE_SPACE),
    (lambda line: line.replace("\t", "a").split(), " "),
    (lambda line: line.translate(NO_MARKS).split(), WHITE_SPACE),
    (lambda line: line.translate(str.maketrans("\t", "x")).split(), " "),
    (lambda line: re.findall(r"\w+", line), WHITE_SPACE),
    (lambda line: re.findall("[^ ]+", line), " "),
    (lambda line: WORD.findall(line.lower()), WHITE_SPACE),
    (lambda line: ANY_CASE.findall(line), WHITE_SPACE),
    (lambda line: re.sub("[^a-z ]", "", line.lower()).split(), " "),
    (lambda line: WORD.sub(" ", line).split(), WHITE_SPACE),
]
"""Functions with the separators of their tokens."""
OTHERS: list[Callable[..., Any]] = [
    lambda line: line.strip().split(","),
    lambda line: line.lower().split("."),  # "ΑΣ.Β" is one word for lower()
    lambda line: line.split(",", 1),
    lambda line: line.split()[:3],
    lambda line: sorted(line.split()),
    lambda line: [(word, len(line)) for word in line.split()],
    lambda line: [word for word in line.split() if word in line],
    lambda line: list(reversed(line.split())),
    lambda line: line.split() if line else [],
    lambda line: line.split() + line.split(),
    lambda line: line.replace(", ", " ").split(),
    lambda line: line.replace("", " ").split(),
    lambda line: line.replace(",", " ", 1).split(),
    lambda line: line.strip(".").split(),
    lambda line: line.strip().replace("\x1c", "x").split(),
    lambda line: line.translate({32: "x"}).split(),
    lambda line: line.translate({32: "x"}).split(" "),
    lambda line: re.findall("^[a-z]+", line),
    lambda line: re.findall(r"\w*", line),
    lambda line: re.findall(r"\w+(?= )", line),
    lambda line: re.findall("[^a]+", line),
    lambda line: re.findall("(?s).", line),
    lambda line: re.split(r"\W+", line),
    lambda line: line.splitlines(),
    lambda line: line,
    lambda line: [line],
    lambda line: list(line),
    lambda line, more="": (line + more).split(),
    lambda line: ["a", "b"],
    max,
]
ALPHABET = [*"aAbBzſßΣσςİIıKé𐐀 .,;'-_0^·:", " ", " ", *"\t\n\r\x0b\x0c\x1c\x1d\x1e\x1f\x85\xa0\u2003\u2028\u0301\u00ad"]


def tokens_in(text: str, tokens: Tokens) -> list[str]:
    """The tokens of a text as workers split it."""
    texts = pa.array([text])
    split = pc.ascii_split_whitespace(texts) if tokens.pattern is None else pc.split_pattern(texts, tokens.pattern)
    found: list[Any] = split.flatten().to_pylist()
    return found


@pytest.mark.parametrize(("function", "separators"), LOCAL)
def test_a_function_of_each_token_gives_the_list_of_the_text(
    function: Callable[[str], Any], separators: str, chance: random.Random
) -> None:
    tokens = tokens_of(function)
    assert tokens == Tokens(separators)
    for _ in range(300):
        text = "".join(chance.choices(ALPHABET, k=chance.randrange(20)))
        of_tokens = [item for token in tokens_in(text, tokens) for item in function(token)]
        assert of_tokens == list(function(text)), repr(text)


@pytest.mark.parametrize("function", OTHERS)
def test_other_functions_are_called_for_texts(function: Callable[..., Any]) -> None:
    assert isinstance(tokens_of(function), Refusal)


def test_arrow_splits_by_white_space_of_ascii_only() -> None:
    found = [chr(each) for each in range(0xD800) if len(tokens_in(f"a{chr(each)}a", Tokens(WHITE_SPACE))) > 1]
    assert sorted(found) == sorted(WHITE_SPACE)
    assert all(each.isspace() for each in WHITE_SPACE)


def test_no_letter_becomes_a_separator() -> None:
    """Also a letter between letters, of which one may be a sigma."""
    separators = {each for each in map(chr, range(128)) if is_neutral(each) and not each.isalnum() and each != "_"}
    assert set(WHITE_SPACE) < separators
    assert not separators & set(".':^`")
    for change in (str.lower, str.upper, str.casefold, str.swapcase):
        for character in map(chr, range(128, sys.maxunicode + 1)):
            assert separators.isdisjoint(change(character))
    text = "".join(each for each in map(chr, range(sys.maxunicode + 1)) if each.isspace())
    assert all(change(text) == text for change in (str.lower, str.upper, str.casefold, str.swapcase))

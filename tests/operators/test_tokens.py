"""Counts of tokens of texts in files, on each engine."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

import morisot as mo

LINES = ["To be, or not to be", "", "  ΑΣ ΑΣ.Β\tİı  to", "a\x1cb\x85c\xa0TO", "to " * 500, "\x0b,"]


@pytest.fixture
def text(tmp_path: Path) -> str:
    (tmp_path / "a.txt").write_text("\n".join(LINES * 3), encoding="utf-8", newline="")
    (tmp_path / "b.txt").write_text("\n".join(reversed(LINES)), encoding="utf-8", newline="")
    return str(tmp_path)


WORDS = [word for line in LINES * 4 for word in line.lower().split()]


def test_word_count(ctx: mo.StreamContext, text: str) -> None:
    words = ctx.stream_file(text).flat_map(lambda line: line.lower().split())
    counts = words.group_by_count(lambda word: word)
    assert {record.form for record in counts.forms()} == {"tokens"}
    assert dict(counts.collect()) == Counter(WORDS)
    assert words.count().collect() == [len(WORDS)]


def test_filters_and_maps_of_words(ctx: mo.StreamContext, text: str) -> None:
    found = ctx.stream_file(text).map(lambda line: line.replace("be", "is")).flat_map(lambda s: re.findall("[a-z]+", s))
    counts = found.filter(lambda word: len(word) > 1).map(lambda word: (word[0], word)).group_by_count(lambda p: p[0])
    forms = [record.form for record in counts.forms()]
    assert forms == ["column", "tokens", "tokens", "tokens", "tokens"]
    words = [word for line in LINES * 4 for word in re.findall("[a-z]+", line.replace("be", "is"))]
    assert dict(counts.collect()) == Counter(word[0] for word in words if len(word) > 1)


def test_keys_are_in_the_order_of_their_first_elements(ctx: mo.StreamContext, text: str) -> None:
    words = ctx.stream_file(f"{text}/a.txt").flat_map(lambda line: line.lower().split())
    counts = words.group_by_count(lambda word: word)
    in_order = counts.unkey().fold("", lambda found, pair: f"{found} {pair[0]}")
    assert in_order.collect()[0].split(" ")[1:] == list(dict.fromkeys(WORDS))


def test_functions_that_need_the_whole_text_have_column_forms(ctx: mo.StreamContext, text: str) -> None:
    counts = ctx.stream_file(text).flat_map(lambda line: line.lower().split()[:2]).group_by_count(lambda word: word)
    assert {record.form for record in counts.forms()} == {"column"}
    assert dict(counts.collect()) == Counter(word for line in LINES * 4 for word in line.lower().split()[:2])


def test_an_error_names_the_line(ctx: mo.StreamContext, tmp_path: Path) -> None:
    (tmp_path / "numbers.txt").write_text("1 2\n3 x\n", encoding="utf-8")
    numbers = ctx.stream_file(str(tmp_path / "numbers.txt")).flat_map(lambda line: [int(each) for each in line.split()])
    with pytest.raises(mo.ElementError, match=r"flat_map.*'3 x'"):
        numbers.group_by_count(lambda n: n).collect()

"""Spark's numbered logs: what is new in them, without reading what is old."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from morisot.engines.spark.internals import spark_log


def value(number: int, nth: int) -> dict[str, Any]:
    return {"path": f"file:///in/{number}-{nth}", "batchId": number}


def put(directory: Path, number: int, *, compact: bool, each: int = 3) -> None:
    """An entry with some values; or one with those of all entries up to it."""
    numbers = range(number + 1) if compact else [number]
    values = [value(before, nth) for before in numbers for nth in range(each)]
    name = f"{number}.compact" if compact else str(number)
    (directory / name).write_text("\n".join(["v1", *map(json.dumps, values)]))


@pytest.mark.parametrize("block", [7, 100, 2**16])
def test_what_is_new_is_found_in_entries_of_both_kinds(
    block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark_log, "_BLOCK", block)
    for number in range(13):
        put(tmp_path, number, compact=number == 9)
    for first, last in [(0, 12), (9, 9), (8, 10), (3, 4), (12, 12)]:
        assert spark_log.since(tmp_path, first, last) == [
            value(number, nth) for number in range(first, last + 1) for nth in range(3)
        ]


def test_an_entry_that_was_dropped_is_found_in_a_later_one(tmp_path: Path) -> None:
    for number in range(9, 13):
        put(tmp_path, number, compact=number == 9)
    assert spark_log.since(tmp_path, 4, 5) == [value(number, nth) for number in (4, 5) for nth in range(3)]
    assert spark_log.since(tmp_path / "none", 0, 3) == []


def test_an_entry_that_is_dropped_while_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(9):
        put(tmp_path, number, compact=False)
    read = spark_log.lines

    def dropping(file: Path) -> list[Any]:
        if file.name == "4" and file.exists():
            put(tmp_path, 9, compact=True)
            for number in range(9):
                (tmp_path / str(number)).unlink()
        return read(file)

    monkeypatch.setattr(spark_log, "lines", dropping)
    assert spark_log.since(tmp_path, 3, 5) == [value(number, nth) for number in (3, 4, 5) for nth in range(3)]


def test_of_an_entry_with_everything_only_its_end_is_read(tmp_path: Path) -> None:
    put(tmp_path, 999, compact=True)
    whole = (tmp_path / "999.compact").read_bytes()
    (tmp_path / "999.compact").write_bytes(b"not to be read\n" * 100 + whole[-(2**16) :].split(b"\n", 1)[1])
    assert spark_log.since(tmp_path, 999, 999) == [value(999, nth) for nth in range(3)]

"""`morisot run` of a program on Spark: it is killed, and resumes exactly once."""

from __future__ import annotations

import collections
import csv
import os
import signal
from pathlib import Path

import pytest

from morisot.supervision.control import ask
from tests.supervision.programs import Supervised, wait_for

WORD_COUNT = """
import time
import morisot as mo

def words(line: str) -> list[str]:
    with open("visited", "a") as log:
        log.write(line + "\\n")
    time.sleep(0.3)
    return line.split()

config = mo.Config(master="local[2]", parallelism=2, memory="1g")
with mo.StreamContext(config=config, snapshots=mo.Snapshots("other")) as ctx:
    pages = ctx.stream_file(os.path.abspath("pages"))
    pages.flat_map(words).group_by_count(lambda word: word).write_csv(os.path.abspath("counted"))
    ctx.execute()
"""


@pytest.mark.jvm
@pytest.mark.program
@pytest.mark.thorough
def test_a_word_count_that_is_killed_resumes_exactly_once(tmp_path: Path) -> None:
    pages = tmp_path / "pages"
    pages.mkdir()
    lines = [f"to be or not {number % 3}" for number in range(8)]
    for number, line in enumerate(lines):
        (pages / f"{number}.txt").write_text(f"{line}\n")
    run = Supervised(tmp_path, WORD_COUNT, "--items", "1", "--timeout", "4min")
    # also: the command line wins over the directory in the code
    wait_for(lambda: any(run.saves.glob("bounded/*/part-0/spark/commits/2")), 120)
    os.kill(ask(run.saves, {"command": "status"})["child"], signal.SIGKILL)
    run.patience = 200
    assert run.wait() == 0, run.errors
    first, second = run.report.attempts
    assert first.error == "it was ended by SIGKILL"
    assert second.error is None
    assert second.from_snapshot is not None
    assert second.recovered_after is not None
    visited = collections.Counter((tmp_path / "visited").read_text().splitlines())
    assert sum(visited.values()) <= len(lines) + 2
    counted = [
        row
        for file in (tmp_path / "counted").glob("*.csv")
        for row in list(csv.reader(file.read_text().splitlines()))[1:]
    ]
    expected = collections.Counter(word for line in lines for word in line.split())
    assert {word: int(count) for word, count in counted} == expected
    assert not (tmp_path / "other").exists()
    assert run.left() == []

"""`python -m tests.physical.golden`: writes the texts of all plans again."""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import morisot as mo
from morisot.physical.boundaries import boundaries_of
from morisot.physical.job import PlannedJob, plan_stream
from morisot.physical.text import text_of
from morisot.viz.text import text_tree
from tests.physical.programs import FILES, PROGRAMS

DIRECTORY = Path(__file__).parent / "golden"


def text_of_program(name: str) -> str:
    """What explain() shows of a program, its physical operators, and the boundary nodes that those state.

    The working directory is filled with the program's files.
    """
    write_files()
    node = PROGRAMS[name](mo.StreamContext(engine="reference"))._node
    job = plan_stream(node)
    shown = f"{text_tree(node, job)}\n\n{text_of(job)}\n\n{boundary_line(job)}\n"
    shown = shown.replace(f"{Path.cwd()}/", "")
    return re.sub(r" *[\[(][\w/.]*programs\.py:\d+[\])]", "", re.sub(r" \(line \d+\)", "", shown))


def boundary_line(job: PlannedJob) -> str:
    """The boundary nodes of a job in Spark's plans, on a line."""
    found = sorted(boundaries_of(job).items())
    return "boundaries: " + ", ".join(name if count == 1 else f"{count} {name}" for name, count in found)


def write_files() -> None:
    """Fill the working directory with the files that the programs read."""
    for file, content in FILES.items():
        Path(file).parent.mkdir(parents=True, exist_ok=True)
        Path(file).write_text(content, encoding="utf-8")
    pq.write_table(pa.table({"name": ["a"], "price": [1], "at": [1]}), "offers.parquet")


def main() -> None:
    DIRECTORY.mkdir(exist_ok=True)
    for old in DIRECTORY.glob("*.txt"):
        old.unlink()
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        for name in PROGRAMS:
            (DIRECTORY / f"{name}.txt").write_text(text_of_program(name), encoding="utf-8")


if __name__ == "__main__":
    main()

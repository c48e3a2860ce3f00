"""A program that runs the paths on which an error is reported on a session of Spark Connect, and prints what came.

It has a process of its own, because a process has one kind of session.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

import morisot as mo
from tests.hostile.paths import NATIVE, PROGRAMS, Cell, write_csv, write_json
from tests.hostile.strings import hostile_strings


def main(directory: Path, seed: str) -> None:
    loaded = directory / "loaded"
    text = " ".join(hostile_strings(loaded, random.Random(seed)))
    builder: Any = SparkSession.builder
    spark = builder.remote("local[2]").getOrCreate()
    ctx = mo.StreamContext(spark, config=mo.Config(progress=False, report=False))
    found: dict[str, str] = {}

    def note(name: str, run: Any) -> None:
        try:
            found[name] = f"gave {run()}"
        except mo.MorisotError as error:
            found[name] = f"{type(error).__name__}, {type(error.__cause__).__name__}"

    for name, program in (PROGRAMS | NATIVE).items():
        note(name, program(ctx.stream_iter([text, text])).collect)
    for kind, write in (("csv", write_csv), ("json", write_json)):
        write(directory / f"a.{kind}", text)
    note("csv", ctx.stream_csv(directory / "a.csv", Cell).collect)
    note("json", ctx.stream_json(directory / "a.json", Cell).collect)
    note("dying", ctx.stream_iter([1]).map(Dying(directory / "died"), returns=int).collect)
    (directory / "in").mkdir()
    (directory / "in" / "a.txt").write_text(text + "\n", encoding="utf-8")
    for name in ("map", "column"):
        lines = ctx.stream_file(directory / "in", unbounded=True)
        (PROGRAMS | NATIVE)[name](lines).write_parquet(str(directory / name))
        note(f"unbounded {name}", lambda: ctx.start().wait(60))
    found["loaded"] = str(loaded.exists())
    print(json.dumps(found))
    spark.stop()


class Dying:
    """A function that ends its process once."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def __call__(self, number: int) -> int:
        if not self.file.exists():
            self.file.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return number


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])

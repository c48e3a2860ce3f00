"""Decompresses what `compress.py` wrote: `python examples/pipelines/decompress.py text.txt.bz2 text.txt`."""

import argparse
import bz2
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import morisot as mo

MARK = b"BZh91AY&SY"
READ = 1 << 20


def streams(file: BinaryIO) -> Iterator[bytes]:
    """The streams of a file, cut where the next one begins."""
    rest = b""
    while data := file.read(READ):
        *complete, rest = (rest + data).split(MARK)
        yield from (MARK + each for each in complete if each)
    if rest:
        yield MARK + rest


@mo.pipeline
def decompress(source: Path, target: Path, workers: int) -> int:
    blocks = 0
    with source.open("rb") as compressed, target.open("wb") as text:
        for packed in mo.to_stream(streams(compressed)):
            with mo.stage(replicate=workers):
                block = bz2.decompress(packed)
            with mo.stage():
                text.write(block)
                blocks += 1
    return blocks


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("source", type=Path)
    parser.add_argument("target", type=Path)
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args()
    print(decompress(given.source, given.target, given.workers), "blocks")


if __name__ == "__main__":
    main()

"""Compresses a file with bzip2, block by block: `python examples/pipelines/compress.py text.txt text.txt.bz2`."""

import argparse
import bz2
from pathlib import Path

import morisot as mo

BLOCK = 900_000


@mo.pipeline
def compress(source: Path, target: Path, workers: int) -> int:
    """Each block becomes a stream of its own; `bunzip2` reads them one after another."""
    blocks = 0
    with source.open("rb") as text, target.open("wb") as compressed:
        while mo.to_stream():
            block = text.read(BLOCK)
            if not block:
                break
            with mo.stage(replicate=workers):
                packed = bz2.compress(block, 9)
            with mo.stage():
                compressed.write(packed)
                blocks += 1
    return blocks


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("source", type=Path)
    parser.add_argument("target", type=Path)
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args()
    print(compress(given.source, given.target, given.workers), "blocks")


if __name__ == "__main__":
    main()

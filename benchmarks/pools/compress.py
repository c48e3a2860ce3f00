"""Compresses a file with a pool. A semaphore bounds the blocks in memory."""

import bz2
from collections.abc import Iterator
from multiprocessing import Pool
from pathlib import Path
from threading import Semaphore
from typing import BinaryIO

BLOCK = 900_000
AHEAD = 8


def blocks_of(text: BinaryIO, room: Semaphore) -> Iterator[bytes]:
    while block := text.read(BLOCK):
        room.acquire()
        yield block


def packed_of(block: bytes) -> bytes:
    return bz2.compress(block, 9)


def compress(source: Path, target: Path, workers: int) -> int:
    blocks = 0
    room = Semaphore(AHEAD * workers)
    with source.open("rb") as text, target.open("wb") as compressed, Pool(workers) as pool:
        for packed in pool.imap(packed_of, blocks_of(text, room)):
            compressed.write(packed)
            blocks += 1
            room.release()
    return blocks

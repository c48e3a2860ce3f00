"""Decompresses a file with a pool. A semaphore bounds the blocks in memory."""

import bz2
from collections.abc import Iterator
from multiprocessing import Pool
from pathlib import Path
from threading import Semaphore
from typing import BinaryIO

MARK = b"BZh91AY&SY"
READ = 1 << 20
AHEAD = 8


def streams(file: BinaryIO, room: Semaphore) -> Iterator[bytes]:
    rest = b""
    while data := file.read(READ):
        *complete, rest = (rest + data).split(MARK)
        for each in complete:
            if each:
                room.acquire()
                yield MARK + each
    if rest:
        room.acquire()
        yield MARK + rest


def block_of(packed: bytes) -> bytes:
    return bz2.decompress(packed)


def decompress(source: Path, target: Path, workers: int) -> int:
    blocks = 0
    room = Semaphore(AHEAD * workers)
    with source.open("rb") as compressed, target.open("wb") as text, Pool(workers) as pool:
        for block in pool.imap(block_of, streams(compressed, room)):
            text.write(block)
            blocks += 1
            room.release()
    return blocks

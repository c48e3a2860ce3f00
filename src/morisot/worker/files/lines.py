r"""The lines of a file: decompressed by its name, in UTF-8, ended by \n, \r\n or \r."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import os
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from morisot.worker.files.format import FileProblem, RowMisfit

BLANK = "".join(map(chr, range(33)))
"""The characters of a line that is ignored: blanks and control characters."""
_BOM = b"\xef\xbb\xbf"
_CONVERT = "convert the file to UTF-8, for example with iconv"
_UNSUPPORTED = (".zst", ".zstd", ".lz4", ".snappy", ".xz", ".lzma", ".zip", ".7z", ".br", ".deflate", ".lzo", ".z")
_COMPRESSED = {
    re.compile(rb"\x1f\x8b"): ("gzip", ".gz"),
    re.compile(rb"BZh[1-9](1AY&SY|\x17rE8P\x90)"): ("bzip2", ".bz2"),
}
"""The starts of compressed files. `BZh` could begin a text."""
_BZIP2_END = 0x177245385090
"""The 48 bits before the checksum of 32 bits at the end of a bzip2 stream, which is then filled up to a byte."""
_BZIP2_TAIL = 11


class Line(NamedTuple):
    number: int
    text: str
    problem: RowMisfit | None = None


@contextlib.contextmanager
def opened(file: str, content: bytes | None = None) -> Iterator[Any]:
    """The bytes of a file, decompressed. `content` has them if the file is not on this machine."""
    lower = file.lower()
    if lower.endswith(_UNSUPPORTED):
        raise FileProblem("its compression is not supported", "decompress it, or compress it as .gz or .bz2")
    try:
        with Path(file).open("rb") if content is None else io.BytesIO(content) as raw:
            if lower.endswith(".gz"):
                with gzip.GzipFile(fileobj=raw) as stream:
                    yield stream
            elif lower.endswith(".bz2") and raw.read(1):  # an empty file has no lines, as with gzip
                raw.seek(0)
                with bz2.BZ2File(raw) as stream:
                    yield stream
            else:
                _refuse_renamed(raw)
                yield raw
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise FileProblem(f"it is not a complete compressed file: {error}", "write or download it again") from None
    except OSError as error:
        if lower.endswith((".gz", ".bz2")) and error.errno is None:
            raise FileProblem(f"it is not a compressed file: {error}", "correct its name, or write it again") from None
        raise FileProblem(error.strerror or str(error), "check that the file exists and may be read") from None


def has_end(file: str) -> bool:
    """Whether a file on this machine is no bzip2 file, or ends as one: Spark reads a truncated one without an error."""
    if not file.lower().endswith(".bz2"):
        return True
    with Path(file).open("rb") as raw:
        size = raw.seek(0, os.SEEK_END)
        raw.seek(max(0, size - _BZIP2_TAIL))
        tail = int.from_bytes(raw.read())
    return not size or any(tail >> filled + 32 & 2**48 - 1 == _BZIP2_END for filled in range(8))


def _refuse_renamed(raw: Any) -> None:
    start = raw.read(10)
    raw.seek(0)
    for pattern, (name, ending) in _COMPRESSED.items():
        if pattern.match(start):
            raise FileProblem(
                f"it is compressed with {name}, and its name says otherwise", f"let its name end with {ending}"
            )


def lines_of(stream: Any) -> Iterator[Line]:
    """The lines with their numbers. A line that is not UTF-8 has a problem."""
    for number, raw in enumerate(_separated(stream), 1):
        line = raw.removeprefix(_BOM) if number == 1 else raw
        if number == 1 and line.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise FileProblem("it is in UTF-16", _CONVERT)
        try:
            yield Line(number, line.decode())
        except UnicodeDecodeError as error:
            found = line[error.start : error.end]
            misfit = RowMisfit(f"{found!r} at byte {error.start} is not UTF-8", remedy=_CONVERT)
            yield Line(number, line.decode(errors="replace"), misfit)


def text_of(stream: Any) -> str:
    """The whole text."""
    raw: bytes = stream.read().removeprefix(_BOM)
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise FileProblem("it is in UTF-16", _CONVERT)
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise FileProblem(f"{raw[error.start : error.end]!r} in line {line} is not UTF-8", _CONVERT) from None


def _separated(stream: Any) -> Iterator[bytes]:
    for chunk in stream:
        ended = chunk.endswith(b"\n")
        body = chunk[:-1] if ended else chunk
        if b"\r" not in body:
            yield body
            continue
        parts = (body.removesuffix(b"\r") if ended else body).split(b"\r")
        if not ended and not parts[-1]:
            parts.pop()
        yield from parts

"""Make the checkpoints in fixtures/ again: `python -m tests.recovery.make_fixtures [KIND…]`.

They are there to prove that later versions resume them. So they are made again only when a format has changed and the
older one is deliberately not read any more.

Spark's logs and some of Morisot's records hold the paths of files. They are made in `ROOT`, and `unpacked` replaces
that directory by the one into which it unpacks: in texts, and the digest of a record is computed again. Hadoop's
checksum files are removed. In states a path may be a part of the row order of elements, after the number of their
micro-batch: it is compared with others of the same micro-batch only, and is not replaced.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import shutil
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest

import morisot as mo
from tests.recovery.fixture_programs import BOUNDED, FILES, STREAMS, run_bounded, run_stream

FIXTURES = Path(__file__).with_name("fixtures")
ROOT = Path("/tmp/morisot-fixture")


def archive(kind: str) -> Path:
    return FIXTURES / f"{kind}.tar.gz"


def packed(kind: str, directory: Path) -> None:
    """Write the files of a directory into the archive of a kind: in the order of their names, without times."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for file in files_in(directory):
            if file.name == "owner.lock" or file.suffix == ".crc" or file.is_relative_to(directory / "in"):
                continue  # files that were read are not read again
            entry = tarfile.TarInfo(str(file.relative_to(directory)))
            entry.size, entry.mode = file.stat().st_size, 0o600
            with file.open("rb") as data:
                tar.addfile(entry, data)
    FIXTURES.mkdir(exist_ok=True)
    archive(kind).write_bytes(gzip.compress(content.getvalue(), 9, mtime=0))


def unpacked(kind: str, directory: Path) -> None:
    """Put the files of a kind into a directory, and its path into the files."""
    directory.mkdir(parents=True, exist_ok=True)
    with tarfile.open(archive(kind)) as tar:
        names = [directory / member.name for member in tar.getmembers()]
        tar.extractall(directory, filter="data")
    for file in names:
        replace_path(file, str(ROOT), str(directory))


def files_in(directory: Path) -> list[Path]:
    return sorted(file for file in directory.rglob("*") if file.is_file())


def replace_path(file: Path, old: str, new: str) -> None:
    """Replace a path in a text by another; a Morisot record gets the digest of its new content."""
    text = text_of(file)
    if text is None or old not in text:
        return
    text = text.replace(old, new)
    if text.startswith("{"):
        record = json.loads(text)
        if {"format", "sha256", "content"} <= record.keys():
            record["sha256"] = hashlib.sha256(json.dumps(record["content"]).encode()).hexdigest()
            text = json.dumps(record, indent=1)
    file.write_text(text)


def text_of(file: Path) -> str | None:
    try:
        return file.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return None


def make(kind: str, spark: Any) -> None:
    """Run a program until it stops in the middle, and store its checkpoint."""
    ROOT.mkdir()
    try:
        if kind in STREAMS:
            run_stream(spark, ROOT, kind, FILES)
        else:
            with pytest.raises(mo.ElementError, match="NotYetError"):
                run_bounded(spark, ROOT, kind, fails=True)
        packed(kind, ROOT)
    finally:
        shutil.rmtree(ROOT)
    print(f"{archive(kind).name}: {archive(kind).stat().st_size / 1024:.1f} kB", flush=True)


def main() -> None:
    from morisot.engines.spark.session.session import build_session

    spark = build_session(mo.Config(master="local[2]", parallelism=1, memory="1g", progress=False))
    for kind in sys.argv[1:] or [*STREAMS, *BOUNDED]:
        make(kind, spark)
    spark.stop()


if __name__ == "__main__":
    main()

"""Files of a snapshot that Morisot writes, with digests to detect damage.

A record is a small JSON file: a format, the content, and the digest of the content. A manifest is a record that lists
the other files of a directory, with sizes and digests. It is written last, so that a directory with a manifest is
complete. Digests are compared before anything is unpickled or passed to Spark.

Each kind of file has its own format number. Raise it when the content of a file or its meaning changes, and decide
whether the older format is still read. tests/recovery/fixtures has checkpoints that must be readable.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal, NamedTuple

from morisot.errors import SnapshotError
from morisot.runtime.atomic_files import replace_text
from morisot.runtime.snapshot_errors import START_OVER, damaged, missing

Kind = Literal[
    "plan",
    "sources",
    "restore",
    "state sizes",
    "end",
    "part done",
    "delivery",
    "sink",
    "receipts",
    "sink store",
    "rescaled",
    "operators",
    "input",
    "splits",
    "splits to come",
    "part",
    "bounded input",
    "input copy",
    "loop",
    "loop input",
]
"""The kinds of records. The last five are manifests of directories."""
FORMATS: dict[Kind, int] = {
    "plan": 3,
    "sources": 1,
    "restore": 1,
    "state sizes": 1,
    "end": 1,
    "part done": 1,
    "delivery": 1,
    "sink": 1,
    "receipts": 1,
    "sink store": 1,
    "rescaled": 1,
    "operators": 1,
    "input": 1,
    "splits": 1,
    "splits to come": 1,
    "part": 1,
    "bounded input": 1,
    "input copy": 1,
    "loop": 2,
    "loop input": 1,
}
"""The format number of each kind, in written and readable records."""
_ALSO_READ: dict[Kind, tuple[int, ...]] = {"plan": (2,)}
"""Earlier formats that are still read. A plan of format 2 has the types of earlier rules: see `plan.analysis`."""
OTHER_VERSION = "resume with the version that wrote it, or start from scratch with restart=None"
MANIFEST = "_manifest.json"
"""The prefix of names of files that Spark does not read."""
_THREADS = 4
"""A digest is computed without Python's lock."""


class Digest(NamedTuple):
    """The size and digest of a file."""

    size: int
    sha256: str


# -- records ----------------------------------------------------------------------------------------------------------


def write_record(file: Path, kind: Kind, content: Any) -> None:
    """Writes a small file atomically."""
    text = json.dumps(content)
    record = {"format": FORMATS[kind], "sha256": _digest_of(text), "content": json.loads(text)}
    replace_text(file, json.dumps(record, indent=1))


def read_record(file: Path, kind: Kind, absent: Callable[[], Any] | None = None, *, advice: str = START_OVER) -> Any:
    """The content of a record. Raises an error if it is damaged or foreign, or missing without `absent`."""
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        if absent is not None:
            return absent()
        raise missing(file, advice=advice) from None
    except OSError as error:
        raise SnapshotError(f"{file} cannot be read: {error.strerror}", advice=advice) from None
    except UnicodeDecodeError:
        raise damaged(file, "it is not text", advice=advice) from None
    try:
        record = json.loads(text)
    except (ValueError, RecursionError):
        raise damaged(file, "it is empty" if not text else "it is not JSON", advice=advice) from None
    if not isinstance(record, dict) or "format" not in record:
        raise damaged(file, "Morisot did not write it, or an earlier version did", advice=advice)
    if record["format"] not in _ALSO_READ.get(kind, ()):
        check_format(file, record["format"], FORMATS[kind])
    if record.get("sha256") != _digest_of(json.dumps(record.get("content"))):
        raise damaged(file, "its content does not have its digest", advice=advice)
    return record["content"]


def check_format(file: Path, found: Any, known: int) -> None:
    """Raises an error for a file of another format."""
    if found != known:
        said = f"it has the format {found!r}, and this version of Morisot reads {known}"
        raise SnapshotError(f"{file} cannot be read: {said}", advice=OTHER_VERSION)


def _digest_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


# -- manifests --------------------------------------------------------------------------------------------------------


def write_manifest(directory: Path, kind: Kind, known: Mapping[str, Digest] | None = None) -> None:
    """Writes the manifest of a complete directory. `known` has digests that need not be computed."""
    known = known or {}
    names = _names(directory)
    unknown = [name for name in names if name not in known]
    found = {**known, **dict(zip(unknown, _digests([directory / name for name in unknown]), strict=True))}
    write_record(directory / MANIFEST, kind, {name: found[name] for name in names})


def check_manifest(directory: Path, kind: Kind, *, advice: str = START_OVER) -> None:
    """Raises an error if a file was added, changed or removed since the manifest was written."""
    record = read_record(directory / MANIFEST, kind, advice=advice)
    listed = {name: Digest(*each) for name, each in record.items()}
    there = _names(directory)
    for name in sorted(listed.keys() - set(there)):
        raise missing(directory / name, advice=advice)
    for name in there:
        if name not in listed:
            raise damaged(directory / name, "it does not belong to the snapshot", advice=advice)
        if (directory / name).stat().st_size != listed[name].size:
            raise damaged(directory / name, f"it does not have its {listed[name].size} bytes", advice=advice)
    for name, digest in zip(there, _digests([directory / name for name in there]), strict=True):
        if digest != listed[name]:
            raise damaged(directory / name, "its content does not have its digest", advice=advice)


def _names(directory: Path) -> list[str]:
    files = (file for file in directory.rglob("*") if file.is_file() and file != directory / MANIFEST)
    return sorted(str(file.relative_to(directory)) for file in files)


def _digests(files: Iterable[Path]) -> list[Digest]:
    with ThreadPoolExecutor(_THREADS) as threads:
        return list(threads.map(_digest, files))


def _digest(file: Path) -> Digest:
    with file.open("rb") as content:
        found = hashlib.file_digest(content, "sha256").hexdigest()
        return Digest(content.tell(), found)

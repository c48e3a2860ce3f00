"""Class data archives in the user's cache: Java maps them into memory, which is faster than loading each class.

A user who can write an archive can run code in the JVM. So one that another user may have written is not used. A
damaged archive crashes every JVM that maps it. So each JVM writes its own file, and a later start adopts complete ones.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import secrets
import stat
import subprocess
import tempfile
import time
from importlib import metadata
from pathlib import Path

from morisot.engines.spark.session.java_runtime import Java
from morisot.private import is_trustworthy, make_directory

COLLECTOR = "-XX:+UseParallelGC"
_CLASSES = "authenticate"
"""A setting that changes the classes of a start: an archive that was created without it lacks some."""
_FORMAT = 2
"""Archives of the first format were written under their final names, by several JVMs at a time."""
_DUMP_SECONDS = 60
_MAPS = "-XX:SharedArchiveFile="
_IF_IT_FITS = "-Xshare:auto"
_NEW = ".new"
_ABANDONED_SECONDS = 24 * 3600
_MAGIC_BYTES = 4


def archive_options(java: Java) -> list[str]:
    """Options that make Java write and use an archive of Spark's classes: later starts are much faster.

    A JVM that starts without an archive writes one when it ends, to its own file. The next start adopts it. A JVM uses
    an archive only if it was created by the same Java from the same jars, and starts without it otherwise. An archive
    is also usable with another garbage collector, but less effective.
    """
    import pyspark

    try:
        folder, base = _cache(), _base_archive(java)
        if folder is None or (base is None and _comes_without(java)):
            return []
        # An archive cannot be used after its base archive was created again.
        below = [base.stat().st_mtime_ns] if base else []
        same = _digest(java.program.resolve(), pyspark.__file__, COLLECTOR, _CLASSES, _FORMAT, *below)
        archive = folder / f"spark-{metadata.version('pyspark')}-java-{java.version}-{same}.jsa"
        _adopt(archive)
        if archive.exists():
            return [_maps(archive), _IF_IT_FITS] if is_trustworthy(archive) else []
    except OSError:
        return []
    own = archive.with_name(f"{archive.stem}-{os.getpid()}-{secrets.token_hex(4)}{_NEW}")
    return [*([_maps(base)] if base else []), f"-XX:ArchiveClassesAtExit={own}"]


def drop_archive(options: str) -> bool:
    """Remove the archive of Spark's classes that the options of a crashed JVM name; whether there was one."""
    named = re.search(rf"{re.escape(_MAPS)}(\S+) {_IF_IT_FITS}", options)
    if named is None:
        return False
    try:
        Path(named[1]).unlink()
    except OSError:
        return False
    return True


def _adopt(archive: Path) -> None:
    """Renames an archive that a JVM has written to its final name, and removes the others."""
    for written in archive.parent.glob(f"{archive.stem}-*{_NEW}"):
        with contextlib.suppress(OSError):
            if _is_complete(written) and is_trustworthy(written) and not archive.exists():
                written.replace(archive)
            elif _is_complete(written) or time.time() - written.stat().st_mtime > _ABANDONED_SECONDS:
                written.unlink()


def _is_complete(archive: Path) -> bool:
    """Whether Java has written the whole archive: the header, which begins with a magic number, comes last."""
    with archive.open("rb") as file:
        return any(file.read(_MAGIC_BYTES))


def launcher_archive_options(java: Java) -> list[str]:
    """The same for the short-lived JVM of Spark's launcher, which loads almost only Java's own classes."""
    with contextlib.suppress(OSError):
        if base := _base_archive(java):
            return [_maps(base), "-Xlog:disable"]  # otherwise it prints on stdout that an archive does not fit
    return []


def _maps(archive: Path) -> str:
    return f"{_MAPS}{archive}"


def _base_archive(java: Java) -> Path | None:
    """The archive of Java's own classes, created here for a Java without one; None if it is not needed or possible.

    Java does not write an archive of other classes without this base archive.
    """
    folder = _cache()
    if folder is None or not _comes_without(java):
        return None
    installed = (java.home / "lib" / "modules").stat().st_mtime_ns
    archive = folder / f"java-{java.version}-{_digest(java.program.resolve(), installed)}.jsa"
    if not archive.exists():
        _dump(java, archive)
    return archive if archive.exists() and is_trustworthy(archive) else None


def _dump(java: Java, archive: Path) -> None:
    """Writes the archive of Java's own classes, which takes about a second, once."""
    with tempfile.TemporaryDirectory(dir=archive.parent) as directory:
        unfinished = Path(directory, archive.name)
        command = [str(java.program), "-Xshare:dump", f"-XX:SharedArchiveFile={unfinished}", "-Xlog:disable"]
        with contextlib.suppress(subprocess.SubprocessError):
            subprocess.run(command, capture_output=True, timeout=_DUMP_SECONDS, check=True)
            unfinished.chmod(stat.S_IRUSR | stat.S_IWUSR)
            unfinished.replace(archive)


def _comes_without(java: Java) -> bool:
    """Whether a Java has no archive of its own classes, such as one built by `jlink`."""
    server = java.home / "lib" / "server"
    return server.is_dir() and not (server / "classes.jsa").exists()


def _cache() -> Path | None:
    """The directory of archives; None if it is disabled, or other users can write to it."""
    named = os.environ.get("MORISOT_CACHE", str(Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "morisot")))
    folder = Path(named).expanduser()
    # Spark splits its Java options at spaces.
    if not named or " " in str(folder):
        return None
    make_directory(folder)
    return folder if is_trustworthy(folder) else None


def _digest(*parts: object) -> str:
    return hashlib.sha256("\n".join(map(str, parts)).encode()).hexdigest()[:8]

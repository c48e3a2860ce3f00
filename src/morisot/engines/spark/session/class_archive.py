"""Archives of classes in the user's cache: Java maps them into memory, which is quicker than loading each class anew.

Whoever can write an archive can run code in the JVM: one that another user may have written is not used.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import subprocess
import tempfile
from importlib import metadata
from pathlib import Path

from morisot.engines.spark.session.java_runtime import Java
from morisot.private import is_trustworthy, make_directory

COLLECTOR = "-XX:+UseParallelGC"
_CLASSES = "authenticate"
"""A setting that changes which classes a start loads: an archive that was made without it has too few of them."""
_DUMP_SECONDS = 60


def archive_options(java: Java) -> list[str]:
    """Make Java keep Spark's classes ready to map into memory: every start after the first is much quicker.

    The first JVM writes the archive when it ends. A JVM takes an archive only if it is whole (the header is written
    last) and made by the same Java from the same jars, and starts without it otherwise. It serves a JVM with another
    garbage collector too, but less well.
    """
    import pyspark

    try:
        folder, base = _cache(), _base_archive(java)
        if folder is None or (base is None and _comes_without(java)):
            return []
        # An archive is of no use after the one below it was made again.
        below = [base.stat().st_mtime_ns] if base else []
        same = _digest(java.program.resolve(), pyspark.__file__, COLLECTOR, _CLASSES, *below)
        archive = folder / f"spark-{metadata.version('pyspark')}-java-{java.version}-{same}.jsa"
        if archive.exists():
            return [_maps(archive), "-Xshare:auto"] if is_trustworthy(archive) else []
    except OSError:
        return []
    return [*([_maps(base)] if base else []), f"-XX:ArchiveClassesAtExit={archive}"]


def launcher_archive_options(java: Java) -> list[str]:
    """The same for the short-lived JVM of Spark's launcher, which loads hardly any class but Java's own."""
    with contextlib.suppress(OSError):
        if base := _base_archive(java):
            return [_maps(base), "-Xlog:disable"]  # it would say on stdout that an archive does not fit
    return []


def _maps(archive: Path) -> str:
    return f"-XX:SharedArchiveFile={archive}"


def _base_archive(java: Java) -> Path | None:
    """The archive of Java's own classes, made here for a Java that comes without; None if none is needed or possible.

    Java writes no archive of other classes without one below it.
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
    """Write the archive of Java's own classes: about a second, once."""
    with tempfile.TemporaryDirectory(dir=archive.parent) as directory:
        unfinished = Path(directory, archive.name)
        command = [str(java.program), "-Xshare:dump", f"-XX:SharedArchiveFile={unfinished}", "-Xlog:disable"]
        with contextlib.suppress(subprocess.SubprocessError):
            subprocess.run(command, capture_output=True, timeout=_DUMP_SECONDS, check=True)
            unfinished.chmod(stat.S_IRUSR | stat.S_IWUSR)
            unfinished.replace(archive)


def _comes_without(java: Java) -> bool:
    """Whether a Java lacks the archive of its own classes, as those do that `jlink` puts together."""
    server = java.home / "lib" / "server"
    return server.is_dir() and not (server / "classes.jsa").exists()


def _cache() -> Path | None:
    """The directory of archives, if the user wants one that nobody else can write to."""
    named = os.environ.get("MORISOT_CACHE", str(Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "morisot")))
    folder = Path(named).expanduser()
    # Spark splits its Java options at spaces.
    if not named or " " in str(folder):
        return None
    make_directory(folder)
    return folder if is_trustworthy(folder) else None


def _digest(*parts: object) -> str:
    return hashlib.sha256("\n".join(map(str, parts)).encode()).hexdigest()[:8]

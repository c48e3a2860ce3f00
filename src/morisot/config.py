"""Configuration from arguments, `MORISOT_*` environment variables, and a TOML file.

Where several give the same setting, arguments win over the environment, the environment over the file, and the file
over the defaults. Spark's own settings (`spark`) are merged key by key in the same order.
"""

from __future__ import annotations

import argparse
import difflib
import os
import re
import sys
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, NoReturn

from morisot.errors import ConfigError

ENGINES = ("spark", "reference")
CONNECTORS = ("kafka",)
"""Parts of Spark that PySpark does not contain, by their names in `packages`."""

_PREFIX = "MORISOT_"
_WORDS = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}
_LOCAL = re.compile(r"local(\[(?P<cores>\d+|\*)(,\s*\d+)?\])?")
_MEMORY = re.compile(r"[1-9]\d*[kmgt]b?", re.IGNORECASE)
_COORDINATES = re.compile(r"[^\s:,]+:[^\s:,]+:[^\s:,]+")
_GIB = 1024**3


@dataclass(frozen=True)
class Config:
    """The settings of a context.

    >>> Config(master="local[4]").cores
    4
    >>> Config(engine="flink")
    Traceback (most recent call last):
    morisot.errors.ConfigError: engine is 'flink': give 'spark' or 'reference'.
    """

    master: str = "local[*]"
    """Spark's master: `local[*]` runs inside this process, on all cores."""
    parallelism: int | None = None
    """How many partitions a shuffle makes; None: one for each core."""
    engine: str = "spark"
    """`spark`, or `reference`: plain Python, no JVM."""
    memory: str | None = None
    """The JVM's heap, such as `2g`; None: half of the machine's memory, at least 1 and at most 16 GiB."""
    verbose: bool = False
    """Show Spark's own warnings and errors."""
    progress: bool | None = None
    """Show a bar during long jobs; None: when stderr is a terminal."""
    report: bool = True
    """Report on stderr, at the end of a job, elements that `on_error` skipped, and operators that were demoted."""
    operator_metrics: bool = False
    """Count elements that each operator of an unbounded job reads and emits, for `job.metrics()`; disables fusion."""
    sample: bool = True
    """Infer the result type of a row-wise function without source text from at most five elements in memory."""
    max_retries: int = 0
    """How often a failed query, bounded job or loop runs again, from its latest snapshot, without a new snapshot."""
    packages: tuple[str, ...] = ()
    """Packages that Spark downloads from Maven repositories: `kafka`, or coordinates `group:artifact:version`."""
    snapshots: dict[str, Any] = field(default_factory=dict, hash=False)
    """The settings of `mo.Snapshots`, for contexts without `snapshots=`; on the command line the directory only."""
    spark: dict[str, str] = field(default_factory=dict, hash=False)
    """Further Spark settings; the leading `spark.` may be left out."""

    def __post_init__(self) -> None:
        _require(_is_text(self.master), "master", self.master, "text such as 'local[*]'")
        if self.master.startswith("local") and not self.master.startswith("local-cluster"):
            _require(self.local, "master", self.master, "'local', 'local[4]' or 'local[*]'")
        _require(self.parallelism is None or _is_positive(self.parallelism), "parallelism", self.parallelism, _COUNT)
        _require(self.engine in ENGINES, "engine", self.engine, " or ".join(map(repr, ENGINES)))
        memory = self.memory is None or (_is_text(self.memory) and bool(_MEMORY.fullmatch(self.memory)))
        _require(memory, "memory", self.memory, "a size such as '512m' or '2g'")
        _require(isinstance(self.verbose, bool), "verbose", self.verbose, "true or false")
        _require(self.progress is None or isinstance(self.progress, bool), "progress", self.progress, "true or false")
        _require(isinstance(self.report, bool), "report", self.report, "true or false")
        _require(isinstance(self.operator_metrics, bool), "operator_metrics", self.operator_metrics, "true or false")
        _require(isinstance(self.sample, bool), "sample", self.sample, "true or false")
        _require(_is_count(self.max_retries), "max_retries", self.max_retries, "a whole number of 0 or more")
        _require(_are_packages(self.packages), "packages", self.packages, _PACKAGES)
        object.__setattr__(self, "packages", tuple(self.packages))
        _require(isinstance(self.snapshots, Mapping), "snapshots", self.snapshots, "a table of settings of snapshots")
        _require(isinstance(self.spark, Mapping), "spark", self.spark, "a table of Spark settings")
        object.__setattr__(self, "spark", dict(_flatten(self.spark)))

    @property
    def local(self) -> bool:
        """Whether Spark runs inside this process."""
        return _LOCAL.fullmatch(self.master) is not None

    @property
    def cores(self) -> int:
        """The number of partitions: `parallelism`, else the cores of a local master.

        >>> Config(master="local[4]", parallelism=7).cores
        7
        """
        if self.parallelism is not None:
            return self.parallelism
        match = _LOCAL.fullmatch(self.master)
        if match and match["cores"] != "*":
            return max(1, int(match["cores"] or 1))
        return _usable_cores()

    @property
    def heap(self) -> str:
        """The JVM's heap: `memory`, else a share of the machine's memory.

        >>> Config(memory="512m").heap
        '512m'
        """
        return self.memory or f"{min(16, max(1, _machine_memory() // 2 // _GIB))}g"

    @classmethod
    def load(
        cls,
        argv: Sequence[str] = (),
        *,
        environ: Mapping[str, str] | None = None,
        file: str | Path | None = None,
    ) -> tuple[Config, list[str]]:
        """Merges arguments over environment over file over defaults. Also returns the arguments that are not Morisot's.

        The file is `--config`, else `file`, else the variable `MORISOT_CONFIG`.

        >>> Config.load(["--parallelism", "4", "in.txt"], environ={"MORISOT_PARALLELISM": "2"})[1]
        ['in.txt']
        """
        environ = os.environ if environ is None else environ
        from_args, rest = _read_args(argv)
        from_environment = _read_environment(environ)
        path = from_args.pop("config", None) or file or from_environment.pop("config", None)
        from_environment.pop("config", None)
        from_file = _read_file(Path(path)) if path else {}
        return cls(**_merge(from_file, from_environment, from_args)), rest

    @classmethod
    def from_args(cls, argv: Sequence[str] | None = None) -> tuple[Config, list[str]]:
        """Reads arguments only (and the file of `--config`). Also returns those that are not Morisot's.

        >>> config, rest = Config.from_args(["--master", "local[2]", "books/*.txt"])
        >>> config.master, rest
        ('local[2]', ['books/*.txt'])
        """
        return cls.load(sys.argv[1:] if argv is None else argv, environ={})

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] | None = None) -> Config:
        """Reads `MORISOT_*` variables (and the file of `MORISOT_CONFIG`).

        >>> Config.from_environment({"MORISOT_SPARK": "sql.ansi.enabled=false,spark.ui.enabled=true"}).spark
        {'spark.sql.ansi.enabled': 'false', 'spark.ui.enabled': 'true'}
        """
        return cls.load(environ=environ)[0]

    @classmethod
    def from_file(cls, path: str | Path) -> Config:
        """Reads a TOML file only: its table `[morisot]`, or its top level if it has no such table."""
        return cls.load(environ={}, file=path)[0]


_KNOWN = tuple(entry.name for entry in fields(Config))
_OTHER_TABLES = ("supervisor",)
"""Tables of the file that others read."""
_COUNT = "a whole number of 1 or more"
_PACKAGES = "a list of 'kafka' or of Maven coordinates such as 'org.example:name:1.0'"


def _require(holds: bool, name: str, value: object, wanted: str) -> None:
    if not holds:
        raise ConfigError(f"{name} is {value!r}: give {wanted}.")


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value)


def _is_positive(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _are_packages(value: object) -> bool:
    if isinstance(value, str) or not isinstance(value, Iterable):
        return False
    return all(isinstance(each, str) and (each in CONNECTORS or _COORDINATES.fullmatch(each)) for each in value)


def _flatten(settings: Mapping[str, Any], prefix: str = "") -> Iterable[tuple[str, str]]:
    """Spark settings as text. TOML reads the key `sql.ansi.enabled` as nested tables."""
    for key, value in settings.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping):
            yield from _flatten(value, f"{name}.")
        else:
            text = str(value).lower() if isinstance(value, bool) else str(value)
            yield (name if name.startswith("spark.") else f"spark.{name}"), text


def _merge(*layers: Mapping[str, Any]) -> dict[str, Any]:
    merged: dict[str, Any] = {}
    spark: dict[str, str] = {}
    snapshots: dict[str, Any] = {}
    for layer in layers:
        merged |= layer
        saved = layer.get("snapshots", {})
        _require(isinstance(saved, Mapping), "snapshots", saved, "a table of settings of snapshots")
        snapshots |= saved
        settings = layer.get("spark", {})
        _require(isinstance(settings, Mapping), "spark", settings, "a table of Spark settings")
        spark |= dict(_flatten(settings))
    return merged | {"spark": spark, "snapshots": snapshots}


# --- text to values ---


def _read_text(name: str, text: str) -> Any:
    """The value of the setting `name` from the text of an argument or a variable."""
    match name:
        case "parallelism" | "max_retries":
            try:
                return int(text)
            except ValueError:
                wanted = _COUNT if name == "parallelism" else "a whole number of 0 or more"
                raise ConfigError(f"{name} is {text!r}: give {wanted}.") from None
        case "verbose" | "progress" | "report" | "operator_metrics" | "sample":
            _require(text.lower() in _WORDS, name, text, "true or false")
            return _WORDS[text.lower()]
        case "snapshots":
            return {"path": text}
        case "packages":
            return tuple(part.strip() for part in text.split(",") if part.strip())
        case "spark":
            # A comma separates two settings only if a new key follows, because values may contain commas.
            return dict(_read_pair(pair) for pair in re.split(r",(?=\s*[\w.-]+=)", text) if pair.strip())
        case _:
            return text


def snapshot_setting(name: str, text: str) -> Any:
    """The value of a setting of snapshots from text. Texts that are not understood are refused with the others."""
    if name == "clean_on_exit":
        _require(text.lower() in _WORDS, name, text, "true or false")
        return _WORDS[text.lower()]
    if name in ("every", "restart") and text.lower() in ("off", "none"):
        return None
    if name in ("items", "rounds", "keep", "restart") and text.isascii() and text.isdigit():
        return int(text)
    return text


def _read_pair(pair: str) -> tuple[str, str]:
    key, equals, value = pair.strip().partition("=")
    if not equals or not key:
        raise ConfigError(f"The Spark setting {pair!r} has no value: give key=value, as in sql.ansi.enabled=false.")
    return key, value


class _Parser(argparse.ArgumentParser):
    """Raises an error where argparse would end the process."""

    def error(self, message: str) -> NoReturn:
        raise ConfigError(f"The command line cannot be read: {message}.")


def _read_args(argv: Sequence[str]) -> tuple[dict[str, Any], list[str]]:
    parser = _Parser(add_help=False, allow_abbrev=False, argument_default=argparse.SUPPRESS)
    for name in ("master", "parallelism", "engine", "memory", "packages", "snapshots", "config"):
        parser.add_argument(f"--{name}")
    parser.add_argument("--max-retries")
    parser.add_argument("--spark", action="append")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--progress", action=argparse.BooleanOptionalAction)
    parser.add_argument("--report", action=argparse.BooleanOptionalAction)
    parser.add_argument("--operator-metrics", action=argparse.BooleanOptionalAction)
    parser.add_argument("--sample", action=argparse.BooleanOptionalAction)
    known, rest = parser.parse_known_args(argv)
    given = {name: _read_text(name, value) if isinstance(value, str) else value for name, value in vars(known).items()}
    if "spark" in given:
        given["spark"] = dict(_read_pair(pair) for pair in given["spark"])
    return given, rest


def _read_environment(environ: Mapping[str, str]) -> dict[str, Any]:
    variables = {f"{_PREFIX}{name.upper()}": name for name in (*_KNOWN, "config")}
    given: dict[str, Any] = {}
    for variable, text in environ.items():
        if variable in variables:
            name = variables[variable]
            read = _read_text(name, text)
            given[name] = {**given.get(name, {}), **read} if name == "snapshots" else read
        elif variable.startswith(f"{_PREFIX}SNAPSHOTS_"):
            entry = variable.removeprefix(f"{_PREFIX}SNAPSHOTS_").lower()
            given["snapshots"] = {**given.get("snapshots", {}), entry: snapshot_setting(entry, text)}
        elif variable.startswith(_PREFIX):
            # Other variables of this prefix may belong to another program. A close match is a misspelling.
            similar = difflib.get_close_matches(variable, variables, n=1, cutoff=0.9)
            if similar:
                raise ConfigError(f"The environment variable {variable} is unknown: did you mean {similar[0]}?")
    return given


def _content(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            content = tomllib.load(file)
    except OSError as problem:
        raise ConfigError(
            f"The configuration file {path} cannot be read ({problem.strerror}): check its path."
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise ConfigError(f"The configuration file {path} is not TOML: {problem}.") from None
    settings: dict[str, Any] = content.get("morisot", content)
    _require(isinstance(settings, dict), f"[morisot] in {path}", settings, "a table")
    return settings


def read_table(path: str | Path, name: str) -> dict[str, Any]:
    """A table of a TOML file that is not a part of `Config`, such as `[morisot.supervisor]`."""
    table = _content(Path(path)).get(name, {})
    _require(isinstance(table, dict), f"[morisot.{name}] in {path}", table, "a table")
    return dict(table)


def _read_file(path: Path) -> dict[str, Any]:
    settings = _content(path)
    settings = {key: value for key, value in settings.items() if key not in _OTHER_TABLES}
    for key in settings:
        if key not in _KNOWN:
            similar = difflib.get_close_matches(key, _KNOWN, n=1, cutoff=0.5)
            advice = f"did you mean {similar[0]!r}?" if similar else f"known are {', '.join(_KNOWN)}."
            raise ConfigError(f"The setting {key!r} in {path} is unknown: {advice}")
    return dict(settings)


# --- the machine ---


def _usable_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _machine_memory() -> int:
    """Bytes of memory that this process may use: the machine's, or less in a container."""
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 4 * _GIB
    try:
        limit = Path("/sys/fs/cgroup/memory.max").read_text().strip()
    except OSError:
        return total
    return min(total, int(limit)) if limit.isdigit() else total

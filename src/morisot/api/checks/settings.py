"""The arguments of a context: a session, settings and snapshots."""

from __future__ import annotations

import dataclasses
import difflib
import os
import reprlib
from collections.abc import Mapping
from typing import Any

from morisot.api.location import caller
from morisot.config import Config
from morisot.errors import ConfigError
from morisot.overrides import OVERRIDES
from morisot.plan.snapshots import Snapshots


def checked_session(spark: Any) -> Any:
    """The Spark session of the user. Raises an error for other objects."""
    if spark is None or any(cls.__name__ == "SparkSession" for cls in type(spark).__mro__):
        return spark
    advice = "pass a SparkSession, or nothing: then Morisot starts one"
    if isinstance(spark, str):
        advice = f"a master is a setting: StreamContext(config=mo.Config(master={spark!r}))"
    elif isinstance(spark, Config | Mapping):
        advice = "pass settings by name: StreamContext(config=…)"
    elif isinstance(spark, Snapshots):
        advice = "pass snapshots by name: StreamContext(snapshots=…)"
    raise _refused("spark", spark, "is not a SparkSession", advice)


def checked_settings(config: Any, engine: str | None, parallelism: int | None) -> Config:
    """The configuration, overridden by keyword arguments. A dict has the settings by name."""
    found = _settings(config)
    named: dict[str, Any] = {"engine": engine, "parallelism": parallelism, **OVERRIDES.settings}
    if "spark" in named:
        named["spark"] = {**found.spark, **named["spark"]}
    return dataclasses.replace(found, **{name: each for name, each in named.items() if each is not None})


def _settings(config: Any) -> Config:
    if config is None:
        return Config.from_environment()
    if isinstance(config, Mapping):
        return _of_mapping(config)
    if isinstance(config, Config):
        return config
    advice = "pass mo.Config(…), or a dict of settings"
    if isinstance(config, str | os.PathLike):
        advice = f"for a file of settings: StreamContext.from_file({str(config)!r})"
    raise _refused("config", config, "is not a configuration", advice)


def checked_snapshots(snapshots: Any, config: Config) -> Snapshots | None:
    """The settings of snapshots: of the command line, of the program, and of the configuration, in this precedence."""
    given = _given_snapshots(snapshots)
    if given is None and config.snapshots:
        given = _snapshots_of(config.snapshots)
    wanted = OVERRIDES.snapshots
    if given is None:
        return _snapshots_of(wanted) if "path" in wanted else None
    return dataclasses.replace(given, **wanted)


def _snapshots_of(settings: Mapping[str, Any]) -> Snapshots:
    known = [field.name for field in dataclasses.fields(Snapshots)]
    for name in settings:
        if name not in known:
            similar = difflib.get_close_matches(str(name), known, n=1, cutoff=0.5)
            advice = f"did you mean {similar[0]!r}?" if similar else f"known are {', '.join(known)}"
            raise ConfigError(f"The setting {name!r} of snapshots is unknown: {advice}.")
    if "path" not in settings:
        raise ConfigError("The settings of snapshots have no path: give the directory.")
    return Snapshots(**settings)


def _given_snapshots(snapshots: Any) -> Snapshots | None:
    """The settings of the program. A path alone has the default ones."""
    if snapshots is None or isinstance(snapshots, Snapshots):
        return snapshots
    if isinstance(snapshots, str | os.PathLike) and os.fspath(snapshots):
        return Snapshots(os.fspath(snapshots))
    advice = "pass the path of a directory, or mo.Snapshots(path, every=…)"
    raise _refused("snapshots", snapshots, "does not say where snapshots are saved", advice)


def checked_count(method: str, name: str, value: Any) -> int:
    """A whole number of 0 or more."""
    if type(value) is not int or value < 0:
        advice = "give a whole number of 0 or more"
        raise ConfigError(f"{method}: {name}={reprlib.repr(value)} is no number ({caller()})\n  What to do: {advice}")
    return value


def _of_mapping(settings: Mapping[Any, Any]) -> Config:
    known = [field.name for field in dataclasses.fields(Config)]
    for name in settings:
        if name not in known:
            similar = difflib.get_close_matches(str(name), known, n=1, cutoff=0.5)
            advice = f"did you mean {similar[0]!r}?" if similar else f"known are {', '.join(known)}"
            if str(name).startswith("spark."):
                advice = f"settings of Spark have a dict of their own: config={{'spark': {{{name!r}: …}}}}"
            raise _refused("config", dict(settings), f"has an unknown setting {name!r}", advice)
    return Config(**settings)


def _refused(name: str, value: object, problem: str, advice: str) -> ConfigError:
    return ConfigError(f"StreamContext: {name}={reprlib.repr(value)} {problem} ({caller()})\n  What to do: {advice}")

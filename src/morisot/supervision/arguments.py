"""What the command line and `mo.supervise` give: settings of the supervisor, of snapshots and of `Config`."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from morisot.config import Config, snapshot_setting
from morisot.errors import ConfigError
from morisot.plan.snapshots import Snapshots

CONFIG_NAMES = {
    "master": "master",
    "parallelism": "parallelism",
    "engine": "engine",
    "memory": "memory",
    "packages": "packages",
    "spark": "spark",
    "verbose": "verbose",
    "progress": "progress",
    "operator_metrics": "operator_metrics",
    "sample": "sample",
    "session_retries": "max_retries",
    "job_report": "report",
}
"""The settings of `Config` by their names here: two of them would be settings of the supervisor otherwise."""
_TEXTS = ("every", "items", "restart")


def config_settings(given: Mapping[str, Any]) -> dict[str, Any]:
    """The given settings of `Config`, checked before the program starts."""
    unknown = [name for name in given if name not in CONFIG_NAMES]
    if unknown:
        similar = difflib.get_close_matches(unknown[0], CONFIG_NAMES, n=1)
        advice = f"did you mean {similar[0]!r}?" if similar else f"known are {', '.join(CONFIG_NAMES)}."
        raise ConfigError(f"The setting {unknown[0]!r} is unknown: {advice}")
    found = {CONFIG_NAMES[name]: value for name, value in given.items() if value is not None}
    checked = Config(**found)
    return {name: getattr(checked, name) for name in found}


def snapshot_settings(given: Mapping[str, Any], base: Mapping[str, Any]) -> dict[str, Any]:
    """The given settings of snapshots over others, checked before the program starts. Their values may be texts."""
    found = dict(base)
    if given.get("path") is not None:
        found["path"] = str(Path(given["path"]).absolute())
    found |= {name: snapshot_setting(name, str(given[name])) for name in _TEXTS if given.get(name) is not None}
    if given.get("clean_on_exit"):
        found["clean_on_exit"] = True
    Snapshots(**{"path": ".", **found})
    return found


def configured_directory(file: str | None = None) -> str | None:
    """The snapshot directory of the environment or the file. The code of the program may name another one."""
    path = Config.load(file=file)[0].snapshots.get("path")
    return None if path is None else str(Path(path).absolute())

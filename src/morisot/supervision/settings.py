"""The settings of a supervisor: arguments over `MORISOT_SUPERVISOR_*` over the table `[morisot.supervisor]`."""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from morisot.config import read_table
from morisot.errors import ConfigError
from morisot.types.moments import Duration, microseconds

POISON = ("fail", "skip")
_PREFIX = "MORISOT_SUPERVISOR_"
_COUNTS = ("max_retries", "max_restarts")
_DURATIONS = ("retry_delay", "timeout", "heartbeat", "stall", "start_timeout")


@dataclass(frozen=True)
class Supervision:
    """When a program is started again, and when it is given up. Durations are in seconds.

    >>> Supervision.of({"stall": "10min", "max_retries": "2"}).stall
    600.0
    """

    max_retries: int = 3
    """Restarts since the last new snapshot."""
    max_restarts: int = 100
    """Restarts in all."""
    retry_delay: float = 1.0
    """The delay before the first restart; it doubles up to a minute."""
    timeout: float | None = None
    """The longest duration of all attempts."""
    heartbeat: float = 5.0
    """The interval between heartbeats. After three intervals without one the program is stuck."""
    stall: float = 600.0
    """The longest duration without progress while input waits."""
    start_timeout: float = 120.0
    """The longest duration until the first heartbeat."""
    poison: str = "fail"
    """What happens with an element on which a function fails twice."""

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Supervision:
        """The settings from texts, numbers and durations."""
        return cls(**{name: _value(name, value) for name, value in given.items() if value is not None})

    @classmethod
    def load(
        cls, arguments: Mapping[str, Any], *, environ: Mapping[str, str] | None = None, file: str | None = None
    ) -> Supervision:
        """The settings of the arguments that are not None, of the environment, and of a TOML file."""
        environ = os.environ if environ is None else environ
        path = file or environ.get("MORISOT_CONFIG")
        table = read_table(path, "supervisor") if path else {}
        variables = {
            name.removeprefix(_PREFIX).lower(): text for name, text in environ.items() if name.startswith(_PREFIX)
        }
        named = {name: value for name, value in arguments.items() if value is not None}
        return cls.of({**table, **variables, **named})


_KNOWN = tuple(each.name for each in fields(Supervision))


def _value(name: str, value: Any) -> Any:
    if name in _COUNTS:
        text = str(value)
        if isinstance(value, bool) or not text.isascii() or not text.isdigit():
            raise ConfigError(f"{name} is {value!r}: give a whole number of 0 or more.")
        return int(text)
    if name in _DURATIONS:
        return _seconds(name, value)
    if name == "poison":
        if value not in POISON:
            raise ConfigError(f"poison is {value!r}: give 'fail' or 'skip'.")
        return value
    similar = difflib.get_close_matches(name, _KNOWN, n=1, cutoff=0.5)
    advice = f"did you mean {similar[0]!r}?" if similar else f"known are {', '.join(_KNOWN)}."
    raise ConfigError(f"The setting {name!r} of the supervisor is unknown: {advice}")


def _seconds(name: str, value: Duration) -> float:
    try:
        seconds = microseconds(value) / 10**6
    except ValueError as error:
        raise ConfigError(f"{name} is {value!r}: {error}.") from None
    if seconds < 0 or (seconds == 0 and name != "retry_delay"):
        raise ConfigError(f"{name} is {value!r}: give a longer duration.")
    return seconds

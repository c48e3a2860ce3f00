"""`morisot ps`, `stop` and `restart`: ask running supervisors."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import click

from morisot.cli.tables import show

_LOOK_SECONDS = 0.1
_COLUMNS = ("pid", "attempt", "since", "snapshot", "snapshots", "program")


@click.command()
def ps() -> None:
    """Lists the running programs of this user."""
    from morisot.supervision.control import NoSupervisor, ask
    from morisot.supervision.scratch import control_of, runs

    rows = []
    for path, owner in runs():
        if not owner.is_alive:
            continue
        try:
            found = ask(control_of(path), {"command": "status"})
        except NoSupervisor:
            continue
        rows.append([found.get(name) for name in _COLUMNS])
    show("PID", "ATTEMPT", "SINCE", "SNAPSHOT", "DIRECTORY", "PROGRAM", rows=rows)


@click.command()
@click.argument("directory", type=click.Path(path_type=Path))
@click.option("--wait/--no-wait", default=True, help="Wait for the end of the program.")
def stop(directory: Path, wait: bool) -> None:
    """Stops the program with the snapshots in DIRECTORY, in order."""
    found = _request(directory, {"command": "stop"})
    if wait:
        _await_end(int(found["pid"]))


@click.command()
@click.argument("directory", type=click.Path(path_type=Path))
@click.option("--from", "snapshot", metavar="ID", help="The snapshot; without it the latest one.")
def restart(directory: Path, snapshot: str | None) -> None:
    """Ends the program with the snapshots in DIRECTORY in order, and starts it again."""
    from morisot.config import snapshot_setting

    chosen = None if snapshot is None else snapshot_setting("restart", snapshot)
    if snapshot is not None and not isinstance(chosen, int):
        raise click.BadParameter("give the number of a snapshot", param_hint="--from")
    _request(directory, {"command": "restart", "from": chosen})


def _request(directory: Path, request: dict[str, Any]) -> dict[str, Any]:
    from morisot.supervision.control import NoSupervisor, ask

    try:
        return ask(directory, request)
    except NoSupervisor as error:
        click.echo(f"morisot: {error}", err=True)
        sys.exit(1)


def _await_end(pid: int) -> None:
    from morisot import processes

    started = processes.start_time(pid)
    while started is not None and processes.is_alive(pid, started):
        time.sleep(_LOOK_SECONDS)

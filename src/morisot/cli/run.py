"""`morisot run`: supervises a program."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

_SUPERVISION = (
    "max_retries",
    "max_restarts",
    "retry_delay",
    "timeout",
    "heartbeat",
    "stall",
    "start_timeout",
    "poison",
)
_OPTIONS = (
    click.option("--max-retries", type=int, help="Restarts since the last new snapshot (3)."),
    click.option("--max-restarts", type=int, help="Restarts in all (100)."),
    click.option("--retry-delay", metavar="TIME", help="The delay before a restart, which doubles up to 1min (1s)."),
    click.option("--timeout", metavar="TIME", help="The longest duration of all attempts."),
    click.option("--heartbeat", metavar="TIME", help="The interval of heartbeats; three may be missed (5s)."),
    click.option("--stall", metavar="TIME", help="The longest duration without progress while input waits (10min)."),
    click.option("--start-timeout", metavar="TIME", help="The longest duration until the first heartbeat (2min)."),
    click.option("--poison", type=click.Choice(["fail", "skip"]), help="An element that fails twice (fail)."),
    click.option("--snapshots", metavar="DIR", help="The snapshot directory."),
    click.option("--every", metavar="TIME|off", help="The interval of snapshots."),
    click.option("--items", type=int, help="The elements between snapshots."),
    click.option("--restart", metavar="latest|ID|none", help="The snapshot of the first attempt."),
    click.option("--clear", is_flag=True, help="Remove the snapshots in DIR before the first attempt."),
    click.option("--clean-on-exit", is_flag=True, default=None, help="Remove the snapshots at a good end."),
    click.option("--report", metavar="FILE", help="The JSON report of attempts (DIR/attempts.json)."),
    click.option("--config", metavar="FILE", help="A TOML file of settings."),
    click.option("--master", help="Spark's master."),
    click.option("--parallelism", type=int, help="Partitions after a shuffle."),
    click.option("--engine", type=click.Choice(["spark", "reference"]), help="The engine."),
    click.option("--memory", metavar="SIZE", help="The JVM's heap, such as 2g."),
    click.option("--packages", metavar="LIST", help="Packages that Spark downloads: kafka, or coordinates."),
    click.option("--spark", metavar="KEY=VALUE", multiple=True, help="A setting of Spark; repeatable."),
    click.option("--verbose", is_flag=True, default=None, help="Show Spark's warnings and errors."),
    click.option("--progress/--no-progress", default=None, help="Show a bar during long jobs."),
    click.option("--operator-metrics", is_flag=True, default=None, help="Count the elements of each operator."),
    click.option("--sample/--no-sample", default=None, help="Infer types from elements in memory."),
    click.option("--session-retries", type=int, help="Config.max_retries: retries in the same session."),
    click.option("--job-report/--no-job-report", default=None, help="Config.report: report skipped elements."),
)


def options(command: Callable[..., None]) -> Callable[..., None]:
    """Adds the options in the order in which the help shows them."""
    return functools.reduce(lambda found, option: option(found), reversed(_OPTIONS), command)


@click.command(context_settings={"allow_interspersed_args": False})
@options
@click.argument("program", metavar="PROGRAM.py|MODULE:FUNCTION")
@click.argument("arguments", metavar="[ARGS]...", nargs=-1, type=click.UNPROCESSED)
def run(program: str, arguments: tuple[str, ...], **given: Any) -> None:
    """Runs a program, watches it, and starts it again after failures, from its latest snapshot.

    Exit codes: 0 done, 1 a final error, 75 no retries left, 124 timeout, 130 interrupted, 143 terminated.
    """
    from morisot.supervision.arguments import CONFIG_NAMES, config_settings, configured_directory, snapshot_settings
    from morisot.supervision.settings import Supervision
    from morisot.supervision.supervisor import Supervisor
    from morisot.supervision.task import SupervisedTask

    config = given["config"]
    if config is not None:
        _use_file(config)
    settings = Supervision.load({name: given[name] for name in _SUPERVISION}, file=config)
    saved = snapshot_settings({**given, "path": given["snapshots"]}, {})
    task = SupervisedTask(
        program,
        list(arguments),
        config_settings({name: _value(name, given[name]) for name in CONFIG_NAMES}),
        saved,
        given["report"],
        given["clear"],
        configured_directory(),
    )
    if task.clear and task.cleared is None:
        raise click.UsageError("--clear needs --snapshots")
    sys.exit(Supervisor(task, settings).run().exit_code)


def _use_file(config: str) -> None:
    """The program reads the same file, unless its code has other settings."""
    import os

    os.environ["MORISOT_CONFIG"] = str(Path(config).absolute())


def _value(name: str, given: Any) -> Any:
    """A setting of `Config` from the text of an option."""
    if name == "packages" and given is not None:
        return [each.strip() for each in given.split(",") if each.strip()]
    if name == "spark":
        pairs = [each.partition("=") for each in given]
        if not all(key and equals for key, equals, _ in pairs):
            raise click.UsageError("--spark needs KEY=VALUE")
        return {key: value for key, _, value in pairs} or None
    return given

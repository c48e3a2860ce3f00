"""`morisot snapshots`: lists the snapshots in a directory, without Spark, or prints a state in the last one."""

from __future__ import annotations

from pathlib import Path

import click

from morisot.cli.tables import show


@click.command()
@click.argument("directory", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--state", metavar="NAME", help="Print the state of this operator in the last snapshot.")
def snapshots(directory: Path, state: str | None) -> None:
    """Lists the snapshots in DIRECTORY: of unbounded jobs, of bounded jobs and of loops."""
    if state is not None:
        _show_state(directory, state)
        return
    from morisot.runtime.snapshot_list import listed

    rows = ((each.of, each.id, f"{each.time:%Y-%m-%d %H:%M:%S}") for each in listed(directory))
    show("JOB", "ID", "TIME", rows=rows)


def _show_state(directory: Path, name: str) -> None:
    """Reads the state with Spark. Without the types of the program, values are shown as they are stored."""
    from morisot.config import Config
    from morisot.engines.spark.session.session import borrow_session, return_session
    from morisot.engines.spark.streaming.query.states import saved_state

    session = borrow_session(Config(progress=False, report=False))
    try:
        found = saved_state(session, directory.absolute(), name)
    finally:
        return_session(session)
    show("KEY", "VALUE", rows=(map(repr, row) for row in found))

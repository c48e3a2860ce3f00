"""`morisot snapshots`: lists the snapshots in a directory, without Spark."""

from __future__ import annotations

from pathlib import Path

import click

from morisot.cli.tables import show


@click.command()
@click.argument("directory", type=click.Path(exists=True, file_okay=False, path_type=Path))
def snapshots(directory: Path) -> None:
    """Lists the snapshots in DIRECTORY: of unbounded jobs, of bounded jobs and of loops."""
    from morisot.runtime.snapshot_list import listed

    rows = ((each.of, each.id, f"{each.time:%Y-%m-%d %H:%M:%S}") for each in listed(directory))
    show("JOB", "ID", "TIME", rows=rows)

"""The command `morisot`."""

from __future__ import annotations

import sys

import click

from morisot import __version__
from morisot.cli.control import ps, restart, stop
from morisot.cli.run import run
from morisot.cli.snapshots import snapshots
from morisot.errors import ConfigError, MorisotError, SnapshotError

USAGE, FAILED = 2, 1


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="morisot")
def morisot() -> None:
    """Runs and supervises programs of Morisot."""


@morisot.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Prints the completion script of a shell.

    For bash: eval "$(morisot completion bash)"
    """
    from click.shell_completion import get_completion_class

    found = get_completion_class(shell)
    assert found is not None, "click completes in these shells"
    click.echo(found(morisot, {}, "morisot", "_MORISOT_COMPLETE").source())


for command in (run, ps, stop, restart, snapshots):
    morisot.add_command(command)


def main() -> None:
    """The entry point. A wrong setting is an error of usage."""
    try:
        morisot(prog_name="morisot")
    except MorisotError as error:
        click.echo(f"morisot: {error}", err=True)
        is_usage = isinstance(error, ConfigError) and not isinstance(error, SnapshotError)
        sys.exit(USAGE if is_usage else FAILED)


if __name__ == "__main__":
    main()

"""``localcdap restore``: replace the database with a backup."""

from __future__ import annotations

from pathlib import Path

import click

from localcdap.cli.options import Instance, instance_options
from localcdap.cli.output import echo, print_json


@click.command("restore")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@instance_options
def command(instance: Instance, file: Path) -> None:
    """Replace the database with the backup FILE, and move the database into the folder 'backups'.

    The backup is read and checked first. No other process may use the instance meanwhile.
    """
    from localcdap.host.maintenance import restore

    done = restore(instance.home, file.absolute())
    if instance.json:
        print_json(done)
        return
    echo(f"Restored {file}.")
    if done.kept:
        echo(f"The previous database is now {done.kept}.")

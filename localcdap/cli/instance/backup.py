"""``localcdap backup``: copy the database."""

from __future__ import annotations

from pathlib import Path

import click

from localcdap.cli.options import Instance, instance_options
from localcdap.cli.output import echo, print_json


@click.command("backup")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path), required=False)
@instance_options
def command(instance: Instance, file: Path | None) -> None:
    """Copy the database into FILE, by default a new file in the folder 'backups' of the instance.

    Runs, other commands and studios may continue meanwhile. Before a newer localcdap migrates the database,
    it makes a backup itself.
    """
    with instance.connect() as cdap:
        made = cdap.database.back_up(str(file.absolute()) if file else None)
    if instance.json:
        print_json(made)
    else:
        echo(f"{made.file}  {made.bytes / 1024**2:.1f} MiB")

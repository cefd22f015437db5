"""``localcdap restore``: a backup in the place of the database."""

from __future__ import annotations

from pathlib import Path

import click

from localcdap.cli.options import Instance, instance_options
from localcdap.cli.output import print_json


@click.command("restore")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@instance_options
def command(instance: Instance, file: Path) -> None:
    """Put the backup FILE into the place of the database, which is kept in the folder 'backups'.

    The backup is read whole first. Nobody may use the instance meanwhile.
    """
    from localcdap.host.maintenance import restore

    done = restore(instance.home, file.absolute())
    if instance.json:
        print_json(done)
        return
    click.echo(f"Restored {file}.")
    if done.kept:
        click.echo(f"The database that was there before is kept as {done.kept}.")

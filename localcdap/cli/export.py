"""``localcdap export NAME``: the file of a deployed pipeline."""

from __future__ import annotations

from pathlib import Path

import click

from localcdap.api.errors import BadRequestError
from localcdap.cli.options import Instance, instance_options
from localcdap.cli.pipelines import split_version


@click.command("export")
@click.argument("name", metavar="NAME[@VERSION]")
@click.option("--version", metavar="V", help="Number or id of a version; default: the latest.")
@click.option(
    "--output",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Where to write it; default: standard output.",
)
@click.option("--upgraded", is_flag=True, help="In the form of CDAP 6, where it has an older one.")
@instance_options
def command(
    instance: Instance, name: str, version: str | None, output: Path | None, upgraded: bool
) -> None:
    """Write the JSON of a deployed pipeline as it was imported, keys that localcdap does not know included.

    CDAP and Data Fusion import it.
    """
    application, asked = split_version(name)
    with instance.connect() as cdap:
        text = cdap.applications.export(instance.namespace, application, version or asked, upgraded)
    if output is None:
        click.echo(text)
        return
    try:
        output.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise BadRequestError(f"{output} cannot be written: {error.strerror}.") from None
    click.echo(f"Written to {output}", err=True)

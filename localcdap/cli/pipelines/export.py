"""``localcdap export NAME``: write the JSON of a deployed pipeline."""

from __future__ import annotations

from pathlib import Path

import click

from localcdap.cli.files import split_version
from localcdap.cli.options import Instance, instance_options
from localcdap.cli.output import echo, print_failures, print_json_text
from localcdap.files.atomic import write_file


@click.command("export")
@click.argument("name", metavar="NAME[@VERSION]")
@click.option("--version", metavar="V", help="The number or id of a version; default: the latest.")
@click.option(
    "--output",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The file to write; default: standard output.",
)
@click.option(
    "--upgraded", is_flag=True, help="Convert the JSON of an older CDAP to that of CDAP 6."
)
@instance_options
def command(
    instance: Instance, name: str, version: str | None, output: Path | None, upgraded: bool
) -> None:
    """Write the JSON of a deployed pipeline, including keys that localcdap does not know.

    The name in the JSON is NAME, also when the imported file had another one. CDAP and Data Fusion can
    import the file. Properties that they ignore are listed on standard error.
    """
    application, asked = split_version(name)
    with instance.connect() as cdap:
        text = cdap.applications.export(instance.namespace, application, version or asked, upgraded)
        ignored = cdap.studio.find_ignored_properties(text, instance.namespace)
    print_failures(ignored, to_stderr=True, warnings=True)
    if output is None:
        print_json_text(text)
        return
    write_file(output, text + "\n")
    echo(f"Written to {output}", err=True)

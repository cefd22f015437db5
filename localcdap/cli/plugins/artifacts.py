"""``localcdap artifacts``: list the artifacts in the plugin folders."""

from __future__ import annotations

import click

from localcdap.cli.options import Instance, instance_options
from localcdap.cli.output import echo, print_json, print_table, secho


@click.command("artifacts")
@click.option("--errors", is_flag=True, help="List only the artifacts that have errors.")
@click.option(
    "--retry",
    is_flag=True,
    help="First inspect the artifacts with errors again, for instance after pip install.",
)
@instance_options
def command(instance: Instance, errors: bool, retry: bool) -> None:
    """List the artifacts of the namespace and of the system, with their load errors.

    An artifact is a file, folder or wheel with plugins or a system application, in a plugin folder. The
    numbers of plugins leave out plugins that lack a capability which the setting
    plugin.required.capabilities requires.
    """
    with instance.connect() as cdap:
        if retry:
            cdap.artifacts.sync(retry_errors=True)
        artifacts = cdap.artifacts.list_artifacts(instance.namespace, errors=errors)
    if instance.json:
        print_json(artifacts)
        return
    if not artifacts:
        echo("No artifact has an error." if errors else "No artifacts.", err=True)
        return
    rows = [
        (a.name, a.version, a.scope, len(a.plugins), len(a.applications), a.path) for a in artifacts
    ]
    print_table(
        ("name", "version", "scope", "plugins", "apps", "path"), rows, numbers="plugins apps"
    )
    for artifact in artifacts:
        if artifact.error:
            secho(f"\n{artifact.path}", fg="red", bold=True)
            echo(artifact.error)
        if artifact.warnings:
            secho(f"\n{artifact.path}", fg="yellow", bold=True)
            echo("\n".join(artifact.warnings))

"""``localcdap pipelines``: list, show or delete the deployed pipelines of a namespace."""

from __future__ import annotations

import click

from localcdap.api.pipeline import PipelineSpec
from localcdap.cli.files import split_version
from localcdap.cli.options import Instance, instance_options
from localcdap.cli.output import echo, print_json, print_list, print_table, secho
from localcdap.pipeline.library.application_model import Application
from localcdap.text import format_time, plural


@click.command("pipelines")
@click.argument("action", type=click.Choice(["list", "show", "versions", "delete"]), default="list")
@click.argument("name", required=False, metavar="[NAME[@VERSION]]")
@click.option("--filter", "part", metavar="TEXT", help="Only names that contain TEXT (list).")
@instance_options
def command(instance: Instance, action: str, name: str | None, part: str | None) -> None:
    """List the deployed pipelines, show one, list its versions, or delete it with all its versions.

    'localcdap import' deploys a pipeline, 'localcdap run NAME' runs it. VERSION is the number of a
    version or the beginning of its id; the default is the latest version. The runs of a deleted pipeline
    are kept.
    """
    if action == "list":
        with instance.connect() as cdap:
            found = cdap.applications.list_applications(instance.namespace, name_filter=part)
        _print_list(instance, found)
        return
    if name is None:
        raise click.UsageError(f"The name is missing: localcdap pipelines {action} NAME")
    if action == "show":
        _show(instance, *split_version(name))
    elif action == "versions":
        with instance.connect() as cdap:
            _print_versions(instance, cdap.applications.list_versions(instance.namespace, name))
    else:
        with instance.connect() as cdap:
            deleted = cdap.applications.delete(instance.namespace, name)
        if instance.json:
            print_json(deleted)
        else:
            echo(f"Pipeline '{name}' deleted, {plural(deleted.number, 'version')}.")


def _print_list(instance: Instance, found: list[Application]) -> None:
    print_list(
        found,
        ("name", "version", "kind", "deployed", "description"),
        lambda a: (
            a.name,
            a.number,
            _get_kind(a),
            format_time(a.change.creation_time_millis),
            a.description,
        ),
        as_json=instance.json,
        empty="No pipelines yet. Deploy one with 'localcdap import FILE'.",
        numbers="version",
    )


def _get_kind(application: Application) -> str:
    return "streaming" if application.artifact.name == "cdap-data-streams" else "batch"


def _print_versions(instance: Instance, found: list[Application]) -> None:
    print_list(
        found,
        ("version", "id", "deployed", "by", "change"),
        lambda a: (
            a.number,
            a.version,
            format_time(a.change.creation_time_millis),
            a.change.author,
            a.change.description,
        ),
        as_json=instance.json,
        numbers="version",
    )


def _show(instance: Instance, name: str, version: str | None) -> None:
    with instance.connect() as cdap:
        found = cdap.applications.describe(instance.namespace, name, version)
        runs = cdap.runs.list_runs(instance.namespace, pipeline=name, limit=1)
    if instance.json:
        print_json(found)
        return
    secho(found.name, bold=True, nl=False)
    latest = ", the latest" if found.change.latest else ""
    echo(f"  {_get_kind(found)} pipeline, version {found.number}{latest} ({found.version})")
    if found.description:
        echo(found.description)
    change = f": {found.change.description}" if found.change.description else ""
    echo(
        f"Deployed {format_time(found.change.creation_time_millis)} by {found.change.author}{change}"
    )
    for run in runs:
        echo(f"Last run {format_time(run.starting)}: {run.status} ({run.run})")
    artifacts = _find_artifacts(found.spec)
    print_table(
        ("stage", "type", "plugin", "artifact"),
        [(p.id, p.type, p.name, artifacts.get(p.id)) for p in found.plugins],
    )


def _find_artifacts(spec: PipelineSpec | None) -> dict[str, str]:
    """Return name and version of the artifact of each stage and post action, as they were deployed."""
    if spec is None:
        return {}
    plugins = {each.name: each.plugin for each in spec.stages}
    plugins |= {each.name: each.plugin for each in spec.ending_actions}
    return {name: f"{each.artifact.name} {each.artifact.version}" for name, each in plugins.items()}

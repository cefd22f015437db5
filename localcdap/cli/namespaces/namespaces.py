"""``localcdap namespaces``: list, create and delete namespaces."""

from __future__ import annotations

import click

from localcdap.cli.options import Instance, instance_options, parse_pairs
from localcdap.cli.output import echo, print_json, print_list
from localcdap.text import format_time


@click.command("namespaces")
@click.argument("action", type=click.Choice(["list", "create", "update", "delete"]), default="list")
@click.argument("name", required=False)
@click.option("--description", metavar="TEXT", help="The description (create, update).")
@click.option(
    "--config",
    "config",
    multiple=True,
    metavar="K=V",
    help="Set a property of the namespace (create, update); repeatable.",
)
@click.option("--force", is_flag=True, help="Stop the active runs of the namespace first (delete).")
@instance_options
def command(
    instance: Instance,
    action: str,
    name: str | None,
    description: str | None,
    config: tuple[str, ...],
    force: bool,
) -> None:
    """List the namespaces, or create, update or delete the namespace NAME.

    A namespace is a separate set of pipelines, plugins, runs, tables, preferences and secure keys. Every
    command has the option --namespace, which selects one.

    'delete' also deletes everything in the namespace, and moves its plugin folder into the folder
    'trash' of the instance. A namespace with active runs is deleted only with --force, which stops them.
    """
    if action == "list":
        _list(instance)
        return
    if name is None:
        raise click.UsageError(f"Name the namespace: localcdap namespaces {action} NAME")
    if action == "delete":
        _delete(instance, name, force)
    else:
        _write(instance, action, name, description, parse_pairs(config))


def _list(instance: Instance) -> None:
    with instance.connect() as cdap:
        found = cdap.namespaces.list_namespaces()
    print_list(
        found,
        ("name", "created", "description"),
        lambda each: (each.name, format_time(each.generation or None), each.description),
        as_json=instance.json,
    )


def _write(
    instance: Instance, action: str, name: str, description: str | None, config: dict[str, str]
) -> None:
    with instance.connect() as cdap:
        if action == "update":
            namespace = cdap.namespaces.update(name, description, config)
            text = f"Updated properties for namespace '{name}'."
        else:
            creation = cdap.namespaces.create(name, description or "", config)
            namespace = creation.namespace
            outcome = "created successfully" if creation.created else "already exists"
            text = f"Namespace '{name}' {outcome}."
    if instance.json:
        print_json(namespace)
    else:
        echo(text)


def _delete(instance: Instance, name: str, force: bool) -> None:
    with instance.connect() as cdap:
        deletion = cdap.namespaces.delete(name, force)
    if instance.json:
        print_json(deletion)
        return
    echo(f"Namespace '{name}' deleted.")
    for folder in deletion.kept:
        echo(f"Its plugins were moved to {folder}")

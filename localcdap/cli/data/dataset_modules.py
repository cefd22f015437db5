"""``localcdap datasets modules``: the artifacts with dataset types."""

from __future__ import annotations

from pathlib import Path

import click

from localcdap.cli.options import Instance, instance_options
from localcdap.cli.output import echo, print_json, print_list


@click.group("modules", invoke_without_command=True)
@instance_options
def command(instance: Instance) -> None:
    """List the artifacts with dataset types that the namespace sees; add and delete them."""
    if click.get_current_context().invoked_subcommand is not None:
        return
    with instance.connect() as cdap:
        found = cdap.dataset_modules.list_modules(instance.namespace)
    print_list(
        found,
        ("module", "version", "scope", "types", "uses", "path"),
        lambda each: (
            each.name,
            each.version,
            each.scope,
            ", ".join(type.name for type in each.types),
            ", ".join(each.uses_modules),
            each.path,
        ),
        as_json=instance.json,
        empty="No dataset modules. Add one: localcdap datasets modules add FILE",
    )


@command.command("add")
@click.argument("file", type=click.Path(exists=True, path_type=Path))
@click.option(
    "--force",
    is_flag=True,
    help="Take types from other modules, and remove types that other modules may use.",
)
@instance_options
def add(instance: Instance, file: Path, force: bool) -> None:
    """Copy FILE, a .py file, folder or wheel with dataset types, into the plugin folder.

    When its types conflict with other modules, or datasets need types that it lacks, nothing changes.
    """
    with instance.connect() as cdap:
        found = cdap.dataset_modules.add(instance.namespace, str(file.absolute()), force)
    if instance.json:
        print_json(found)
    else:
        types = ", ".join(each.name for each in found.types)
        echo(f"Dataset module '{found.name}' {found.version} added: {types}.")


@command.command("delete")
@click.argument("name", required=False)
@click.option("--all", "all_", is_flag=True, help="Delete all modules of the namespace.")
@instance_options
def delete(instance: Instance, name: str | None, all_: bool) -> None:
    """Move the files of the module NAME to the trash; their plugins go with them.

    A module whose types have datasets, or are embedded by those of other modules, stays.
    """
    if (name is None) != all_:
        raise click.UsageError("Give either the name of a module, or --all.")
    with instance.connect() as cdap:
        modules = cdap.dataset_modules
        paths = (
            modules.delete_all(instance.namespace)
            if name is None
            else modules.delete(instance.namespace, name)
        )
    if instance.json:
        print_json({"deleted": paths})
    else:
        for path in paths:
            echo(f"Moved to the trash: {path}")
